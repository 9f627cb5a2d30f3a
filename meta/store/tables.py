"""The schema on one page; `meta/migrations` creates it and a test compares the two.

Times are timestamptz on the database's clock, except `*_ns` and `*_nanos`: integer nanoseconds
since the unix epoch as clients send them. Offsets are inclusive, -1 = none. Versions are values of
`meta_state.version`, drawn last in a transaction. No foreign key points at a hot row.
"""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.sql import func

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "ix": "%(table_name)s_%(column_0_N_name)s_index",
    }
)


def _now(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def _moment(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True))


# One row. `version` is the commit-ordered counter; timeline and system_identifier tell a failover.
meta_state = Table(
    "meta_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    Column("version", BigInteger, nullable=False, server_default=text("0")),
    # Versions in (gap_start, gap_end] were jumped over and answer VERSION_EXPIRED.
    Column("gap_start", BigInteger, nullable=False, server_default=text("0")),
    Column("gap_end", BigInteger, nullable=False, server_default=text("0")),
    Column("timeline", BigInteger),
    Column("system_identifier", Text),
    Column("deletion_held", Boolean, nullable=False, server_default=text("false")),
    # Below them GetOffsetsAt and since_seq answer VERSION_EXPIRED: rows they need are pruned.
    Column("history_floor", BigInteger, nullable=False, server_default=text("0")),
    Column("removals_floor", BigInteger, nullable=False, server_default=text("0")),
    # HMAC key for ingest tokens where no META_TOKEN_PEPPER is set.
    Column("token_pepper", LargeBinary, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
    postgresql_with={"fillfactor": "10"},
)

datasets = Table(
    "datasets",
    metadata,
    Column("id", Uuid, primary_key=True),
    # Short key of the segments table.
    Column("key", Integer, Identity(always=True), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("is_default", Boolean, nullable=False, server_default=text("false")),
    _now("created_at"),
    _moment("deleted_at"),
    # Set once the grace is over and the segments are being tombstoned: no undelete any more.
    _moment("purged_at"),
    # Versions below it may have lost objects: FindSegments answers VERSION_EXPIRED.
    Column("deletion_horizon", BigInteger, nullable=False, server_default=text("0")),
    Column("event_retention_secs", BigInteger),
    Column("created_retention_secs", BigInteger),
    Column("tombstone_grace_secs", BigInteger),
    Column("records_per_month", BigInteger, nullable=False, server_default=text("0")),
    # Last version at which something a nursery reads of the dataset changed.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
)
Index(
    "datasets_name_live_unique",
    datasets.c.name,
    unique=True,
    postgresql_where=datasets.c.deleted_at.is_(None),
)
Index(
    "datasets_default_unique",
    datasets.c.is_default,
    unique=True,
    postgresql_where=datasets.c.is_default,
)

# Versions [from_version, to_version) at which a dataset's segments are visible.
dataset_visibility = Table(
    "dataset_visibility",
    metadata,
    Column("dataset_key", Integer, ForeignKey("datasets.key"), primary_key=True),
    Column("from_version", BigInteger, primary_key=True),
    Column("to_version", BigInteger),
)

sharding_fields = Table(
    "sharding_fields",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("field_name", Text, nullable=False),
    Column("weight", Double, nullable=False),
    UniqueConstraint("dataset_id", "field_name"),
)

promoted_columns = Table(
    "promoted_columns",
    metadata,
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    Column("scope", SmallInteger, nullable=False),
    Column("attribute", Text, nullable=False),
    UniqueConstraint("dataset_id", "name"),
)

# Records committed per dataset and calendar month (UTC), for quotas.
dataset_usage = Table(
    "dataset_usage",
    metadata,
    Column("dataset_id", Uuid, primary_key=True),
    Column("month", Text, primary_key=True),
    # One per committer, so that they do not wait for one another; the sum counts.
    Column("slot", Integer, primary_key=True),
    Column("records", BigInteger, nullable=False),
    postgresql_with={"fillfactor": "50"},
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _now("created_at"),
)

schema_columns = Table(
    "schema_columns",
    metadata,
    Column("schema_id", Uuid, ForeignKey("schemas.id", ondelete="CASCADE"), primary_key=True),
    # Rises with every addition and is never reused; columns are read in this order.
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", SmallInteger, nullable=False),
    UniqueConstraint("schema_id", "name"),
)

views = Table(
    "views",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("description", Text),
    Column("schema_id", Uuid, ForeignKey("schemas.id"), index=True),
    _now("created_at"),
)

projections = Table(
    "projections",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("projection", Text, nullable=False),
    Column("schema_id", Uuid, ForeignKey("schemas.id"), index=True),
    _now("created_at"),
)

view_dataset_projections = Table(
    "view_dataset_projections",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("view_id", Uuid, ForeignKey("views.id", ondelete="CASCADE"), nullable=False),
    Column("dataset_id", Uuid, ForeignKey("datasets.id"), nullable=False, index=True),
    Column(
        "projection_id",
        Uuid,
        ForeignKey("projections.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    UniqueConstraint("view_id", "dataset_id", "projection_id"),
)

ingest_tokens = Table(
    "ingest_tokens",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    # HMAC-SHA256 of the plaintext, which is stored nowhere.
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("hint", Text, nullable=False),
    Column("logs_dataset_id", Uuid, ForeignKey("datasets.id")),
    Column("traces_dataset_id", Uuid, ForeignKey("datasets.id")),
    Column("metrics_dataset_id", Uuid, ForeignKey("datasets.id")),
    _now("created_at"),
    _moment("revoked_at"),
    # Last version at which its routing changed or it was revoked.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
)
Index("ingest_tokens_changed_index", ingest_tokens.c.changed_version)

ingest_streams = Table(
    "ingest_streams",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("collector_id", Text, nullable=False),
    Column("collector_string", Text, nullable=False),
    # Evenly spread in [0, 2^31); shard = shard_hash % shard_count.
    Column("shard_hash", Integer, nullable=False),
    _now("created_at"),
    Column("stopped_at_nanos", BigInteger),
    Column("stopped_offset", BigInteger),
    Column("stop_reason", SmallInteger),
    Column("deleted_offset", BigInteger, nullable=False, server_default=text("-1")),
    Column("deleted_ingest_time_nanos", BigInteger, nullable=False, server_default=text("0")),
    # Stopped, without entries and reaped to the end; kept 7 days.
    _moment("retired_at"),
    # Last version at which something a nursery reads of the stream changed.
    Column("changed_version", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("(stopped_at_nanos IS NULL) = (stopped_offset IS NULL)", name="stop"),
    CheckConstraint(
        "stopped_offset IS NULL OR deleted_offset <= stopped_offset", name="deleted_in_stream"
    ),
)
Index(
    "ingest_streams_collector_active_unique",
    ingest_streams.c.collector_id,
    unique=True,
    postgresql_where=ingest_streams.c.stopped_offset.is_(None),
)
Index(
    "ingest_streams_retired_index",
    ingest_streams.c.retired_at,
    postgresql_where=ingest_streams.c.retired_at.is_not(None),
)
Index(
    "ingest_streams_changed_index",
    ingest_streams.c.changed_version,
    postgresql_where=ingest_streams.c.retired_at.is_(None),
)

# The hot half of a stream. CommitOffset updates it in place: HOT while the one indexed column,
# is_pending, keeps its value.
stream_heads = Table(
    "stream_heads",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("committed_offset", BigInteger, nullable=False, server_default=text("-1")),
    _now("last_activity_at"),
    # Here as well as in ingest_streams, because CommitOffset locks and reads this row only.
    Column("is_stopped", Boolean, nullable=False, server_default=text("false")),
    # Some entry may have unmerged babies: what a steady poll looks at. Set by commits, cleared by
    # the sweeper.
    Column("is_pending", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint("committed_offset >= -1", name="committed"),
    postgresql_with={"fillfactor": "50"},
)
Index(
    "stream_heads_pending_index",
    stream_heads.c.stream_id,
    postgresql_where=stream_heads.c.is_pending,
)

baby_segments = Table(
    "baby_segments",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("num_records", BigInteger, nullable=False),
    Column("flush_id", LargeBinary),
    # Stamped datasets; null for an unstamped baby.
    Column("dataset_ids", ARRAY(Uuid)),
    _now("committed_at"),
    # When the baby was reaped; its row stays 24 h longer.
    _moment("reaped_at"),
)
Index(
    "baby_segments_reaped_index",
    baby_segments.c.reaped_at,
    postgresql_where=baby_segments.c.reaped_at.is_not(None),
)

stream_tokens = Table(
    "stream_tokens",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("token_id", Uuid, primary_key=True),
    _now("registered_at"),
    # The stream's committed offset when the token was revoked.
    Column("revoked_offset", BigInteger),
)
Index("stream_tokens_token_index", stream_tokens.c.token_id)

# Routing of a token for babies of a stream from `from_offset` on, for unstamped babies.
routing_periods = Table(
    "routing_periods",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("token_id", Uuid, primary_key=True),
    Column("from_offset", BigInteger, primary_key=True),
    Column("logs_dataset_id", Uuid),
    Column("traces_dataset_id", Uuid),
    Column("metrics_dataset_id", Uuid),
)

stream_datasets = Table(
    "stream_datasets",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("dataset_id", Uuid, primary_key=True),
    Column("merged_offset", BigInteger, nullable=False),
    Column("merged_ingest_time_nanos", BigInteger, nullable=False, server_default=text("0")),
    # merged_offset when the entry was made: nothing at or below it is of this dataset, or all of
    # it was merged before an earlier entry went.
    Column("base_offset", BigInteger, nullable=False),
    _now("created_at"),
    # Last version at which the entry changed.
    Column("changed_version", BigInteger, nullable=False),
    CheckConstraint("merged_offset >= -1", name="merged"),
    postgresql_with={"fillfactor": "70"},
)
Index("stream_datasets_dataset_index", stream_datasets.c.dataset_id)
Index("stream_datasets_changed_index", stream_datasets.c.changed_version)

# Streams and entries (dataset_id not null) that went away, so that a since_seq poll hears of it.
stream_removals = Table(
    "stream_removals",
    metadata,
    Column("version", BigInteger, primary_key=True),
    Column("stream_id", Uuid, primary_key=True),
    # The nil UUID: the whole stream.
    Column("dataset_id", Uuid, primary_key=True),
    Column("shard_hash", Integer, nullable=False),
    _now("removed_at"),
)
Index("stream_removals_removed_index", stream_removals.c.removed_at)

# Append-only: at `version` exactly the offsets <= stream_offset are visible.
offset_checkpoints = Table(
    "offset_checkpoints",
    metadata,
    Column("stream_id", Uuid, primary_key=True),
    Column("dataset_id", Uuid, primary_key=True),
    Column("version", BigInteger, primary_key=True),
    Column("stream_offset", BigInteger, nullable=False),
    Column("ingest_timestamp_nanos", BigInteger, nullable=False),
    _now("created_at"),
)
Index(
    "offset_checkpoints_created_index",
    offset_checkpoints.c.stream_id,
    offset_checkpoints.c.dataset_id,
    offset_checkpoints.c.created_at,
)

# Who may use an object key. The one unique index that Register, Complete, Save and Condemn share.
object_identities = Table(
    "object_identities",
    metadata,
    Column("object_key", Text(collation="C"), primary_key=True),
    # 1 registered, 2 condemned, 3 deleted.
    Column("state", SmallInteger, nullable=False),
    Column("segment_id", Uuid),
    _now("changed_at"),
    CheckConstraint("state IN (1, 2, 3)", name="state"),
)
Index(
    "object_identities_garbage_index",
    object_identities.c.changed_at,
    postgresql_where=object_identities.c.state > 1,
)

segments = Table(
    "segments",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("dataset_key", Integer, nullable=False),
    # Smallest c >= 0 with end_ns - start_ns < 4^c * 10^9.
    Column("dur_class", SmallInteger, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    Column("created_version", BigInteger, nullable=False),
    Column("tombstone_version", BigInteger),
    _moment("tombstone_at"),
    _now("created_at"),
    Column("size_bytes", BigInteger, nullable=False),
    Column("compressed_size_bytes", BigInteger, nullable=False),
    Column("number_of_events", Integer, nullable=False),
    # As the writer sent them; object_identities holds the joined key.
    Column("prefix", Text, nullable=False),
    Column("object_name", Text, nullable=False),
    # Merges between the nursery's segment and this one.
    Column("merge_count", SmallInteger, nullable=False, server_default=text("0")),
    # A merge could not read it; an operator releases it.
    _moment("quarantined_at"),
    CheckConstraint("start_ns <= end_ns", name="range"),
    CheckConstraint("tombstone_version > created_version", name="lifetime"),
    CheckConstraint("(tombstone_version IS NULL) = (tombstone_at IS NULL)", name="tombstone"),
    CheckConstraint(
        "size_bytes >= 0 AND compressed_size_bytes >= 0 AND number_of_events >= 0", name="sizes"
    ),
)
Index(
    "segments_lookup_index",
    segments.c.dataset_key,
    segments.c.dur_class,
    segments.c.start_ns,
    segments.c.id,
)
Index(
    "segments_live_index",
    segments.c.dataset_key,
    segments.c.created_at,
    segments.c.id,
    postgresql_where=segments.c.tombstone_version.is_(None),
)
# What the planner looks at; the bounds are those of meta.planner.Policy.
Index(
    "segments_mergeable_index",
    segments.c.dataset_key,
    segments.c.start_ns,
    segments.c.id,
    postgresql_where=text(
        "tombstone_version IS NULL AND quarantined_at IS NULL AND merge_count < 4"
        " AND compressed_size_bytes < 268435456"
    ),
)
Index(
    "segments_quarantined_index",
    segments.c.id,
    postgresql_where=segments.c.quarantined_at.is_not(None),
)
Index(
    "segments_tombstoned_index",
    segments.c.tombstone_at,
    segments.c.id,
    postgresql_where=segments.c.tombstone_version.is_not(None),
)

# Which babies a nursery's segment holds; kept while a descendant lives.
registrations = Table(
    "registrations",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("stream_id", Uuid, nullable=False),
    Column("dataset_id", Uuid, nullable=False),
    # Offsets (start_offset, end_offset].
    Column("start_offset", BigInteger, nullable=False),
    Column("end_offset", BigInteger, nullable=False),
    Column("ingest_time_nanos", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    # Null where the babies held nothing for the dataset.
    Column("segment_id", Uuid),
    # One per further segment of the same call (another UTC day).
    Column("part", SmallInteger, nullable=False, server_default=text("0")),
    _now("created_at"),
    CheckConstraint("start_offset < end_offset", name="span"),
    UniqueConstraint("stream_id", "dataset_id", "end_offset", "part"),
)
Index("registrations_segment_index", registrations.c.segment_id)
Index(
    "registrations_empty_index",
    registrations.c.created_at,
    postgresql_where=registrations.c.segment_id.is_(None),
)
Index("registrations_version_index", registrations.c.dataset_id, registrations.c.version)

# Which segment's merge took a segment in. A row goes once nothing lives that holds the input.
segment_lineage = Table(
    "segment_lineage",
    metadata,
    Column("input_id", Uuid, primary_key=True),
    Column("output_id", Uuid, primary_key=True),
)
Index("segment_lineage_output_index", segment_lineage.c.output_id)

# Segments that are gone without a successor: what they were made of is to be forgotten.
lineage_ends = Table(
    "lineage_ends",
    metadata,
    Column("segment_id", Uuid, primary_key=True),
)

merge_tasks = Table(
    "merge_tasks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("dataset_key", Integer, nullable=False),
    # 1 open, 2 completed, 3 cancelled, 4 split.
    Column("state", SmallInteger, nullable=False, server_default=text("1")),
    # 1 merge, 2 rewrite (which does not count as a merge).
    Column("kind", SmallInteger, nullable=False, server_default=text("1")),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    # Who holds the claim; null while nobody does.
    Column("worker_id", Text),
    _moment("claimed_at"),
    _moment("beat_at"),
    # Nobody may claim it before: the end of a claim's lease or of a back-off. Null = free now.
    _moment("free_at"),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    # Failures that count towards splitting.
    Column("poison_failures", Integer, nullable=False, server_default=text("0")),
    _moment("failed_at"),
    Column("rows_done", BigInteger, nullable=False, server_default=text("0")),
    _now("created_at"),
    _moment("finished_at"),
    Column("output_segment_id", Uuid),
    Column("output_merge_count", SmallInteger, nullable=False),
    # What GetMergeTask answers, also once the inputs are gone.
    Column("segment_count", Integer, nullable=False),
    Column("smallest_size", BigInteger, nullable=False),
    Column("largest_size", BigInteger, nullable=False),
    Column("smallest_compressed_size", BigInteger, nullable=False),
    Column("largest_compressed_size", BigInteger, nullable=False),
    Column("total_size", BigInteger, nullable=False),
    Column("total_compressed_size", BigInteger, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    CheckConstraint("state IN (1, 2, 3, 4)", name="state"),
)
# Two ways to be free: never held back, or held back until a time that has passed.
Index(
    "merge_tasks_smallest_index",
    merge_tasks.c.total_compressed_size,
    merge_tasks.c.id,
    postgresql_where=(merge_tasks.c.state == 1) & merge_tasks.c.free_at.is_(None),
)
Index(
    "merge_tasks_oldest_index",
    merge_tasks.c.id,
    postgresql_where=(merge_tasks.c.state == 1) & merge_tasks.c.free_at.is_(None),
)
Index(
    "merge_tasks_held_index",
    merge_tasks.c.free_at,
    postgresql_where=(merge_tasks.c.state == 1) & merge_tasks.c.free_at.is_not(None),
)
Index(
    "merge_tasks_open_index",
    merge_tasks.c.dataset_key,
    merge_tasks.c.id,
    postgresql_where=merge_tasks.c.state == 1,
)
Index(
    "merge_tasks_finished_index",
    merge_tasks.c.finished_at,
    merge_tasks.c.state,
    postgresql_where=merge_tasks.c.state > 1,
)

# Inputs of open tasks: the primary key is what keeps a segment in one task only.
merge_task_inputs = Table(
    "merge_task_inputs",
    metadata,
    Column("segment_id", Uuid, primary_key=True),
    Column("task_id", Uuid, nullable=False, index=True),
    Column("position", SmallInteger, nullable=False),
)

merge_attempts = Table(
    "merge_attempts",
    metadata,
    Column("task_id", Uuid, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("worker_id", Text, nullable=False),
    _now("claimed_at"),
    _moment("ended_at"),
    # completed, failed, fenced, lease_passed, unclaimed
    Column("outcome", Text),
    Column("error", Text),
    Column("failed_segment_id", Uuid),
)

# Unfinished RewriteAllSegments, by filter ('' = all datasets).
rewrites = Table(
    "rewrites",
    metadata,
    Column("dataset_filter", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    _now("started_at"),
)

# Maintained counters: what GetJanitorStats answers.
dataset_stats = Table(
    "dataset_stats",
    metadata,
    Column("dataset_key", Integer, primary_key=True, autoincrement=False),
    Column("live_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("live_size_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("live_compressed_size_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("all_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("open_tasks", BigInteger, nullable=False, server_default=text("0")),
    postgresql_with={"fillfactor": "50"},
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now(), index=True),
    Column("rpc", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("detail", Text, nullable=False),
)
