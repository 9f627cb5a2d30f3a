"""Merge tasks and their inputs: creating, claiming, reading and closing them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Select,
    TextClause,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    select,
    text,
)

from meta.store.engine.pool import Transaction
from meta.store.engine.row_columns import row_columns
from meta.store.segments import stats
from meta.store.tables.catalog import datasets
from meta.store.tables.merges import merge_task_inputs, merge_tasks
from meta.store.tables.segments import segments
from segments.ids import new_uuid7


@dataclass(frozen=True, slots=True)
class TaskInput:
    """A live segment as a task's input; sizes in bytes, its range closed."""

    segment_id: UUID
    dataset_key: int
    start_ns: int
    end_ns: int
    size_bytes: int
    compressed_size_bytes: int
    number_of_events: int
    merge_count: int


_INPUT_COLUMNS = row_columns(TaskInput, segments, segment_id=segments.c.id)
_LIVE: Select[*tuple[Any, ...]] = (
    select(*_INPUT_COLUMNS)
    .join(merge_task_inputs, merge_task_inputs.c.segment_id == segments.c.id)
    .where(merge_task_inputs.c.task_id == bindparam("task"))
    .where(segments.c.tombstone_version.is_(None))
    .order_by(segments.c.id)
)
_LOCK_LIVE = _LIVE.with_for_update(key_share=True, of=segments)
_LOCK_CANDIDATES: Select[*tuple[Any, ...]] = (
    select(*_INPUT_COLUMNS)
    .where(segments.c.id == func.any(bindparam("ids")))
    .where(segments.c.tombstone_version.is_(None))
    .where(segments.c.excluded_at.is_(None))
    .order_by(segments.c.id)
    .with_for_update(key_share=True)
)
_INPUT_IDS = text("SELECT segment_id FROM merge_task_inputs WHERE task_id = :task")


def input_ids(tx: Transaction, task_id: UUID) -> list[UUID]:
    """List the inputs of an open task."""
    return list(tx.execute(_INPUT_IDS, {"task": task_id}).scalars())


def live_inputs(tx: Transaction, task_id: UUID) -> list[TaskInput]:
    """List a task's inputs that are live, by id."""
    return [TaskInput(*row) for row in tx.execute(_LIVE, {"task": task_id})]


def lock_live_inputs(tx: Transaction, task_id: UUID) -> list[TaskInput]:
    """Lock a task's inputs that are live until the commit."""
    return [TaskInput(*row) for row in tx.execute(_LOCK_LIVE, {"task": task_id})]


def lock_candidates(tx: Transaction, segment_ids: Sequence[UUID]) -> dict[UUID, TaskInput]:
    """Lock those of the segments that may become inputs until the commit."""
    rows = tx.execute(_LOCK_CANDIDATES, {"ids": list(segment_ids)})
    return {row[0]: TaskInput(*row) for row in rows}


class TaskState(IntEnum):
    """State of a task; only an open one can be claimed."""

    OPEN = 1
    COMPLETED = 2
    CANCELLED = 3
    SPLIT = 4


class TaskKind(IntEnum):
    """A rewrite has one input and does not count as a merge."""

    MERGE = 1
    REWRITE = 2


@dataclass(frozen=True, slots=True)
class MergeTaskRow:
    """A task with the totals of its inputs when it was planned; sizes in bytes."""

    id: UUID
    dataset_id: UUID
    dataset_key: int
    state: int
    kind: int
    attempt: int
    # Both are set while a worker has a claim, and only then.
    worker_id: str | None
    claimed_at: datetime | None
    created_at: datetime
    failures: int
    poison_failures: int
    failed_at: datetime | None
    output_segment_id: UUID | None
    output_merge_count: int
    segment_count: int
    smallest_size: int
    largest_size: int
    smallest_compressed_size: int
    largest_compressed_size: int
    total_size: int
    total_compressed_size: int
    start_ns: int
    end_ns: int
    # Outputs other than `output_segment_id`; None if there are none.
    more_output_ids: list[UUID] | None = None
    # The store of its dataset's new segments.
    store: str = ""


