"""Merge tasks and their inputs: creating, claiming, reading and closing them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import IntEnum
from uuid import UUID

from sqlalchemy import TextClause, insert, text

from meta.store.engine.pool import Transaction
from meta.store.segments import stats
from meta.store.tables.merges import merge_task_inputs, merge_tasks
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


_INPUT_COLUMNS = ", ".join(f"s.{field.name}" for field in fields(TaskInput)[1:])
_LIVE = f"""
    SELECT s.id, {_INPUT_COLUMNS}
    FROM segments s JOIN merge_task_inputs i ON i.segment_id = s.id
    WHERE i.task_id = :task AND s.tombstone_version IS NULL ORDER BY s.id
"""  # noqa: S608
_READ_LIVE, _LOCK_LIVE = text(_LIVE), text(f"{_LIVE} FOR KEY SHARE OF s")
_LOCK_CANDIDATES = text(f"""
    SELECT s.id, {_INPUT_COLUMNS} FROM segments s
    WHERE s.id = ANY(:ids) AND s.tombstone_version IS NULL AND s.quarantined_at IS NULL
    ORDER BY s.id FOR KEY SHARE
""")  # noqa: S608
_INPUT_IDS = text("SELECT segment_id FROM merge_task_inputs WHERE task_id = :task")


def input_ids(tx: Transaction, task_id: UUID) -> list[UUID]:
    """List the inputs of an open task."""
    return list(tx.execute(_INPUT_IDS, {"task": task_id}).scalars())


def live_inputs(tx: Transaction, task_id: UUID) -> list[TaskInput]:
    """List a task's inputs that are live, by id."""
    return [TaskInput(*row) for row in tx.execute(_READ_LIVE, {"task": task_id})]


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
_COMPUTED = {
    "dataset_id": "d.id",
    "state": "CASE WHEN t.state = 1 AND d.deleted_at IS NOT NULL THEN 3 ELSE t.state END",
    "store": "d.store",
}
_COLUMNS = ", ".join(_COMPUTED.get(f.name, f"t.{f.name}") for f in fields(MergeTaskRow))
# Skips tasks of deleted datasets. The list is hashed, so that tasks are still read in the
# order of an index; it is short, because a dataset is purged once its tasks are closed.
IS_OF_LIVE = (
    "dataset_key NOT IN ("
    "SELECT key FROM datasets WHERE deleted_at IS NOT NULL AND purged_at IS NULL)"
)
_ALL = f"SELECT {_COLUMNS} FROM merge_tasks t JOIN datasets d ON d.key = t.dataset_key"  # noqa: S608
_BY_ID = text(f"{_ALL} WHERE t.id = :task")
_LOCK = text(f"{_ALL} WHERE t.id = :task FOR UPDATE OF t")
# The state is written out: a partial index is of no use to a generic plan with a parameter.
_OPEN_TASKS, _OPEN_OF_DATASET = (
    text(f"""
        {_ALL} WHERE t.state = 1 AND d.deleted_at IS NULL AND {condition}
        ORDER BY t.id LIMIT :most
    """)
    for condition in ("true", "t.dataset_key = :key")
)
_LOCK_OF_DELETED = text(f"""
    {_ALL} WHERE t.state = 1 AND d.deleted_at IS NOT NULL AND d.purged_at IS NULL
    ORDER BY t.dataset_key, t.id LIMIT :most FOR UPDATE OF t SKIP LOCKED
""")
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
