"""Merge tasks, their inputs and their attempts."""

from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now

_EPOCH = "1970-01-01 00:00:00+00"

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
    # Worker that holds the claim; null while none does.
    Column("worker_id", Text),
    moment("claimed_at"),
    moment("beat_at"),
    # Nobody may claim it before: the end of a claim's lease or of a back-off. Null = free now.
    moment("free_at"),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    # Failures that count towards splitting.
    Column("poison_failures", Integer, nullable=False, server_default=text("0")),
    moment("failed_at"),
    Column("rows_done", BigInteger, nullable=False, server_default=text("0")),
    now("created_at"),
    moment("finished_at"),
    Column("output_segment_id", Uuid),
    Column("output_merge_count", SmallInteger, nullable=False),
    # The answer of GetMergeTask, also once the inputs are deleted.
    Column("segment_count", Integer, nullable=False),
    Column("smallest_size", BigInteger, nullable=False),
    Column("largest_size", BigInteger, nullable=False),
    Column("smallest_compressed_size", BigInteger, nullable=False),
    Column("largest_compressed_size", BigInteger, nullable=False),
    Column("total_size", BigInteger, nullable=False),
    Column("total_compressed_size", BigInteger, nullable=False),
    Column("start_ns", BigInteger, nullable=False),
    Column("end_ns", BigInteger, nullable=False),
    # Outputs other than output_segment_id; null if there are none.
    Column("more_output_ids", ARRAY(Uuid)),
    # The rewrite job that it belongs to, until the job has counted it.
    Column("rewrite_id", Uuid),
    # When rows_done last rose; of an earlier claim if it is before claimed_at.
    moment("progressed_at"),
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
    now("claimed_at"),
    moment("ended_at"),
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
    now("started_at"),
)

# Rewrites that create a few tasks at a time; see meta.store.rewrites.rewrite_jobs.
rewrite_jobs = Table(
    "rewrite_jobs",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("dataset_key", Integer, nullable=False),
    # 1 running, 2 paused, 3 done, 4 cancelled.
    Column("state", SmallInteger, nullable=False),
    # Segments of this format take no part; null = all do. So do the bounds of event time.
    Column("format_version", Integer),
    Column("start_ns", BigInteger),
    Column("end_ns", BigInteger),
    # Segments that are known to have exact bounds take no part.
    Column("inexact_bounds", Boolean, nullable=False, server_default=text("false")),
    # The store that segments are moved to: of all versions, those elsewhere; null = no move.
    Column("store", Text),
    # Segments of later versions take no part, except in a move.
    Column("version", BigInteger, nullable=False),
    Column("tasks_max", Integer, nullable=False),
    Column("bytes_per_sec", BigInteger),
    Column("allowance_bytes", BigInteger, nullable=False, server_default=text("0")),
    # The last segment that was given a task, in order of creation.
    Column("cursor_at", DateTime(timezone=True), nullable=False, server_default=_EPOCH),
    Column("cursor_id", Uuid, nullable=False, server_default=str(UUID(int=0))),
    Column("total_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("total_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("done_segments", BigInteger, nullable=False, server_default=text("0")),
    Column("done_bytes", BigInteger, nullable=False, server_default=text("0")),
    Column("active_ms", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("due_at", DateTime(timezone=True), nullable=False),
    Column("advanced_at", DateTime(timezone=True), nullable=False),
    # When it last created tasks; null = never. Decides the next turn while few may be created.
    moment("planned_at"),
    moment("finished_at"),
)
