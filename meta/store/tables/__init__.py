"""The schema, by groups of tables; `meta/migrations` creates it and a test compares the two.

Times are timestamptz on the database's clock, except `*_ns` and `*_nanos`: integer nanoseconds
since the unix epoch as clients send them. Offsets are inclusive, -1 = none. Versions are values of
`meta_state.version`, drawn last in a transaction. No foreign key points at a hot row.
"""

from meta.store.tables import (
    backups,
    catalog,
    costs,
    damage,
    deduplication,
    groups,
    locks,
    merges,
    readers,
    resources,
    segments,
    server,
    streams,
    tenants,
)
from meta.store.tables.columns import metadata

__all__ = [
    "backups",
    "catalog",
    "costs",
    "damage",
    "deduplication",
    "groups",
    "locks",
    "merges",
    "metadata",
    "readers",
    "resources",
    "segments",
    "server",
    "streams",
    "tenants",
]
