"""The schema, by groups of tables; `meta/migrations` creates it and a test compares the two.

Times are timestamptz on the database's clock, except `*_ns` and `*_nanos`: integer nanoseconds
since the unix epoch as clients send them. Offsets are inclusive, -1 = none. Versions are values of
`meta_state.version`, drawn last in a transaction. No foreign key points at a hot row.
"""

from meta.store.tables.attributes import automatic_columns
from meta.store.tables.catalog import (
    dataset_usage,
    dataset_visibility,
    datasets,
    excess_allowances,
    former_layouts,
    link_columns,
    projections,
    promoted_columns,
    promoted_field_ids,
    schema_bindings,
    schema_columns,
    schema_versions,
    schemas,
    sharding_fields,
    view_dataset_projections,
    views,
)
from meta.store.tables.checks import damaged_objects, scrub_state
from meta.store.tables.clock import clock_gaps, clock_state
from meta.store.tables.columns import metadata
from meta.store.tables.deduplication import (
    dataset_deduplication,
    dataset_duplicates,
    day_deduplication_pages,
    deduplication_runs,
    staged_deduplication_keys,
    young_deduplication_pages,
)
from meta.store.tables.gateway import table_objects, table_snapshots
from meta.store.tables.losses import losses, parked_streams, quarantined_ranges, replays
from meta.store.tables.merges import (
    merge_attempts,
    merge_task_inputs,
    merge_tasks,
    rewrite_jobs,
    rewrites,
)
from meta.store.tables.nurseries import nurseries, nursery_shards
from meta.store.tables.pins import pins
from meta.store.tables.segments import (
    dataset_stats,
    deletion_brakes,
    lineage_ends,
    object_identities,
    registration_segments,
    registrations,
    retention_baselines,
    segment_lineage,
    segments,
)
from meta.store.tables.server import (
    access_tokens,
    audit_log,
    catalog_authors,
    denied_calls,
    meta_servers,
    meta_state,
    version_gaps,
    witness_state,
)
from meta.store.tables.streams import (
    baby_segments,
    ingest_streams,
    ingest_tokens,
    offset_checkpoints,
    routing_changes,
    routing_periods,
    stream_datasets,
    stream_heads,
    stream_removals,
    stream_tokens,
)
from meta.store.tables.workers import worker_settings, workers

__all__ = [
    "access_tokens",
    "audit_log",
    "automatic_columns",
    "baby_segments",
    "catalog_authors",
    "clock_gaps",
    "clock_state",
    "damaged_objects",
    "dataset_deduplication",
    "dataset_duplicates",
    "dataset_stats",
    "dataset_usage",
    "dataset_visibility",
    "datasets",
    "day_deduplication_pages",
    "deduplication_runs",
    "deletion_brakes",
    "denied_calls",
    "excess_allowances",
    "former_layouts",
    "ingest_streams",
    "ingest_tokens",
    "lineage_ends",
    "link_columns",
    "losses",
    "merge_attempts",
    "merge_task_inputs",
    "merge_tasks",
    "meta_servers",
    "meta_state",
    "metadata",
    "nurseries",
    "nursery_shards",
    "object_identities",
    "offset_checkpoints",
    "parked_streams",
    "pins",
    "projections",
    "promoted_columns",
    "promoted_field_ids",
    "quarantined_ranges",
    "registration_segments",
    "registrations",
    "replays",
    "retention_baselines",
    "rewrite_jobs",
    "rewrites",
    "routing_changes",
    "routing_periods",
    "schema_bindings",
    "schema_columns",
    "schema_versions",
    "schemas",
    "scrub_state",
    "segment_lineage",
    "segments",
    "sharding_fields",
    "staged_deduplication_keys",
    "stream_datasets",
    "stream_heads",
    "stream_removals",
    "stream_tokens",
    "table_objects",
    "table_snapshots",
    "version_gaps",
    "view_dataset_projections",
    "views",
    "witness_state",
    "worker_settings",
    "workers",
    "young_deduplication_pages",
]
