"""Backlog of each stream, and the datasets that are due. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nursery.planning.streams import BabyRead, IngestStream

# Bounds how much later records of a dataset become visible while its merges are behind.
PATIENCE_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one cycle and of a due dataset. `tasks_max` is the cluster's parallelism.

    A dataset is due once its oldest unmerged baby is `wait_secs` old, or about `bytes_min` bytes or
    `records_min` records (0 = any number waits) have gathered for it. All are so many times as much
    for a dataset in `patience`, whose merges are behind.
    """

    bytes_max: int
    babies_max: int
    tasks_max: int = 2
    wait_secs: float = 0.0
    bytes_min: int = 1
    records_min: int = 0
    idle_advance_secs: float = 0.0
    patience: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingStream:
    """The unmerged babies of one stream, each with all of its readers, up to offset `end`.

    `is_truncated`: more babies are committed than meta listed.
    """

    stream: IngestStream
    reads: tuple[BabyRead, ...]
    end: int
    is_truncated: bool = False

    def dataset_ids(self) -> frozenset[str]:
        """The datasets that have records to merge."""
        return frozenset().union(*(read.readers for read in self.reads))


@dataclass(slots=True)
class _Demand:
    """Backlog of one dataset in all streams."""

    oldest: int
    size_bytes: float = 0.0
    num_records: float = 0.0


def pending_streams(
    streams: Iterable[IngestStream], blocked: Mapping[str, int]
) -> list[PendingStream]:
    """List what can be merged; `blocked` maps streams to an offset that cannot be read now."""
    pending = []
    for stream in streams:
        stop = blocked.get(stream.stream_id, stream.committed_offset + 1)
        babies = [baby for baby in stream.unmerged() if baby.offset < stop]
        if babies:
            reads = (
                BabyRead(baby, readers)
                for baby in babies
                if (readers := stream.readers(baby)) is not None
            )
            end = babies[-1].offset
            is_truncated = end + 1 < min(stop, stream.committed_offset + 1)
            pending.append(PendingStream(stream, tuple(reads), end, is_truncated))
    return pending


@dataclass(frozen=True, slots=True)
class Due:
    """The datasets that are due, whether these are all, and whether one is by its size."""

    dataset_ids: frozenset[str]
    is_all: bool
    is_large: bool


def due_datasets(pending: Sequence[PendingStream], limits: Limits, now_nanos: int) -> Due:
    """Tell which datasets are due by age, size or records, over all streams."""
    demands: dict[str, _Demand] = {}
    for stream in pending:
        for read in stream.reads:
            baby = read.baby
            # A commit names datasets, not their shares.
            sharers = max(1, len(baby.dataset_ids) or len(read.readers))
            for dataset_id in read.readers:
                demand = demands.setdefault(dataset_id, _Demand(baby.committed_at))
                demand.oldest = min(demand.oldest, baby.committed_at)
                demand.size_bytes += baby.size_bytes / sharers
                demand.num_records += baby.num_records / sharers
    old, large = set[str](), set[str]()
    for dataset_id, demand in demands.items():
        times = limits.patience.get(dataset_id, 1.0)
        if _is_old(demand, limits, times, now_nanos):
            old.add(dataset_id)
        if _is_large(demand, limits, times):
            large.add(dataset_id)
    return Due(frozenset(old | large), old | large == demands.keys(), bool(large))


def patience(segments: int, bound: int) -> float:
    """Return how many times as much gathers for a dataset with so many segments to be merged."""
    return max(1.0, min(PATIENCE_MAX, segments / bound)) if bound > 0 else 1.0


def _is_old(demand: _Demand, limits: Limits, times: float, now_nanos: int) -> bool:
    # A wait of 0 s would stay one, however many times.
    wait_secs = limits.wait_secs if times == 1.0 else max(limits.wait_secs, 1.0) * times
    return demand.oldest <= now_nanos - int(wait_secs * 1e9)


def _is_large(demand: _Demand, limits: Limits, times: float) -> bool:
    is_long = 0 < limits.records_min * times <= demand.num_records
    return demand.size_bytes >= limits.bytes_min * times or is_long
