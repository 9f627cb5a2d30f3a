"""Maintained counters per dataset, which GetJanitorStats answers from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Select, bindparam, func, select, update

from meta.store.engine import Transaction
from meta.store.tables import dataset_stats, datasets

INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Change:
    """Increments of a dataset's counters; negative subtracts. Sizes in bytes."""

    dataset_key: int
    live_segments: int = 0
    live_size_bytes: int = 0
    live_compressed_size_bytes: int = 0
    all_segments: int = 0
    open_tasks: int = 0


@dataclass(frozen=True, slots=True)
class DatasetTotals:
    """The counters of one dataset or the sum over all live ones; sizes in bytes."""

    live_segments: int
    live_size_bytes: int
    live_compressed_size_bytes: int
    all_segments: int
    open_tasks: int


_READ: Select[*tuple[Any, ...]] = select(
    *(
        # The sum of bigint is numeric: it may exceed the int64 of the reply.
        func.least(func.coalesce(func.sum(column), 0), INT64_MAX).cast(BigInteger)
        for column in (
            dataset_stats.c.live_segments,
            dataset_stats.c.live_size_bytes,
            dataset_stats.c.live_compressed_size_bytes,
            dataset_stats.c.all_segments,
            dataset_stats.c.open_tasks,
        )
    )
)
_READ_ONE = _READ.where(dataset_stats.c.dataset_key == bindparam("key"))
_READ_ALL = _READ.join(datasets, datasets.c.key == dataset_stats.c.dataset_key).where(
    datasets.c.deleted_at.is_(None)
)
_ADD = (
    update(dataset_stats)
    .where(dataset_stats.c.dataset_key == bindparam("key"))
    .values(
        live_segments=dataset_stats.c.live_segments + bindparam("live"),
        live_size_bytes=dataset_stats.c.live_size_bytes + bindparam("size"),
        live_compressed_size_bytes=dataset_stats.c.live_compressed_size_bytes
        + bindparam("compressed"),
        all_segments=dataset_stats.c.all_segments + bindparam("every"),
        open_tasks=dataset_stats.c.open_tasks + bindparam("tasks"),
    )
)


def add(tx: Transaction, changes: Iterable[Change]) -> None:
    """Apply changes, summed per dataset.

    Call it last, after the version if one is drawn: a call that holds these rows must not wait.
    """
    sums: dict[int, list[int]] = {}
    for change in changes:
        total = sums.setdefault(change.dataset_key, [0, 0, 0, 0, 0])
        total[0] += change.live_segments
        total[1] += change.live_size_bytes
        total[2] += change.live_compressed_size_bytes
        total[3] += change.all_segments
        total[4] += change.open_tasks
    rows = [
        {"key": key, "live": t[0], "size": t[1], "compressed": t[2], "every": t[3], "tasks": t[4]}
        for key, t in sorted(sums.items())
    ]
    if rows:
        tx.execute(_ADD, rows)


def read(tx: Transaction, dataset_key: int | None) -> DatasetTotals:
    """The counters of one dataset; None = of all live ones together."""
    statement = _READ_ALL if dataset_key is None else _READ_ONE
    return DatasetTotals(*tx.execute(statement, {"key": dataset_key}).one())
