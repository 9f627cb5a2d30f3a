"""Brings back merged segments that a restored database does not know and whose babies are missing.

A pass reads the lineage of unknown segments, and looks which of those babies are in live segments
or still in the bucket. Everything that has to come back is registered in one transaction. Segments
whose records are held elsewhere are declared garbage, if they are older than the restore.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.catalog import datasets as rows_of_datasets
from meta.store.recovery import lost_segments, unknown_streams
from meta.store.recovery.lost_segments import Returned, ReturnedStream
from meta.store.recovery.rebuild import RestoredSegment
from meta.store.segments import object_keys
from meta.store.versions import clock
from segments.errors import CorruptObject, ObjectMissing
from segments.inventory.contents import SegmentFound, find_segment, read_babies
from segments.inventory.listing import batches
from segments.inventory.streams import BabyFound
from segments.rebuild.lost import LostChoice, choose_lost
from segments.store.interface import ObjectStore
from segplane.recovery.rebuild import segment_row
from segplane.recovery.returned_streams import Planned, TailOf, streams_of
from segplane.recovery.unknown_babies import UnknownTail
from segplane.recovery.unknown_objects import KEYS_AT_ONCE, find_segments

# The store's times of objects are whole seconds, and its clock may have been set since.
_SKEW_NANOS = 2 * 10**9
_UNREADABLE = "unreadable"
_UNDESCRIBED = "its footer does not say what it was made of"


@dataclass(frozen=True, slots=True)
class UnclaimedKeys:
    """A dataset that is deduplicated by a column, or had so if the setting is not there."""

    dataset_id: str
    dataset_name: str
    column: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class SegmentsOutcome:
    """Keys of segments that came back, took another's place, are garbage, or are left.

    `left` are reasons by key. `hidden` were hidden or replaced after the backup, as markers in the
    bucket say.
    """

    returned: tuple[str, ...] = ()
    records: int = 0
    replaced: tuple[str, ...] = ()
    garbage: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    # Streams whose records segments that are left hold; None if that is not known of one.
    left_streams: tuple[str, ...] | None = ()
    new_dataset_ids: tuple[str, ...] = ()
    # The unknown streams that came back with segments.
    streams: Mapping[str, UnknownTail] = field(default_factory=dict)
    # Datasets that have, or had, deduplication, without the deduplication keys of what came back.
    unclaimed: tuple[UnclaimedKeys, ...] = ()


def return_segments(
    transactions: Transactions,
    store: ObjectStore,
    tail_of: TailOf,
    *,
    is_dry_run: bool,
    progress: Callable[[str], None],
) -> SegmentsOutcome:
    """Bring lost segments back. Raises MetaError (RaceLost: run it again), StoreError."""
    by_dataset, hidden = find_segments(transactions, store)
    remaining: dict[str, str] = {}
    datasets: list[Planned] = []
    for dataset_id, keys in sorted(by_dataset.items()):
        progress(f"dataset {dataset_id}: {len(keys)} segments are not known")
        planned = _plan(transactions, store, dataset_id, keys, remaining)
        if planned is not None:
            datasets.append(planned)
    datasets = _without_doubtful(datasets)
    remaining.update({f.key: d.choice.reason for d in datasets if d.choice.reason for f in d.lost})
    kept = [d for d in datasets if not d.choice.reason]
    returning = [d for d in kept if d.choice.chosen]
    streams, refused = streams_of(transactions, store, returning, tail_of)
    if refused:
        remaining.update({s.key: refused for d in returning for s in d.choice.chosen})
        returning = []
    new = _new_datasets(transactions, returning)
    returned = _returned(returning, streams)
    garbage = _garbage(transactions, store, kept, remaining)
    if not is_dry_run:
        for dataset_id in new:
            transactions.write(partial(lost_segments.add_dataset, dataset_id=dataset_id))
        if returned.segments:
            transactions.write(lambda tx: lost_segments.bring_back(tx, returned))
        for batch in batches(garbage, KEYS_AT_ONCE):
            transactions.write(partial(object_keys.condemn, keys=batch))
    return SegmentsOutcome(
        tuple(segment.new.object_key for segment in returned.segments),
        sum(segment.new.number_of_events for segment in returned.segments),
        tuple(k for d in returning for k, i in d.live_ids.items() if i in returned.replaced_ids),
        tuple(garbage),
        tuple(hidden),
        remaining,
        _left_streams(datasets, remaining),
        new,
        {str(s.id): tail_of(str(s.id)) for s in returned.streams if s.before is None},
        tuple(filter(None, (_unclaimed(transactions, d) for d in returning))),
    )


def _new_datasets(transactions: Transactions, returning: Iterable[Planned]) -> tuple[str, ...]:
    def is_new(dataset_id: str) -> bool:
        is_known = partial(lost_segments.is_known_dataset, dataset_id=dataset_id)
        return not transactions.read(is_known)

    return tuple(d.dataset_id for d in returning if is_new(d.dataset_id))


def _left_streams(
    datasets: Iterable[Planned], remaining: Mapping[str, str]
) -> tuple[str, ...] | None:
    if any(r.startswith((_UNREADABLE, _UNDESCRIBED)) for r in remaining.values()):
        return None
    lost = (segment for dataset in datasets for segment in dataset.lost)
    ranges = (s.footer.ranges for s in lost if s.key in remaining)
    return tuple(sorted({span.stream_id for spans in ranges for span in spans}))


def _plan(
    transactions: Transactions,
    store: ObjectStore,
    dataset_id: str,
    keys: Sequence[str],
    remaining: dict[str, str],
) -> Planned | None:
    lost: list[SegmentFound] = []
    for key in keys:
        try:
            segment = find_segment(store, store.head(key))
        except (CorruptObject, ObjectMissing) as error:
            remaining[key] = f"{_UNREADABLE}: {error}"
            continue
        if segment.footer.dataset_id != dataset_id or not segment.footer.batches:
            remaining[key] = _UNDESCRIBED
        elif not segment.footer.ranges:
            remaining[key] = "it holds a payload of the quarantine: replay it again"
        else:
            lost.append(segment)
    # Read before the segments: babies merged in between count as not merged, and are left.
    ids = sorted({span.stream_id for segment in lost for span in segment.footer.ranges})
    states = transactions.read(lambda tx: lost_segments.read_states(tx, ids))
    # A dataset without an entry merges nothing that was reaped.
    merged = {s: state.merged.get(dataset_id, state.deleted) for s, state in states.items()}
    rows = transactions.read(lambda tx: lost_segments.live_keys(tx, dataset_id))
    if rows is None:
        remaining.update({segment.key: "its dataset is deleted" for segment in lost})
        return None
    live: list[SegmentFound] = []
    missing: dict[UUID, Sequence[tuple[str, int, int]]] = {}
    for row in rows:
        try:
            live.append(find_segment(store, store.head(row.object_key)))
        except ObjectMissing:
            spans_of = partial(lost_segments.spans_of, segment_id=row.id)
            missing[row.id] = transactions.read(spans_of)
        except CorruptObject as error:
            choice = LostChoice(reason=f"{row.object_key}: {error}")
            return Planned(dataset_id, tuple(lost), choice, (), {}, {}, {})
    present = _present(store, lost)
    gaps: dict[str, list[tuple[int, int]]] = {}
    for stream_id, first, last in (span for spans in missing.values() for span in spans):
        gaps.setdefault(stream_id, []).append((first, last))
    choice = choose_lost(dataset_id, live, lost, present, merged, gaps)
    live_ids = {row.object_key: row.id for row in rows}
    return Planned(dataset_id, tuple(lost), choice, tuple(live), live_ids, missing, gaps)


def _present(store: ObjectStore, lost: Sequence[SegmentFound]) -> dict[str, dict[int, BabyFound]]:
    """The babies with records that are there, among those that unknown segments are of.

    One without records, in a place whose records a segment holds, was put by a collector since the
    restore, in the place of a baby that was deleted.
    """
    bounds: dict[str, tuple[int, int]] = {}
    for span in (span for segment in lost for span in segment.footer.ranges):
        low, high = bounds.get(span.stream_id, (span.start, span.end))
        bounds[span.stream_id] = min(low, span.start), max(high, span.end)
    present: dict[str, dict[int, BabyFound]] = {}
    for stream_id, (low, high) in bounds.items():
        present[stream_id] = {
            baby.offset: baby
            for baby, _ in read_babies(store, stream_id, low, high)
            if baby.num_records
        }
    return present


def _without_doubtful(datasets: Sequence[Planned]) -> list[Planned]:
    """Choose nothing that shares a stream with a choice that cannot be made.

    A baby holds records of several datasets, and comes back with all of them or not at all.
    """
    kept = list(datasets)
    while True:
        doubtful = {
            span.stream_id
            for d in kept
            if d.choice.reason
            for segment in d.lost
            for span in segment.footer.ranges
        }
        connected = [not d.choice.reason and not doubtful.isdisjoint(d.choice.ends) for d in kept]
        if not any(connected):
            return kept
        choice = LostChoice(reason="a stream of it cannot be reconciled in another dataset")
        kept = [replace(d, choice=choice) if c else d for d, c in zip(kept, connected, strict=True)]


def _restored_at(transactions: Transactions, store: ObjectStore) -> int | None:
    """The time of the restore on the store's clock, rather too early; None = never."""
    restored_at = transactions.read(unknown_streams.restored_at_nanos)
    now = store.now_nanos()
    ahead = now - transactions.read(clock.now_nanos)
    return None if restored_at is None else restored_at + ahead


