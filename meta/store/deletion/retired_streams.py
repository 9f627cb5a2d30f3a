"""Retired streams are forgotten once nothing is listed under them.

Their rows say that a baby which a stalled collector put late is garbage; without them it would be a
baby of an unknown stream, which is never deleted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.versions.clock import ago

STREAMS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ListedStreams:
    """The ids in (after, through] that have an object in the bucket; None = no bound."""

    after: UUID | None
    through: UUID | None
    ids: Sequence[UUID]


_FORGETTABLE = text(f"""
    SELECT id FROM ingest_streams
    WHERE retired_at < {ago(":age")}
      AND (cast(:after AS uuid) IS NULL OR id > :after)
      AND (cast(:through AS uuid) IS NULL OR id <= :through)
      AND id <> ALL(cast(:listed AS uuid[]))
    ORDER BY retired_at LIMIT :most FOR UPDATE SKIP LOCKED
""")  # noqa: S608
_TABLES = ("baby_segments", "routing_periods", "parked_streams", "stream_tokens", "stream_heads")
_PARTS = (
    *(text(f"DELETE FROM {table} WHERE stream_id = ANY(:ids)") for table in _TABLES),  # noqa: S608
    text("DELETE FROM ingest_streams WHERE id = ANY(:ids)"),
)


def forget(tx: Transaction, listed: ListedStreams, age_secs: float) -> int:
    """Delete some streams that retired so long ago and have no object; returns how many."""
    values = {
        "age": age_secs,
        "after": listed.after,
        "through": listed.through,
        "listed": pg_arrays.uuids(listed.ids),
        "most": STREAMS_AT_ONCE,
    }
    ids = list(tx.execute(_FORGETTABLE, values).scalars())
    for statement in _PARTS if ids else ():
        tx.execute(statement, {"ids": ids})
    return len(ids)
