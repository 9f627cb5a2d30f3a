"""Snapshot of meta's streams, as the planner needs it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from dataplane.babies.reads import Period, period_of
from dataplane.dataset_layout import read_layouts
from meta.v1 import nursery_pb2
from nursery.planning.pending import patience
from nursery.planning.streams import BabyFacts, IngestStream
from segments.parquet.spec import SegmentSpec


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream: the planner's input, and its end."""

    stream: IngestStream
    deleted_offset: int
    reapable_offset: int
    stopped_offset: int | None
    last_activity: int
    # False if no dataset of its babies is known: they go to the quarantine.
    has_entries: bool = True
    # After a restore of the database: nothing but a reconciliation ends it.
    awaits_reconcile: bool = False
    # First and last offsets of baby segments that backups keep; ascending and disjoint.
    kept_ranges: tuple[tuple[int, int], ...] = ()

    @property
    def stream_id(self) -> str:
        """Its id."""
        return self.stream.stream_id

    @property
    def backlog(self) -> int:
        """Babies that a dataset has yet to merge or to pass."""
        merged = self.stream.merged.values()
        return self.stream.committed_offset - min(merged) if merged else 0

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is committed to it."""
        return self.stopped_offset is not None


@dataclass(frozen=True, slots=True)
class StreamSnapshot:
    """One poll's answer.

    `specs` and `waiting` are of datasets with something to merge: their layouts, and why they
    cannot be merged now.
    """

    streams: tuple[StreamInfo, ...]
    specs: Mapping[str, SegmentSpec]
    waiting: Mapping[str, str]
    # How many times as much gathers for a dataset whose merges are behind.
    patience: Mapping[str, float] = field(default_factory=dict)

    @property
    def backlog(self) -> int:
        """Babies that a dataset has yet to merge or to pass, over all streams."""
        return sum(info.backlog for info in self.streams)

    def lag_secs(self, now_nanos: int) -> float:
        """Seconds that the oldest baby has waited by now."""
        waits = (info.stream.oldest_wait() for info in self.streams)
        oldest = min((wait for wait in waits if wait is not None), default=now_nanos)
        return max(0, now_nanos - oldest) / 1e9


def read_snapshot(
    reply: nursery_pb2.GetIngestStreamsResponse,
    withheld: Collection[str] = (),
) -> StreamSnapshot:
    """Convert a reply; its content for `withheld` datasets is not enough to merge them."""
    layouts = read_layouts(reply.datasets)
    specs, held_back = layouts.specs, frozenset(withheld)
    periods: dict[str, list[Period]] = defaultdict(list)
    for period in reply.routing_history:
        periods[period.stream_id].append(period_of(period))

    def is_mergeable(dataset_id: str) -> bool:
        return dataset_id in specs and dataset_id not in held_back

    return StreamSnapshot(
        streams=tuple(
            _stream(info, tuple(periods[info.stream_id]), is_mergeable) for info in reply.streams
        ),
        specs=specs,
        waiting=layouts.waiting,
        patience={
            debt.dataset_id: patience(debt.segments, debt.bound) for debt in reply.merge_debts
        },
    )


def _stream(
    info: nursery_pb2.IngestStreamInfo,
    periods: tuple[Period, ...],
    is_mergeable: Callable[[str], bool],
) -> StreamInfo:
    is_stopped = info.HasField("stopped_offset")
    merged = {entry.dataset_id: entry.merged_offset for entry in info.datasets}
    if info.merged_entries_omitted:
        # Entries that are not listed have merged everything. A foreign stamp has none.
        stamps = {stamp for baby in info.unmerged_babies for stamp in baby.dataset_ids}
        for dataset_id in stamps.difference(info.foreign_dataset_ids):
            merged.setdefault(dataset_id, info.committed_offset)
    stream = IngestStream(
        stream_id=info.stream_id,
        committed_offset=info.committed_offset,
        merged=merged,
        babies=tuple(
            BabyFacts(
                b.offset,
                b.size_bytes,
                b.committed_at_nanos,
                frozenset(b.dataset_ids),
                # A commit without a size states nothing.
                is_empty=b.num_records == 0 < b.size_bytes,
                num_records=b.num_records,
            )
            for b in info.unmerged_babies
        ),
        is_stopped=is_stopped,
        periods=periods,
        # An entry is a live dataset's, so a layout that is not here is not here yet.
        waiting=frozenset(e.dataset_id for e in info.datasets if not is_mergeable(e.dataset_id)),
        bases={e.dataset_id: e.base_offset for e in info.datasets if e.HasField("base_offset")},
        omits_merged=info.merged_entries_omitted,
    )
    return StreamInfo(
        stream=stream,
        deleted_offset=info.deleted_offset,
        reapable_offset=info.reapable_offset,
        stopped_offset=info.stopped_offset if is_stopped else None,
        last_activity=info.last_activity_nanos,
        has_entries=bool(info.datasets) or info.merged_entries_omitted,
        awaits_reconcile=info.awaits_reconcile,
        kept_ranges=tuple((each.first_offset, each.last_offset) for each in info.kept_ranges),
    )