def _garbage(
    transactions: Transactions,
    store: ObjectStore,
    datasets: Iterable[Planned],
    remaining: dict[str, str],
) -> list[str]:
    """The unknown segments whose records are held elsewhere, and that nobody is about to register.

    Segments that neither come back nor are held elsewhere are left.
    """
    restored_at = _restored_at(transactions, store)
    garbage: list[str] = []
    for dataset in datasets:
        chosen = {segment.key for segment in dataset.choice.chosen}
        for segment in dataset.lost:
            if segment.key in chosen or segment.key in remaining:
                continue
            if segment.key not in dataset.choice.held:
                remaining[segment.key] = "some of its babies are gone, and others were merged again"
            elif restored_at and segment.modified_at_nanos < restored_at - _SKEW_NANOS:
                garbage.append(segment.key)
    return garbage


def _returned(returning: Sequence[Planned], streams: Sequence[ReturnedStream]) -> Returned:
    rows: list[RestoredSegment] = []
    links: list[tuple[UUID, str]] = []
    for dataset in returning:
        for segment in dataset.choice.chosen:
            rows.append(segment_row(segment))
            links += [(old, segment.key) for old in _replaced_by(dataset, segment)]
    replaced = {old for old, _ in links}
    missing = {segment_id for dataset in returning for segment_id in dataset.missing}
    return Returned(
        tuple(rows),
        tuple(streams),
        tuple(sorted(replaced)),
        tuple(links),
        tuple(sorted(replaced & missing)),
    )


