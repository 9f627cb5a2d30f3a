"""Needs of a checked query: the stored columns of each dataset, and the times that matter."""

from collections.abc import Iterator
from dataclasses import dataclass

from segplane.kql.bounds import ANY, Interval, Intervals, time_bounds
from segplane.kql.dataset_table import TIME_COLUMN
from segplane.kql.pruning import pruned
from segplane.kql.state import CheckedQuery
from segplane.kql.typed import Relation, Scan, inputs

_NANOS_PER_MICRO = 1_000
_EVERYTHING: Intervals = {}


@dataclass(frozen=True, slots=True)
class DatasetRead:
    """The columns of a dataset that a query needs, as stored, and the times that matter to it."""

    name: str
    columns: tuple[str, ...]
    times: Interval = ANY

    @property
    def is_empty(self) -> bool:
        """True if no record can matter."""
        low, high = self.times
        return low is not None and high is not None and low > high

    def nanos(self) -> tuple[int | None, int | None]:
        """Return the times as nanoseconds, [start, end)."""
        low, high = self.times
        start = None if low is None else low * _NANOS_PER_MICRO
        # A column's microsecond stands for all of its nanoseconds.
        return start, None if high is None else (high + 1) * _NANOS_PER_MICRO


def reads_of(state: CheckedQuery, wanted: Intervals = _EVERYTHING) -> tuple[DatasetRead, ...]:
    """Return what a checked query needs of each dataset.

    `wanted` are times of the query's own columns, outside of which none of its rows is asked for.
    """
    relation = pruned(state).relation
    bounds = time_bounds(relation, TIME_COLUMN, wanted)
    columns: dict[str, dict[str, None]] = {}
    for scan in _scans(relation):
        stored = (scan.table.stored.get(name, name) for name in scan.columns)
        columns.setdefault(scan.table.name, {}).update(dict.fromkeys(stored))
    return tuple(DatasetRead(name, tuple(names), bounds[name]) for name, names in columns.items())


def _scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    for below in inputs(relation):
        yield from _scans(below)
