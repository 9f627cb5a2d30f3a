"""Retention: segments older than their dataset's retention are tombstoned."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.deletion.due import ended_before
from meta.store.engine.pool import Transaction
from meta.store.locks.held_datasets import is_held
from meta.store.merging import merge_tasks
from meta.store.merging.merge_tasks import MergeTaskRow, TaskState
from meta.store.segments import burial, stats
from meta.store.versions import versions
from meta.store.versions.clock import ago

# The counter is held while they are tombstoned.
SEGMENTS_AT_ONCE = 200

# Two rules, each enough by itself: the newest event is too old, or the segment is. A dataset that
# is being locked is waited for, and one that is held keeps its segments.
_EXPIRED = text(f"""
    SELECT s.id FROM datasets d CROSS JOIN LATERAL (
        (SELECT id FROM segments
         WHERE dataset_key = d.key AND tombstone_version IS NULL
           AND created_at < {ago("nullif(d.created_retention_secs, 0)")}
         ORDER BY created_at, id LIMIT :most)
        UNION
        (SELECT id FROM segments
         WHERE dataset_key = d.key AND tombstone_version IS NULL
           AND end_ns < {ended_before("nullif(d.event_retention_secs, 0)")}
         ORDER BY end_ns, id LIMIT :most)) s
    WHERE d.deleted_at IS NULL AND (d.created_retention_secs > 0 OR d.event_retention_secs > 0)
      AND NOT {is_held("d")}
    LIMIT :most FOR KEY SHARE OF d
""")  # noqa: S608
_TASKS = text("""
    SELECT DISTINCT task_id FROM merge_task_inputs WHERE segment_id = ANY(:ids) ORDER BY task_id
""")
# Seconds and nanoseconds as numeric: their sum may be beyond every timestamp.
_NEXT = text("""
    SELECT least(
      (SELECT (extract(epoch FROM created_at) + d.created_retention_secs) * 1000000000
       FROM segments WHERE dataset_key = d.key AND tombstone_version IS NULL
         AND d.created_retention_secs > 0
       ORDER BY created_at, id LIMIT 1),
      (SELECT end_ns::numeric + d.event_retention_secs * 1000000000::numeric
       FROM segments WHERE dataset_key = d.key AND tombstone_version IS NULL
         AND d.event_retention_secs > 0
       ORDER BY end_ns, id LIMIT 1))
    FROM datasets d WHERE d.key = :key
""")


def next_expiry_nanos(tx: Transaction, dataset_key: int) -> int | None:
    """The time at which the first live segment of a dataset expires; None if none does.

    By the database's clock. It is later by the time in which no server ran.
    """
    expiry = tx.execute(_NEXT, {"key": dataset_key}).scalar_one_or_none()
    return None if expiry is None else int(expiry)


def bury_expired(tx: Transaction) -> int:
    """Tombstone some expired segments and cancel the tasks over them; returns how many."""
    ids = sorted(tx.execute(_EXPIRED, {"most": SEGMENTS_AT_ONCE}).scalars())
    if not ids:
        return 0
    tasks = lock_tasks(tx, ids)
    changes = merge_tasks.cancel(tx, tasks)
    buried = burial.bury(tx, ids, versions.allocate(tx))
    stats.add(tx, changes)
    return buried


def lock_tasks(tx: Transaction, segment_ids: Sequence[UUID]) -> list[MergeTaskRow]:
    """Lock the open tasks of the segments. A later task is cancelled when it is polled."""
    held = []
    for task_id in tx.execute(_TASKS, {"ids": list(segment_ids)}).scalars():
        task = merge_tasks.lock(tx, task_id)
        if task is not None and task.state == TaskState.OPEN:
            held.append(task)
    return held