def _replaced_by(dataset: Planned, segment: SegmentFound) -> Iterator[UUID]:
    """The live segments that were merged into a returned one."""
    batches = {(batch.batch_id, batch.part) for batch in segment.footer.batches}
    for other in dataset.live:
        replaced = {(batch.batch_id, batch.part) for batch in other.footer.batches}
        if other.key in dataset.choice.replaced_keys and not replaced.isdisjoint(batches):
            yield dataset.live_ids[other.key]
    for segment_id, spans in dataset.missing.items():
        if any(
            span.stream_id == stream_id and span.start <= last and first <= span.end
            for stream_id, first, last in spans
            for span in segment.footer.ranges
        ):
            yield segment_id


def _unclaimed(transactions: Transactions, planned: Planned) -> UnclaimedKeys | None:
    id_, footers = planned.dataset_id, (segment.footer for segment in planned.choice.chosen)
    column = next((f.deduplication for f in footers if f.deduplication), "")
    dataset = transactions.read(lambda tx: rows_of_datasets.find_either(tx, UUID(id_)))
    if dataset is not None and dataset.deduplication_column:
        return UnclaimedKeys(id_, dataset.name, dataset.deduplication_column, is_set=True)
    name = f"reconciled-{id_}" if dataset is None else dataset.name
    return UnclaimedKeys(id_, name, column, is_set=False) if column else None
