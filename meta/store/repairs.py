"""Repairs that follow from the rows alone."""

from uuid import UUID

from sqlalchemy import text

from meta.store import merge_tasks, stats
from meta.store.engine import Transaction
from meta.store.merge_tasks import TaskState

_LOCK = text("""
    SELECT dataset_key FROM dataset_stats
    WHERE dataset_key = (SELECT key FROM datasets WHERE id = :dataset) FOR UPDATE
""")
# Under the lock and in a later snapshot: whoever changed the counters has committed, and whoever
# is about to waits.
_RECOUNT = text("""
    UPDATE dataset_stats k SET live_segments = c.live, live_size_bytes = c.size,
        live_compressed_size_bytes = c.compressed, all_segments = c.every, open_tasks = c.open
    FROM (
        SELECT count(*) FILTER (WHERE tombstone_version IS NULL) AS live,
               coalesce(sum(size_bytes) FILTER (WHERE tombstone_version IS NULL), 0) AS size,
               coalesce(sum(compressed_size_bytes) FILTER (WHERE tombstone_version IS NULL), 0)
                   AS compressed,
               count(*) AS every,
               (SELECT count(*) FROM merge_tasks WHERE dataset_key = :key AND state = 1) AS open
        FROM segments WHERE dataset_key = :key) c
    WHERE k.dataset_key = :key
      AND (k.live_segments, k.live_size_bytes, k.live_compressed_size_bytes, k.all_segments,
           k.open_tasks) IS DISTINCT FROM (c.live, c.size, c.compressed, c.every, c.open)
""")
_HAS_DEAD_INPUT = text("""
    SELECT EXISTS (SELECT FROM merge_task_inputs i LEFT JOIN segments s ON s.id = i.segment_id
                   WHERE i.task_id = :task AND (s.id IS NULL OR s.tombstone_version IS NOT NULL))
""")


def recount(tx: Transaction, dataset_id: UUID) -> bool:
    """Store the recounted statistics of a dataset; false if they were right, or there is none."""
    key = tx.execute(_LOCK, {"dataset": dataset_id}).scalar_one_or_none()
    return key is not None and tx.execute(_RECOUNT, {"key": key}).rowcount > 0


def cancel_dead_task(tx: Transaction, task_id: UUID) -> bool:
    """Cancel an open task that has an input which is not live; false if there is none."""
    task = merge_tasks.lock(tx, task_id)
    if task is None or task.state != TaskState.OPEN:
        return False
    if not tx.execute(_HAS_DEAD_INPUT, {"task": task_id}).scalar_one():
        return False
    stats.add(tx, merge_tasks.cancel(tx, [task]))
    return True
