"""The history of merge tasks' claims, and the decisions that rest on it."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from sqlalchemy import bindparam, func, insert, literal_column, select, update

from meta.store.engine import Transaction
from meta.store.tables import merge_attempts, merge_tasks


class Outcome(Enum):
    """The end of a claim."""

    COMPLETED = "completed"
    FAILED = "failed"
    LEASE_PASSED = "lease_passed"
    UNCLAIMED = "unclaimed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim; without ended_at it lasts."""

    attempt: int
    worker_id: str
    claimed_at: datetime
    ended_at: datetime | None
    outcome: str | None
    error: str | None
    failed_segment_id: UUID | None


_HISTORY = (
    select(
        merge_attempts.c.attempt,
        merge_attempts.c.worker_id,
        merge_attempts.c.claimed_at,
        merge_attempts.c.ended_at,
        merge_attempts.c.outcome,
        merge_attempts.c.error,
        merge_attempts.c.failed_segment_id,
    )
    .where(merge_attempts.c.task_id == bindparam("task"))
    .order_by(merge_attempts.c.attempt.desc())
    .limit(bindparam("most"))
)
_BEGIN = insert(merge_attempts)
_END = (
    update(merge_attempts)
    .where(merge_attempts.c.task_id == bindparam("task"))
    .where(merge_attempts.c.attempt == bindparam("number"))
    .where(merge_attempts.c.ended_at.is_(None))
    .values(
        ended_at=func.clock_timestamp(),
        outcome=bindparam("how"),
        error=bindparam("message"),
        failed_segment_id=bindparam("failed_segment"),
    )
)
# Finished tasks are read from the newest; few are not completions.
_LAST_COMPLETED = (
    select(merge_tasks.c.finished_at)
    .where(merge_tasks.c.state > literal_column("1"))
    .where(merge_tasks.c.state == literal_column("2"))
    .order_by(merge_tasks.c.finished_at.desc())
    .limit(1)
)


def begin(tx: Transaction, task_id: UUID, attempt: int, worker_id: str) -> None:
    """Record a claim."""
    tx.execute(_BEGIN, {"task_id": task_id, "attempt": attempt, "worker_id": worker_id})


def end(
    tx: Transaction,
    task_id: UUID,
    attempt: int,
    outcome: Outcome,
    *,
    error: str | None = None,
    failed_segment_id: UUID | None = None,
) -> None:
    """Record the end of a claim; only the first end counts."""
    values = {
        "task": task_id,
        "number": attempt,
        "how": outcome.value,
        "message": error,
        "failed_segment": failed_segment_id,
    }
    tx.execute(_END, values)


def history(tx: Transaction, task_id: UUID, most: int) -> list[Attempt]:
    """A task's latest claims, newest first."""
    return [Attempt(*row) for row in tx.execute(_HISTORY, {"task": task_id, "most": most})]


def last_completed_at(tx: Transaction) -> datetime | None:
    """The last completion of any task, a sign that the store and the workers work."""
    return tx.execute(_LAST_COMPLETED).scalar_one_or_none()
