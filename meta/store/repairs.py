"""Repairs that follow from the rows alone."""

from uuid import UUID

from sqlalchemy import text

from meta.store import merge_tasks, stats
from meta.store.engine import Transaction
from meta.store.merge_tasks import TaskState

_HAS_DEAD_INPUT = text("""
    SELECT EXISTS (SELECT FROM merge_task_inputs i LEFT JOIN segments s ON s.id = i.segment_id
                   WHERE i.task_id = :task AND (s.id IS NULL OR s.tombstone_version IS NOT NULL))
""")


def cancel_dead_task(tx: Transaction, task_id: UUID) -> bool:
    """Cancel an open task that has an input which is not live; false if there is none."""
    task = merge_tasks.lock(tx, task_id)
    if task is None or task.state != TaskState.OPEN:
        return False
    if not tx.execute(_HAS_DEAD_INPUT, {"task": task_id}).scalar_one():
        return False
    stats.add(tx, merge_tasks.cancel(tx, [task]))
    return True