# A deleted dataset's tasks are cancelled at once, whatever their rows still say: those follow in
# pages (meta.store.deletion.dataset_deletion).
_STATE = case(
    ((merge_tasks.c.state == 1) & datasets.c.deleted_at.is_not(None), literal_column("3")),
    else_=merge_tasks.c.state,
)
_COLUMNS = row_columns(
    MergeTaskRow, merge_tasks, dataset_id=datasets.c.id, state=_STATE, store=datasets.c.store
)
# Leaves out tasks of deleted datasets. The list is hashed, so that tasks are still read in the
# order of an index; it is short, because a dataset is purged once its tasks are closed.
IS_OF_LIVE = (
    "dataset_key NOT IN ("
    "SELECT key FROM datasets WHERE deleted_at IS NOT NULL AND purged_at IS NULL)"
)
# Written out: a partial index is of no use to a generic plan with a parameter.
_IS_OPEN = merge_tasks.c.state == literal_column("1")
_ALL: Select[*tuple[Any, ...]] = select(*_COLUMNS).join(
    datasets, datasets.c.key == merge_tasks.c.dataset_key
)
_BY_ID = _ALL.where(merge_tasks.c.id == bindparam("task"))
_LOCK = _BY_ID.with_for_update(of=merge_tasks)
_OPEN_TASKS = (
    _ALL.where(_IS_OPEN)
    .where(datasets.c.deleted_at.is_(None))
    .order_by(merge_tasks.c.id)
    .limit(bindparam("most"))
)
_OPEN_OF_DATASET = _OPEN_TASKS.where(merge_tasks.c.dataset_key == bindparam("key"))
_LOCK_OF_DELETED = (
    _ALL.where(_IS_OPEN)
    .where(datasets.c.deleted_at.is_not(None) & datasets.c.purged_at.is_(None))
    .order_by(merge_tasks.c.dataset_key, merge_tasks.c.id)
    .limit(bindparam("most"))
    .with_for_update(of=merge_tasks, skip_locked=True)
)
_INSERT = insert(merge_tasks)
_INSERT_INPUTS = insert(merge_task_inputs)
_FREE_INPUTS = text("DELETE FROM merge_task_inputs WHERE task_id = :task")
_CLOSE = text("""
    UPDATE merge_tasks SET state = :new_state, output_segment_id = :output, more_output_ids = :more,
        finished_at = clock_timestamp(), free_at = NULL
    WHERE id = :task
""")
_CANCEL: tuple[TextClause, ...] = (
    text(
        "UPDATE merge_attempts a SET ended_at = clock_timestamp(), outcome = 'cancelled'"
        " FROM merge_tasks t WHERE t.id = ANY(:ids) AND a.task_id = t.id AND a.attempt = t.attempt"
        " AND a.ended_at IS NULL"
    ),
    text(
        "UPDATE merge_tasks SET state = 3, finished_at = clock_timestamp(), free_at = NULL"
        " WHERE id = ANY(:ids)"
    ),
    text("DELETE FROM merge_task_inputs WHERE task_id = ANY(:ids)"),
)


def find(tx: Transaction, task_id: UUID) -> MergeTaskRow | None:
    """The task, finished ones included."""
    row = tx.execute(_BY_ID, {"task": task_id}).one_or_none()
    return None if row is None else MergeTaskRow(*row)


def lock(tx: Transaction, task_id: UUID) -> MergeTaskRow | None:
    """The task, locked until the commit."""
    row = tx.execute(_LOCK, {"task": task_id}).one_or_none()
    return None if row is None else MergeTaskRow(*row)


def list_open(tx: Transaction, dataset_key: int | None, most: int) -> list[MergeTaskRow]:
    """Open tasks, oldest first."""
    statement = _OPEN_TASKS if dataset_key is None else _OPEN_OF_DATASET
    return [MergeTaskRow(*row) for row in tx.execute(statement, {"key": dataset_key, "most": most})]


def lock_some_of_deleted(tx: Transaction, most: int) -> list[MergeTaskRow]:
    """Lock open tasks of deleted datasets that no other call has locked."""
    return [MergeTaskRow(*row) for row in tx.execute(_LOCK_OF_DELETED, {"most": most})]


def create(
    tx: Transaction,
    kind: TaskKind,
    groups: Sequence[Sequence[TaskInput]],
    *,
    merges_added: int = 1,
    rewrite_id: UUID | None = None,
) -> int:
    """Make one open task per group of inputs of one dataset; returns their number.

    `rewrite_id` is the rewrite that the tasks belong to, if any.
    """
    tasks, inputs, changes = [], [], []
    for group in groups:
        task_id = new_uuid7()
        values = _task_values(task_id, kind, group, merges_added)
        tasks.append({**values, "rewrite_id": rewrite_id})
        inputs += [
            {"segment_id": segment.segment_id, "task_id": task_id, "position": position}
            for position, segment in enumerate(group)
        ]
        changes.append(stats.Change(group[0].dataset_key, open_tasks=1))
    if tasks:
        tx.execute(_INSERT, tasks)
        tx.execute(_INSERT_INPUTS, inputs)
        stats.add(tx, changes)
    return len(tasks)


def close(
    tx: Transaction, task: MergeTaskRow, state: TaskState, output_ids: Sequence[UUID] = ()
) -> None:
    """End an open task and free its inputs; the caller holds its row.

    Changes the dataset's counters, so nothing that waits for a lock may follow.
    """
    values = {
        "task": task.id,
        "new_state": int(state),
        "output": output_ids[0] if output_ids else None,
        "more": list(output_ids[1:]) or None,
    }
    tx.execute(_CLOSE, values)
    tx.execute(_FREE_INPUTS, {"task": task.id})
    stats.add(tx, [stats.Change(task.dataset_key, open_tasks=-1)])


def cancel(tx: Transaction, tasks: Sequence[MergeTaskRow]) -> list[stats.Change]:
    """Cancel locked open tasks with their claims and free their inputs.

    The caller adds the changes to the counters, as its last step.
    """
    if tasks:
        ids = [task.id for task in tasks]
        for statement in _CANCEL:
            tx.execute(statement, {"ids": ids})
    return [stats.Change(task.dataset_key, open_tasks=-1) for task in tasks]


def _task_values(
    task_id: UUID, kind: TaskKind, group: Sequence[TaskInput], merges_added: int
) -> dict[str, object]:
    sizes = [segment.size_bytes for segment in group]
    compressed = [segment.compressed_size_bytes for segment in group]
    return {
        "id": task_id,
        "dataset_key": group[0].dataset_key,
        "kind": int(kind),
        "output_merge_count": max(segment.merge_count for segment in group) + merges_added,
        "segment_count": len(group),
        "smallest_size": min(sizes),
        "largest_size": max(sizes),
        "total_size": sum(sizes),
        "smallest_compressed_size": min(compressed),
        "largest_compressed_size": max(compressed),
        "total_compressed_size": sum(compressed),
        "start_ns": min(segment.start_ns for segment in group),
        "end_ns": max(segment.end_ns for segment in group),
    }
