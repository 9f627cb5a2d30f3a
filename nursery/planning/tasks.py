"""Tasks of one cycle: each reads baby segments for some datasets. Pure.

Babies are divided into groups, and each group's datasets into as many tasks as may read its babies.
A dataset that is too large for one task is split by babies.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dataplane.babies.reads import DatasetWork, Routes, TaskRead
from nursery.planning.streams import BabyRead, IngestStream
from segments.offsets import spans_of
from segments.parquet.spec import SegmentSpec

# A task takes 80 ms of CPU beside 40 ms for each MiB of babies and 5 ms for each dataset: below
# this a second one would save a moment and cost a third more.
TASK_BYTES_MIN = 8 * 1024 * 1024
_DATASET_BYTES = 128 * 1024
# A dataset this much above a task's fair share is split.
_OVERSIZE = 1.25
# Bytes of babies a file: a further group of babies adds a file to each dataset, which must pay.
_FILE_BYTES_MIN = 64 * 1024

# A baby by stream id and offset.
BabyId: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class StreamReads:
    """The baby segments of one stream that a cycle reads, lowest offset first."""

    stream: IngestStream
    reads: tuple[BabyRead, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The input and output of one Spark task."""

    works: tuple[DatasetWork, ...]
    reads: tuple[TaskRead, ...]
    routes: tuple[Routes, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """One baby segment and the stream it is of."""

    stream: IngestStream
    read: BabyRead

    @property
    def baby_id(self) -> BabyId:
        return self.stream.stream_id, self.read.baby.offset

    @property
    def size_bytes(self) -> int:
        return self.read.baby.size_bytes


@dataclass(slots=True)
class _Item:
    """A dataset, or a piece of one."""

    dataset_id: str
    weight: float = 0.0
    reads: list[BabyId] = field(default_factory=list)


def plan_tasks(
    shares: Sequence[StreamReads], specs: Mapping[str, SegmentSpec], tasks_max: int
) -> tuple[Task, ...]:
    """Spread reads over at most `tasks_max` tasks of about equal bytes."""
    reads = [_Read(share.stream, read) for share in shares for read in share.reads]
    if not reads:
        return ()
    total = sum(read.size_bytes for read in reads)
    datasets = frozenset[str]().union(*(read.read.readers for read in reads))
    work = total + _DATASET_BYTES * len(datasets)
    count = max(1, min(tasks_max, work // TASK_BYTES_MIN))
    return tuple(
        task for group, bins in _groups(reads, count) for task in _group_tasks(group, bins, specs)
    )


def _groups(reads: Sequence[_Read], count: int) -> Iterator[tuple[Sequence[_Read], int]]:
    """Divide babies into groups, each with the number of tasks that read it."""
    if count == 1:
        yield reads, 1
        return
    by_readers: dict[int, list[_Read]] = {}
    for read in reads:
        by_readers.setdefault(read.read.readers_max, []).append(read)
    total = sum(read.size_bytes for read in reads)
    free = count
    for position, (readers_max, alike) in enumerate(sorted(by_readers.items())):
        size_bytes = sum(read.size_bytes for read in alike)
        later = len(by_readers) - position - 1
        cut = free if later == 0 else min(free - later, max(1, round(count * size_bytes / total)))
        free -= cut
        datasets = len(frozenset().union(*(read.read.readers for read in alike)))
        groups_max = max(1, size_bytes // (_FILE_BYTES_MIN * max(1, datasets)))
        groups = min(-(-cut // readers_max), groups_max)
        yield from _divide(
            alike, [cut // groups + (n < cut % groups) for n in range(groups)], readers_max
        )


def _divide(
    reads: Sequence[_Read], shares: Sequence[int], readers_max: int
) -> Iterator[tuple[Sequence[_Read], int]]:
    """Cut reads into consecutive groups in proportion to their tasks."""
    total = sum(read.size_bytes for read in reads)
    group: list[_Read] = []
    taken = goal = 0.0
    remaining = list(shares)
    goal = total * remaining[0] / sum(shares)
    for read in reads:
        if group and len(remaining) > 1 and taken + read.size_bytes / 2 > goal:
            yield group, min(remaining.pop(0), readers_max)
            group = []
            goal += total * remaining[0] / sum(shares)
        group.append(read)
        taken += read.size_bytes
    yield group, min(remaining[0], readers_max)


def _group_tasks(
    group: Sequence[_Read], count: int, specs: Mapping[str, SegmentSpec]
) -> Iterator[Task]:
    """Spread the datasets of a group of babies over at most `count` tasks."""
    total = sum(read.size_bytes for read in group)
    bins = _bin(_items(group, total / count), count) or [[]]
    owners: dict[BabyId, int] = {}
    for index, items in enumerate(bins):
        for item in items:
            for baby_id in item.reads:
                owners.setdefault(baby_id, index)
    for read in group:
        # A baby without readers is read once too: its records have to be quarantined.
        owners.setdefault(read.baby_id, 0)
    for index, items in enumerate(bins):
        yield _task(group, specs, items, owners, index)


def _items(group: Iterable[_Read], fair_bytes: float) -> list[_Item]:
    weights: dict[str, list[tuple[BabyId, float]]] = {}
    for read in group:
        baby, readers = read.read.baby, read.read.readers
        weight = baby.size_bytes / max(1, len(baby.dataset_ids) or len(readers))
        for dataset_id in sorted(readers):
            weights.setdefault(dataset_id, []).append((read.baby_id, weight))
    return [item for d, babies in weights.items() for item in _pieces(d, babies, fair_bytes)]


def _pieces(
    dataset_id: str, reads: Sequence[tuple[BabyId, float]], fair_bytes: float
) -> Iterator[_Item]:
    total = sum(weight for _, weight in reads)
    count = max(1, round(total / fair_bytes)) if total > _OVERSIZE * fair_bytes else 1
    item = _Item(dataset_id)
    for baby_id, weight in reads:
        if item.reads and item.weight + weight / 2 > total / count:
            yield item
            item = _Item(dataset_id)
        item.reads.append(baby_id)
        item.weight += weight
    yield item


def _bin(items: Sequence[_Item], count: int) -> list[list[_Item]]:
    """Distribute the largest items first, each to the lightest bin."""
    bins: list[list[_Item]] = [[] for _ in range(count)]
    heap = [(0.0, index) for index in range(count)]
    for item in sorted(items, key=lambda i: (-i.weight, i.dataset_id)):
        weight, index = heapq.heappop(heap)
        bins[index].append(item)
        heapq.heappush(heap, (weight + item.weight, index))
    return [items for items in bins if items]


def _task(
    group: Sequence[_Read],
    specs: Mapping[str, SegmentSpec],
    items: Sequence[_Item],
    owners: Mapping[BabyId, int],
    index: int,
) -> Task:
    baby_ids = {baby_id for item in items for baby_id in item.reads}
    baby_ids |= {baby_id for baby_id, owner in owners.items() if owner == index}
    reads = sorted((r for r in group if r.baby_id in baby_ids), key=lambda read: read.baby_id)
    streams = {read.stream.stream_id: read.stream for read in reads}
    return Task(
        works=tuple(_works(items, specs)),
        reads=tuple(
            TaskRead(
                *r.baby_id,
                owners[r.baby_id] == index,
                r.read.baby.dataset_ids,
                r.read.baby.is_empty,
            )
            for r in reads
        ),
        routes=tuple(Routes(s.stream_id, s.entry_bases(), s.periods) for s in streams.values()),
    )


def _works(items: Sequence[_Item], specs: Mapping[str, SegmentSpec]) -> Iterator[DatasetWork]:
    """The works of a task's items; pieces of one dataset are joined."""
    offsets: dict[str, dict[str, list[int]]] = {}
    for item in items:
        by_stream = offsets.setdefault(item.dataset_id, {})
        for stream_id, offset in item.reads:
            by_stream.setdefault(stream_id, []).append(offset)
    for dataset_id, by_stream in sorted(offsets.items()):
        spans = (span for s, numbers in sorted(by_stream.items()) for span in spans_of(s, numbers))
        yield DatasetWork(dataset_id, specs.get(dataset_id, SegmentSpec()), tuple(spans))
