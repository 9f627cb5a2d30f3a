"""Merge tasks, their inputs and their attempts."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)

from meta.store.tables.columns import metadata, moment, now

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
