"""Tasks of one batch: datasets binned by bytes, and the baby segments each task reads. Pure.

A dataset that is too large for one task is split by baby segments.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nursery.streams import BabyRead, IngestStream, Period
from segments.offsets import OffsetSpan, spans_of
from segments.parquet.schema import SegmentSpec

# Below this a second task costs more than it saves.
TASK_BYTES_MIN = 1024 * 1024
# A dataset this much above a task's fair share is split.
_OVERSIZE = 1.25


@dataclass(frozen=True, slots=True)
class StreamReads:
    """The baby segments of one stream that a batch reads, lowest offset first."""

    stream: IngestStream
    reads: tuple[BabyRead, ...]


@dataclass(frozen=True, slots=True)
class DatasetWork:
    """A dataset and the offsets whose records one task writes."""

    dataset_id: str
    spec: SegmentSpec
    ranges: tuple[OffsetSpan, ...]


@dataclass(frozen=True, slots=True)
class TaskRead:
    """One baby segment to read. Its owner quarantines the records that have no dataset.

    `dataset_ids` is what its commit announced; empty = it may hold records of any dataset.
    """

    stream_id: str
    offset: int
    is_owner: bool
    dataset_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Routes:
    """The routing of one stream's records.

    A stamp is valid if it names a dataset of `merged`, the merged offset of each entry; `periods`
    route babies without stamps.
    """

    stream_id: str
    merged: Mapping[str, int]
    periods: tuple[Period, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """The input and output of one Spark task."""

    works: tuple[DatasetWork, ...]
    reads: tuple[TaskRead, ...]
    routes: tuple[Routes, ...]


@dataclass(slots=True)
class _Item:
    """A dataset, or a piece of one."""

    dataset_id: str
    weight: float = 0.0
    reads: list[tuple[str, int]] = field(default_factory=list)


def bin_tasks(
    shares: Sequence[StreamReads], specs: Mapping[str, SegmentSpec], tasks_max: int
) -> tuple[Task, ...]:
    """Spread the datasets of a batch over at most `tasks_max` tasks of about equal bytes."""
    total = sum(read.baby.size_bytes for share in shares for read in share.reads)
    num_tasks = max(1, min(tasks_max, -(-total // TASK_BYTES_MIN)))
    bins = _bin(_items(shares, total / num_tasks), num_tasks)
    if not bins:
        bins = [[]]
    owners: dict[tuple[str, int], int] = {}
    for index, items in enumerate(bins):
        for item in items:
            for read in item.reads:
                owners.setdefault(read, index)
    # A baby without readers is read once too: its records may have to be quarantined.
    all_reads = {(s.stream.stream_id, n.baby.offset) for s in shares for n in s.reads}
    unread = all_reads - owners.keys()
    owners.update(dict.fromkeys(unread, 0))
    return tuple(_task(shares, specs, items, owners, index) for index, items in enumerate(bins))


def _items(shares: Sequence[StreamReads], fair_bytes: float) -> list[_Item]:
    weights: dict[str, list[tuple[tuple[str, int], float]]] = {}
    for share in shares:
        for read in share.reads:
            baby = read.baby
            weight = baby.size_bytes / max(1, len(baby.dataset_ids) or len(read.readers))
            baby_id = (share.stream.stream_id, baby.offset)
            for dataset_id in sorted(read.readers):
                weights.setdefault(dataset_id, []).append((baby_id, weight))
    return [item for d, reads in weights.items() for item in _pieces(d, reads, fair_bytes)]


def _pieces(
    dataset_id: str, reads: Sequence[tuple[tuple[str, int], float]], fair_bytes: float
) -> Iterator[_Item]:
    total = sum(weight for _, weight in reads)
    count = max(1, round(total / fair_bytes)) if total > _OVERSIZE * fair_bytes else 1
    item = _Item(dataset_id)
    for read, weight in reads:
        if item.reads and item.weight + weight / 2 > total / count:
            yield item
            item = _Item(dataset_id)
        item.reads.append(read)
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
    shares: Sequence[StreamReads],
    specs: Mapping[str, SegmentSpec],
    items: Sequence[_Item],
    owners: Mapping[tuple[str, int], int],
    index: int,
) -> Task:
    baby_ids = {read for item in items for read in item.reads}
    baby_ids |= {read for read, owner in owners.items() if owner == index}
    streams = {stream_id for stream_id, _ in baby_ids}
    announced = {
        (s.stream.stream_id, n.baby.offset): n.baby.dataset_ids for s in shares for n in s.reads
    }
    return Task(
        works=tuple(_work(dataset_id, items, specs) for dataset_id in _dataset_ids(items)),
        reads=tuple(
            TaskRead(*read, owners[read] == index, announced[read]) for read in sorted(baby_ids)
        ),
        routes=tuple(
            Routes(s.stream.stream_id, s.stream.merged, s.stream.periods)
            for s in shares
            if s.stream.stream_id in streams
        ),
    )


def _dataset_ids(items: Sequence[_Item]) -> list[str]:
    return sorted({item.dataset_id for item in items})


def _work(dataset_id: str, items: Sequence[_Item], specs: Mapping[str, SegmentSpec]) -> DatasetWork:
    """Join the pieces of one dataset that are in one task."""
    offsets: dict[str, list[int]] = {}
    for item in items:
        if item.dataset_id == dataset_id:
            for stream_id, offset in item.reads:
                offsets.setdefault(stream_id, []).append(offset)
    spans = (span for s, own in sorted(offsets.items()) for span in spans_of(s, own))
    return DatasetWork(dataset_id, specs.get(dataset_id, SegmentSpec()), tuple(spans))
