"""Plans one cycle: the baby segments to merge, and the tasks that read them. Pure.

Oldest baby segments first, over all streams, up to the limits; whole streams are merged up to an
offset, so that every dataset's offsets stay contiguous.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nursery.streams import BabyRead, IngestStream
from nursery.tasks import StreamReads, Task, bin_tasks
from segments.offsets import OffsetSpan
from segments.parquet.schema import SegmentSpec

# A dataset without records moves its offset after this many baby segments, of any age.
_ADVANCE_SPAN = 512
# Bounds the tasks that read one baby segment: each fetches it from the store.
READERS_MAX = 8


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one cycle. `tasks_max` is what the cluster runs at once."""

    bytes_max: int
    babies_max: int
    tasks_max: int = 2
    wait_secs: float = 0.0
    bytes_min: int = 1
    idle_advance_secs: float = 0.0


@dataclass(frozen=True, slots=True)
class MergedSpan:
    """The offsets that one (stream, dataset) entry merges; `end_time`: commit of the last baby."""

    offsets: OffsetSpan
    end_time: int = 0


@dataclass(frozen=True, slots=True)
class DatasetMove:
    """One registration: a dataset's spans of one batch."""

    dataset_id: str
    spans: tuple[MergedSpan, ...]


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """Streams that are merged together: moves that need records, and the tasks that read them."""

    moves: tuple[DatasetMove, ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One cycle's work. `advances` move offsets over babies that hold nothing for the dataset.

    `is_cut`: a limit was reached, so more work is due already.
    """

    batches: tuple[StreamBatch, ...] = ()
    advances: tuple[DatasetMove, ...] = ()
    is_cut: bool = False

    @property
    def num_babies(self) -> int:
        """Baby segments in the plan."""
        return len(
            {(r.stream_id, r.offset) for b in self.batches for t in b.tasks for r in t.reads}
        )


@dataclass(slots=True)
class _Chosen:
    """The babies of one stream that the cycle merges."""

    stream: IngestStream
    reads: list[BabyRead] = field(default_factory=list)
    end: int = -1
    is_cut: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(read.baby.size_bytes for read in self.reads)

    def holding(self) -> frozenset[str]:
        """The datasets that the babies are read for."""
        return frozenset().union(*(read.readers for read in self.reads))


def plan(
    streams: Sequence[IngestStream],
    specs: Mapping[str, SegmentSpec],
    limits: Limits,
    now_nanos: int,
    blocked: Mapping[str, int] | None = None,
) -> Plan:
    """Plan one cycle. `blocked` maps streams to an offset that cannot be read now."""
    chosen = _choose(streams, limits, now_nanos, blocked or {})
    groups = _groups(chosen, limits)
    batches = tuple(b for group in groups if (b := _batch(group, specs, limits)) is not None)
    is_cut = any(share.is_cut for share in chosen)
    return Plan(batches, _advances(chosen, limits, now_nanos), is_cut)


def _choose(
    streams: Sequence[IngestStream], limits: Limits, now_nanos: int, blocked: Mapping[str, int]
) -> list[_Chosen]:
    """Choose babies, oldest first, until a limit is reached."""
    queues: list[tuple[int, str, int]] = []
    needed: dict[str, list[BabyRead]] = {}
    chosen: dict[str, _Chosen] = {}
    for stream in streams:
        stop = blocked.get(stream.stream_id, stream.committed_offset + 1)
        known = [baby for baby in stream.unmerged() if baby.offset < stop]
        if not known:
            continue
        reads = [BabyRead(b, readers) for b in known if (readers := stream.readers(b)) is not None]
        chosen[stream.stream_id] = _Chosen(stream, end=known[-1].offset)
        needed[stream.stream_id] = reads
        if reads and not _is_due(stream, reads, limits, now_nanos):
            chosen[stream.stream_id].end = reads[0].baby.offset - 1
        elif reads:
            queues.append((reads[0].baby.committed_at, stream.stream_id, 0))
            # Meta lists a bounded number of babies; those behind them are due as well.
            chosen[stream.stream_id].is_cut = known[-1].offset + 1 < min(
                stop, stream.committed_offset + 1
            )
    heapq.heapify(queues)
    bytes_left, babies_left = limits.bytes_max, limits.babies_max
    is_first = True
    while queues:
        _, stream_id, index = heapq.heappop(queues)
        share, needs = chosen[stream_id], needed[stream_id]
        baby = needs[index].baby
        # One baby is always taken, so that one above the limit cannot block the plan.
        if not is_first and (bytes_left < baby.size_bytes or babies_left < 1):
            share.end = baby.offset - 1
            share.is_cut = True
            continue
        is_first = False
        share.reads.append(needs[index])
        bytes_left -= baby.size_bytes
        babies_left -= 1
        if index + 1 < len(needs):
            heapq.heappush(queues, (needs[index + 1].baby.committed_at, stream_id, index + 1))
    return list(chosen.values())


def _is_due(
    stream: IngestStream, reads: Sequence[BabyRead], limits: Limits, now_nanos: int
) -> bool:
    age_secs = (now_nanos - reads[0].baby.committed_at) / 1e9
    size_bytes = sum(read.baby.size_bytes for read in reads)
    return stream.is_stopped or age_secs >= limits.wait_secs or size_bytes >= limits.bytes_min


def _groups(chosen: Sequence[_Chosen], limits: Limits) -> list[list[_Chosen]]:
    """Split streams so that at most READERS_MAX tasks read a baby."""
    count = -(-limits.tasks_max // READERS_MAX)
    groups: list[list[_Chosen]] = [[] for _ in range(count)]
    heap = [(0, index) for index in range(count)]
    for share in sorted(chosen, key=lambda c: -c.size_bytes):
        if share.reads:
            size_bytes, index = heapq.heappop(heap)
            groups[index].append(share)
            heapq.heappush(heap, (size_bytes + share.size_bytes, index))
    return [group for group in groups if group]


def _batch(
    group: Sequence[_Chosen], specs: Mapping[str, SegmentSpec], limits: Limits
) -> StreamBatch | None:
    spans: dict[str, list[MergedSpan]] = {}
    for share in group:
        for dataset_id in sorted(share.holding()):
            spans.setdefault(dataset_id, []).append(_span(share, dataset_id))
    shares = [StreamReads(share.stream, tuple(share.reads)) for share in group]
    tasks = bin_tasks(shares, specs, min(READERS_MAX, limits.tasks_max))
    moves = tuple(DatasetMove(dataset_id, tuple(own)) for dataset_id, own in sorted(spans.items()))
    return StreamBatch(moves, tasks) if tasks else None


def _span(share: _Chosen, dataset_id: str) -> MergedSpan:
    times = {baby.offset: baby.committed_at for baby in share.stream.babies}
    stream = share.stream
    span = OffsetSpan(stream.stream_id, stream.merged[dataset_id] + 1, share.end)
    return MergedSpan(span, times.get(share.end, 0))


def _advances(chosen: Sequence[_Chosen], limits: Limits, now_nanos: int) -> tuple[DatasetMove, ...]:
    """Moves of entries without records up to their stream's end, made from time to time."""
    spans: dict[str, list[MergedSpan]] = {}
    for share in chosen:
        holding = share.holding()
        for dataset_id, merged in share.stream.mergeable().items():
            if dataset_id in holding or merged >= share.end:
                continue
            if _is_overdue(share, merged, limits, now_nanos):
                spans.setdefault(dataset_id, []).append(_span(share, dataset_id))
    return tuple(DatasetMove(dataset_id, tuple(own)) for dataset_id, own in sorted(spans.items()))


def _is_overdue(share: _Chosen, merged: int, limits: Limits, now_nanos: int) -> bool:
    if share.stream.is_stopped or share.end - merged >= _ADVANCE_SPAN:
        return True
    oldest = min((b.committed_at for b in share.stream.babies if b.offset > merged), default=0)
    return (now_nanos - oldest) / 1e9 >= limits.idle_advance_secs
