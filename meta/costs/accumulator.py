"""Sums of what a process spent on each dataset since its last report.

    charge ------> open sums --(settle: + shares of the process)--> due sums --(take)--> a report
    charge_task -/

A charge is a look-up and two additions under a lock. The sums have a bound: further datasets count
as none.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import islice
from operator import add

from meta.costs.shares import shares_of
from meta.costs.spent import Spent
from meta.v1 import costs_pb2 as pb

DATASETS_MAX = 100_000
# The id of what is of no dataset.
NO_DATASET = ""


class Work(IntEnum):
    """Kinds of work of processes."""

    INGEST = pb.COST_KIND_INGEST
    NURSERY = pb.COST_KIND_NURSERY
    MERGE = pb.COST_KIND_MERGE
    QUERY = pb.COST_KIND_QUERY
    UPKEEP = pb.COST_KIND_UPKEEP
    META = pb.COST_KIND_META
    POSTGRES = pb.COST_KIND_POSTGRES


# Bytes, read requests, write requests, microseconds of CPU.
_Row = list[int]
_Sums = dict[Work, dict[str, _Row]]


class Accumulator:
    """Sums by kind of work and dataset; safe for many threads."""

    def __init__(self, datasets_max: int = DATASETS_MAX) -> None:
        self._datasets_max = datasets_max
        self._lock = threading.Lock()
        self._open: _Sums = {work: {} for work in Work}
        self._due: _Sums = {work: {} for work in Work}
        # Microseconds of CPU a second in the last interval without work.
        self._idle_rate = 0.0

    def charge(self, work: Work, dataset_id: str, size_bytes: int) -> None:
        """Charge bytes to a dataset, and with them a share of what the process spends."""
        with self._lock:
            self._row(self._open[work], dataset_id)[0] += size_bytes

    def charge_task(self, work: Work, sizes: Mapping[str, int], spent: Spent) -> None:
        """Charge a task by the bytes that it had of each dataset; evenly if it had none."""
        ids = list(sizes) or [NO_DATASET]
        weights = [sizes.get(dataset_id, 0) for dataset_id in ids]
        with self._lock:
            rows = [self._row(self._open[work], dataset_id) for dataset_id in ids]
            _divide(rows, weights if any(weights) else [1] * len(ids), spent)
            for row, size_bytes in zip(rows, weights, strict=True):
                row[0] += size_bytes

    def settle(self, work: Work, spent: Spent, secs: float) -> None:
        """Divide what the process spent in an interval by the bytes charged in it.

        `work` is the kind of its idle time. An interval of 0 seconds has no rate of idle time.
        """
        with self._lock:
            opened, self._open = self._open, {each: {} for each in Work}
            rows, weights = list[_Row](), list[int]()
            for kind, sums in opened.items():
                for dataset_id, row in sums.items():
                    total = self._row(self._due[kind], dataset_id)
                    total[:] = map(add, total, row)
                    rows.append(total)
                    weights.append(row[0])
            none = self._row(self._due[work], NO_DATASET)
            if not any(weights):
                self._idle_rate = spent.cpu_micros / secs if secs else 0.0
                rows, weights = [none], [1]
            idle_micros = min(spent.cpu_micros, int(self._idle_rate * secs))
            none[3] += idle_micros
            _divide(rows, weights, replace(spent, cpu_micros=spent.cpu_micros - idle_micros))

    def take(self, work: Work, most: int) -> list[pb.CostEntry]:
        """Take up to so many sums of a kind that are settled; they are reported once."""
        with self._lock:
            due = self._due[work]
            taken = [(each, due.pop(each)) for each in list(islice(due, most))]
        return [_entry(work, *each) for each in taken if any(each[1])]

    def has_datasets(self, work: Work) -> bool:
        """Tell whether anything but idle time of a kind is settled."""
        with self._lock:
            return any(islice(self._due[work], 2))

    def _row(self, sums: dict[str, _Row], dataset_id: str) -> _Row:
        row = sums.get(dataset_id)
        if row is None:
            key = dataset_id if len(sums) < self._datasets_max else NO_DATASET
            row = sums.setdefault(key, [0, 0, 0, 0])
        return row


def _divide(rows: Sequence[_Row], weights: Sequence[int], spent: Spent) -> None:
    columns = (spent.read_requests, spent.write_requests, spent.cpu_micros)
    for column, whole in enumerate(columns, start=1):
        if whole:
            for row, share in zip(rows, shares_of(whole, weights), strict=True):
                row[column] += share


def _entry(work: Work, dataset_id: str, row: _Row) -> pb.CostEntry:
    size_bytes, read_requests, write_requests, cpu_micros = row
    amounts = pb.CostAmounts(
        bytes=size_bytes,
        read_requests=read_requests,
        write_requests=write_requests,
        cpu_micros=cpu_micros,
    )
    return pb.CostEntry(dataset_id=dataset_id, kind=pb.CostKind.ValueType(work), amounts=amounts)
