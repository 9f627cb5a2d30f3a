"""Failed merges: the history of claims, back-off, splits, then exclusion of one segment."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select, text

from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.merging import merge_tasks
from meta.store.merging.merge_tasks import MergeTaskRow, TaskKind, TaskState
from meta.store.tables.merges import merge_attempts

# Failures that blame the inputs, after which a task is split.
POISON_FAILURES_MAX = 5
BACKOFF_MINUTES_MAX = 60


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
    select(*row_columns(Attempt, merge_attempts))
    .where(merge_attempts.c.task_id == bindparam("task"))
    .order_by(merge_attempts.c.attempt.desc())
    .limit(bindparam("most"))
)
_END_ATTEMPT = text("""
    UPDATE merge_attempts SET ended_at = clock_timestamp(), outcome = :how, error = :message,
        failed_segment_id = :failed_segment
    WHERE task_id = :task AND attempt = :number AND ended_at IS NULL
""")
# Finished tasks are read from the newest; few are not completions.
_LAST_COMPLETED = text(
    "SELECT finished_at FROM merge_tasks WHERE state > 1 AND state = 2"
    " ORDER BY finished_at DESC LIMIT 1"
)


def end_attempt(
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
    tx.execute(_END_ATTEMPT, values)


def history(tx: Transaction, task_id: UUID, most: int) -> list[Attempt]:
    """A task's latest claims, newest first."""
    return [Attempt(*row) for row in tx.execute(_HISTORY, {"task": task_id, "most": most})]


def last_completed_at(tx: Transaction) -> datetime | None:
    """The last completion of any task, a sign that the store and the workers work."""
    return tx.execute(_LAST_COMPLETED).scalar_one_or_none()


_COUNT = text("""
    UPDATE merge_tasks SET failures = failures + 1, poison_failures = poison_failures + :poison,
        failed_at = clock_timestamp()
    WHERE id = :task
""")
_GIVE_BACK = text(
    "UPDATE merge_tasks SET worker_id = NULL, claimed_at = NULL, beat_at = NULL,"
    " free_at = clock_timestamp() + :backoff_secs * interval '1 second' WHERE id = :task"
)
_EXCLUDE = text(
    "UPDATE segments SET quarantined_at = clock_timestamp()"
    " WHERE id = :segment AND tombstone_version IS NULL"
)


def fail(
    tx: Transaction,
    task: MergeTaskRow,
    *,
    error: str,
    failed_segment_id: UUID | None,
    backoff_unit_secs: float,
    is_deferred: bool = False,
    is_proven: bool = False,
) -> None:
    """Record the current claim's failure: back off, or split a task that failed too often.

    `is_deferred` says that the worker is the cause: the failure counts against no input. With
    `is_proven` the named input is excluded from merging at once.
    """
    end_attempt(
        tx,
        task.id,
        task.attempt,
        Outcome.FAILED,
        error=error,
        failed_segment_id=failed_segment_id,
    )
    assert task.claimed_at is not None
    if is_deferred:
        tx.execute(_COUNT, {"task": task.id, "poison": 0})
    elif is_proven and failed_segment_id is not None:
        _exclude_proven(tx, task, failed_segment_id)
        return
    elif _count(tx, task, task.claimed_at, failed_segment_id) >= POISON_FAILURES_MAX:
        split(tx, task, failed_segment_id)
        return
    units = min(2 ** min(task.failures + 1, 10), BACKOFF_MINUTES_MAX)
    tx.execute(_GIVE_BACK, {"task": task.id, "backoff_secs": units * backoff_unit_secs})


def note_lapse(tx: Transaction, task: MergeTaskRow, claimed_at: datetime) -> bool:
    """Count the expired lease of a reclaimed task as a failure; True if the task was split."""
    end_attempt(tx, task.id, task.attempt - 1, Outcome.LEASE_PASSED)
    if _count(tx, task, claimed_at, None) < POISON_FAILURES_MAX:
        return False
    end_attempt(tx, task.id, task.attempt, Outcome.CANCELLED)
    split(tx, task, None)
    return True


def _exclude_proven(tx: Transaction, task: MergeTaskRow, segment_id: UUID) -> None:
    """Exclude one input from merging and put the others into their own task."""
    others = [
        segment
        for segment in merge_tasks.live_inputs(tx, task.id)
        if segment.segment_id != segment_id
    ]
    _exclude(tx, segment_id, f"merge task {task.id} could not read it twice")
    merge_tasks.close(tx, task, TaskState.SPLIT if len(others) > 1 else TaskState.CANCELLED)
    # A single one is free again: the next planning finds it.
    if len(others) > 1:
        merge_tasks.create(tx, TaskKind.MERGE, [others])


def _exclude(tx: Transaction, segment_id: UUID, reason: str) -> None:
    tx.execute(_EXCLUDE, {"segment": segment_id})
    audit.note(tx, "exclude", segment_id, reason)


def split(tx: Transaction, task: MergeTaskRow, failed_segment_id: UUID | None) -> None:
    """Put a task's inputs into two tasks, or exclude a single one from merging."""
    inputs = merge_tasks.live_inputs(tx, task.id)
    if len(inputs) <= 1:
        for segment in inputs:
            _exclude(tx, segment.segment_id, f"merge task {task.id} kept failing")
        merge_tasks.close(tx, task, TaskState.CANCELLED)
        return
    blamed = [segment for segment in inputs if segment.segment_id == failed_segment_id]
    halves = (inputs[: len(inputs) // 2], inputs[len(inputs) // 2 :])
    if blamed:
        halves = (
            blamed,
            [segment for segment in inputs if segment.segment_id != failed_segment_id],
        )
    merge_tasks.close(tx, task, TaskState.SPLIT)
    for half in halves:
        # A single input is only probed: writing it again is not a merge.
        if len(half) == 1:
            merge_tasks.create(tx, TaskKind.REWRITE, [half], merges_added=0)
        else:
            merge_tasks.create(tx, TaskKind.MERGE, [half])


def _count(
    tx: Transaction, task: MergeTaskRow, claimed_at: datetime, failed_segment_id: UUID | None
) -> int:
    """Count a failure; it blames the inputs if it names one, or if others could merge then."""
    completed_at = last_completed_at(tx)
    since = task.failed_at or claimed_at
    is_poison = failed_segment_id is not None or (completed_at is not None and completed_at > since)
    values: dict[str, Any] = {"task": task.id, "poison": int(is_poison)}
    tx.execute(_COUNT, values)
    return task.poison_failures + int(is_poison)
