"""Plans one cycle: the baby segments to merge, the tasks that read them, the moves. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nursery.planning.pending import Limits, due_datasets, pending_streams
from nursery.planning.selection import StreamShare, choose
from nursery.planning.streams import IngestStream
from nursery.planning.tasks import StreamReads, Task, plan_tasks
from segments.offsets import OffsetSpan
from segments.parquet.spec import SegmentSpec

# Streams of one registration, as meta allows it.
SPANS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class MergedSpan:
    """The offsets that one (stream, dataset) entry merges; `end_time`: commit of the last baby."""

    offsets: OffsetSpan
    end_time: int = 0


@dataclass(frozen=True, slots=True)
class DatasetMove:
    """One registration: a dataset's spans, once the tasks of these indexes have succeeded.

    Without tasks there are no records in the spans.
    """

    dataset_id: str
    spans: tuple[MergedSpan, ...]
    tasks: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Plan:
    """One cycle's work. `is_cut`: a limit was reached, so more work is due already.

    `is_whole`: it merges everything that waits, nothing of it because of its size, so that nothing
    is due before the age of what comes later.
    """

    tasks: tuple[Task, ...] = ()
    moves: tuple[DatasetMove, ...] = ()
    is_cut: bool = False
    is_whole: bool = False

    @property
    def num_babies(self) -> int:
        """Baby segments in the plan."""
        return len({(r.stream_id, r.offset) for task in self.tasks for r in task.reads})

    @property
    def dataset_ids(self) -> set[str]:
        """Datasets whose records its tasks read."""
        return {work.dataset_id for task in self.tasks for work in task.works}


def plan(
    streams: Sequence[IngestStream],
    specs: Mapping[str, SegmentSpec],
    limits: Limits,
    now_nanos: int,
    blocked: Mapping[str, int] | None = None,
) -> Plan:
    """Plan one cycle. `blocked` maps streams to an offset that cannot be read now."""
    pending = pending_streams(streams, blocked or {})
    due = due_datasets(pending, limits, now_nanos)
    once = frozenset(d for d, spec in specs.items() if spec.deduplication is not None)
    shares = choose(pending, due.dataset_ids, limits, now_nanos, once)
    reads = [StreamReads(share.stream, tuple(share.reads)) for share in shares if share.reads]
    tasks = plan_tasks(reads, specs, limits.tasks_max)
    is_cut = any(
        share.is_cut or (bool(share.reads) and stream.is_truncated)
        for share, stream in zip(shares, pending, strict=True)
    )
    moves = _moves(shares, tasks, limits, now_nanos)
    is_partial = any(stream.is_truncated for stream in pending) or any(s.waiting for s in streams)
    is_whole = due.is_all and not (due.is_large or is_cut or is_partial or blocked)
    return Plan(tasks, moves, is_cut, is_whole)


def _moves(
    shares: Sequence[StreamShare], tasks: Sequence[Task], limits: Limits, now_nanos: int
) -> tuple[DatasetMove, ...]:
    spans: dict[str, list[tuple[MergedSpan, bool]]] = {}
    needed: dict[str, set[int]] = {}
    for index, task in enumerate(tasks):
        for work in task.works:
            needed.setdefault(work.dataset_id, set()).add(index)
    owners = {
        (read.stream_id, read.offset): index
        for index, task in enumerate(tasks)
        for read in task.reads
        if read.is_owner
    }
    for share in shares:
        times = {baby.offset: baby.committed_at for baby in share.stream.babies}
        strays = [read.baby.offset for read in share.reads if not read.readers]
        holding = frozenset[str]().union(*(read.readers for read in share.reads))
        for dataset_id, end in share.ends(limits, now_nanos).items():
            first = share.stream.merged[dataset_id] + 1
            offsets = OffsetSpan(share.stream.stream_id, first, end)
            # A baby without readers is reaped once all datasets have passed it.
            passed = [offset for offset in strays if first <= offset <= end]
            needed.setdefault(dataset_id, set()).update(
                owners[share.stream.stream_id, offset] for offset in passed
            )
            span = MergedSpan(offsets, times.get(end, 0))
            is_read = dataset_id in holding or bool(passed)
            spans.setdefault(dataset_id, []).append((span, is_read))
    return tuple(
        move
        for dataset_id, dataset_spans in sorted(spans.items())
        for move in _moves_of(dataset_id, dataset_spans, frozenset(needed[dataset_id]))
    )


def _moves_of(
    dataset_id: str, spans: Sequence[tuple[MergedSpan, bool]], tasks: frozenset[int]
) -> Iterator[DatasetMove]:
    """One move, or several if more streams than one may have follow without records."""
    if len(spans) <= SPANS_MAX:
        yield DatasetMove(dataset_id, tuple(span for span, _ in spans), tasks)
        return
    read = [span for span, is_read in spans if is_read]
    idle = [span for span, is_read in spans if not is_read]
    if read:
        yield DatasetMove(dataset_id, tuple(read), tasks)
    for start in range(0, len(idle), SPANS_MAX):
        yield DatasetMove(dataset_id, tuple(idle[start : start + SPANS_MAX]))
