"""Leases of merge tasks: heartbeats and unclaims."""

from uuid import UUID

from sqlalchemy import text

from meta.store import merge_attempts, merge_tasks
from meta.store.engine import Transaction

_UNCLAIM = text("""
    UPDATE merge_tasks SET attempt = attempt + 1, worker_id = NULL, claimed_at = NULL,
        beat_at = NULL, free_at = NULL
    WHERE id = :task AND state = 1 AND worker_id IS NOT NULL
      AND greatest(claimed_at, beat_at) <= clock_timestamp() - :age_secs * interval '1 second'
    RETURNING attempt - 1
""")
_BEAT = text(f"""
    UPDATE merge_tasks SET beat_at = clock_timestamp(), rows_done = :rows_done,
        free_at = clock_timestamp() + :lease_secs * interval '1 second'
    WHERE id = :task AND state = 1 AND worker_id IS NOT NULL
      AND (:attempt = 0 OR attempt = :attempt) AND {merge_tasks.IS_OF_LIVE}
""")  # noqa: S608
_ROWS_DONE = text("SELECT rows_done FROM merge_tasks WHERE id = :task")


def unclaim(tx: Transaction, task_id: UUID, age_secs: int) -> bool:
    """Revoke a claim that is old enough and raise the attempt; False if there is none."""
    attempt = tx.execute(_UNCLAIM, {"task": task_id, "age_secs": age_secs}).scalar_one_or_none()
    if attempt is None:
        return False
    merge_attempts.end(tx, task_id, attempt, merge_attempts.Outcome.UNCLAIMED)
    return True


def beat(
    tx: Transaction, task_id: UUID, attempt: int, *, rows_done: int, lease_secs: float
) -> bool:
    """Extend the lease of a claim (0 = the current one); False if it no longer holds the task."""
    values = {
        "task": task_id,
        "attempt": attempt,
        "rows_done": rows_done,
        "lease_secs": lease_secs,
    }
    return tx.execute(_BEAT, values).rowcount > 0


def rows_done(tx: Transaction, task_id: UUID) -> int:
    """Rows written in the current claim, as of the last heartbeat."""
    return int(tx.execute(_ROWS_DONE, {"task": task_id}).scalar_one())
