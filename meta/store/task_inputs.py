"""Inputs of merge tasks: the live segments that a task will replace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, bindparam, func, select

from meta.store.engine import Transaction
from meta.store.tables import merge_task_inputs, segments


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


_COLUMNS = (
    segments.c.id,
    segments.c.dataset_key,
    segments.c.start_ns,
    segments.c.end_ns,
    segments.c.size_bytes,
    segments.c.compressed_size_bytes,
    segments.c.number_of_events,
    segments.c.merge_count,
)
_LIVE: Select[*tuple[Any, ...]] = (
    select(*_COLUMNS)
    .join(merge_task_inputs, merge_task_inputs.c.segment_id == segments.c.id)
    .where(merge_task_inputs.c.task_id == bindparam("task"))
    .where(segments.c.tombstone_version.is_(None))
    .order_by(segments.c.id)
)
_LOCK_LIVE = _LIVE.with_for_update(key_share=True, of=segments)
_LOCK_CANDIDATES: Select[*tuple[Any, ...]] = (
    select(*_COLUMNS)
    .where(segments.c.id == func.any(bindparam("ids")))
    .where(segments.c.tombstone_version.is_(None))
    .where(segments.c.excluded_at.is_(None))
    .order_by(segments.c.id)
    .with_for_update(key_share=True)
)
_IDS = select(merge_task_inputs.c.segment_id).where(
    merge_task_inputs.c.task_id == bindparam("task")
)


def list_ids(tx: Transaction, task_id: UUID) -> list[UUID]:
    """List the inputs of an open task."""
    return list(tx.execute(_IDS, {"task": task_id}).scalars())


def list_live(tx: Transaction, task_id: UUID) -> list[TaskInput]:
    """List a task's inputs that are live, by id."""
    return [TaskInput(*row) for row in tx.execute(_LIVE, {"task": task_id})]


def lock_live(tx: Transaction, task_id: UUID) -> list[TaskInput]:
    """Lock a task's inputs that are live until the commit."""
    return [TaskInput(*row) for row in tx.execute(_LOCK_LIVE, {"task": task_id})]


def lock_candidates(tx: Transaction, segment_ids: Sequence[UUID]) -> dict[UUID, TaskInput]:
    """Lock those of the segments that may become inputs until the commit."""
    rows = tx.execute(_LOCK_CANDIDATES, {"ids": list(segment_ids)})
    return {row[0]: TaskInput(*row) for row in rows}
