"""Deduplication of the events of a move, between its tasks and against earlier registrations.

A registration claims the deduplication keys of its events. Of equal ones in the segments of several
tasks the lowest by stream and offset is kept before that. Events that another registration has
claimed are removed after a refusal: the segments are written again, and registered again.

All files of a batch that loses rows become files of a new batch. So a catalog that is rebuilt
from the bucket chooses between the two and prefers the newer one, which was registered. A batch
that loses all rows has no newer one, so its files are deleted: a rebuild would bring them back.
"""

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import structlog

from dataplane.babies.deduplication import hashes_of
from dataplane.babies.reads import DatasetWork
from nursery.execution.dataset_execution import PRODUCER, OpenBatch
from nursery.execution.segment_files import write_one
from nursery.parts.deduplication import claim_order, events_of, with_events
from nursery.registration.move_tracker import FinishedMove
from nursery.registration.registration import BucketOf, Registered, Registrations
from nursery.results import DatasetResult
from segments.errors import SegmentsError
from segments.location import Stores
from segments.parquet.footer import SegmentFooter, merged_footer
from segments.parquet.lineage import BatchPart
from segments.parquet.reader import read_footer, read_segment
from segments.parquet.upload import WrittenSegment
from segments.signals import Signal
from segments.store.interface import ObjectStore
from segments.store.open import open_stores

log = structlog.get_logger()
# Each is refused only if another registration claimed something since the one before.
TRIES_MAX = 5


class EventRegistrations:
    """Registers finished moves, and leaves duplicates out of those that have them once."""

    def __init__(self, registrations: Registrations, stores: Callable[[], Stores]) -> None:
        self._registrations = registrations
        self._stores = stores

    def register(self, bucket_of: BucketOf, finished: Sequence[FinishedMove]) -> list[Registered]:
        """Register moves; answers in order, as `Registrations` does."""
        ready = [self._distinct(move) for move in finished]
        moves = [move for move in ready if isinstance(move, FinishedMove)]
        answers = iter(self._registrations.register(bucket_of, moves))
        return [
            self._settled(bucket_of, move, next(answers))
            if isinstance(move, FinishedMove)
            else move
            for move in ready
        ]

    def _settled(self, bucket_of: BucketOf, move: FinishedMove, answer: Registered) -> Registered:
        """Register a move again, without what was claimed, until it is not refused for that."""
        for _ in range(TRIES_MAX):
            if not answer.claimed:
                break
            order = claim_order(move.results)
            excluded: list[set[bytes]] = [set() for _ in move.results]
            for position in answer.claimed:
                result_index, digest, _ = order[position]
                excluded[result_index].add(digest)
            remaining = self._without(move, excluded)
            if isinstance(remaining, Registered):
                return remaining
            move = remaining
            (answer,) = self._registrations.register(bucket_of, [move])
        if answer.claimed:
            # The next cycle merges the babies again.
            log.info("events_claimed", dataset_id=move.move.dataset_id, events=len(answer.claimed))
        return answer

    def _distinct(self, move: FinishedMove) -> FinishedMove | Registered:
        """Skip all but the lowest of equal keys in the segments of several tasks."""
        if len(move.results) < 2:
            return move
        lowest: dict[bytes, tuple[tuple[str, int], int]] = {}
        excluded: list[set[bytes]] = [set() for _ in move.results]
        for result_index, events in enumerate(map(events_of, move.results)):
            if events is None:
                continue
            for digest, baby in zip(events.each, events.babies, strict=True):
                mine = events.baby_ids[baby], result_index
                first = lowest.setdefault(digest, mine)
                if first != mine:
                    excluded[max(first, mine)[1]].add(digest)
                    lowest[digest] = min(first, mine)
        return self._without(move, excluded) if any(excluded) else move

    def _without(
        self, move: FinishedMove, excluded: Sequence[Collection[bytes]]
    ) -> FinishedMove | Registered:
        """Write the segments of a move without some events; the failure if that fails."""
        dataset_id, store = move.move.dataset_id, open_stores(self._stores())
        try:
            with tempfile.TemporaryDirectory(prefix="segplane-nursery-") as folder:
                results = [
                    _left(store, result, digests, Path(folder)) if digests else result
                    for result, digests in zip(move.results, excluded, strict=True)
                ]
        except SegmentsError as error:
            # The next cycle merges the babies again.
            log.warning("rewriting_failed", dataset_id=dataset_id, error=str(error))
            return Registered(failure=f"{type(error).__name__}: {error}")
        return replace(move, results=results)


def _left(
    store: ObjectStore, result: DatasetResult, excluded: Collection[bytes], folder: Path
) -> DatasetResult:
    """Write the segments of one task without some events."""
    events = events_of(result)
    assert events is not None
    work = DatasetWork(result.dataset_id, events.spec, ())
    places = [event for event, digest in enumerate(events.each) if digest not in excluded]
    each = events.each
    return with_events(
        result,
        _without_events(store, work, result.segments, excluded, folder),
        replace(
            events,
            hashes=b"".join([each[event] for event in places]),
            days=[events.days[event] for event in places],
            babies=[events.babies[event] for event in places],
            duplicates=events.duplicates + events.number - len(places),
        ),
    )


def _without_events(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
    folder: Path,
) -> tuple[WrittenSegment, ...]:
    """Write the segments of one task and dataset without the events with some deduplication keys.

    Batches that have none of them stay. Raises StoreError, CorruptObject.
    """
    batches: dict[str, list[WrittenSegment]] = {}
    footers: dict[str, list[SegmentFooter]] = {}
    for segment in segments:
        footer = read_footer(store, segment.key).footer
        batch_id = footer.batches[0].batch_id
        batches.setdefault(batch_id, []).append(segment)
        footers.setdefault(batch_id, []).append(footer)
    written: list[WrittenSegment] = []
    for batch_id, batch_segments in batches.items():
        kept = list(_kept_rows(store, work, batch_segments, excluded))
        if sum(kept) == sum(segment.facts.rows for segment in batch_segments):
            written += batch_segments
            continue
        remaining = [segment for segment, rows in zip(batch_segments, kept, strict=True) if rows]
        if not remaining:
            # Never registered: meta refused the call that named them, or was not asked yet.
            store.delete([segment.key for segment in batch_segments])
            continue
        # A file that is skipped may be the only one of a baby.
        footer = merged_footer(work.dataset_id, PRODUCER, footers[batch_id])
        written += _rewritten(store, work, remaining, excluded, footer, folder)
    return tuple(written)


def _kept_rows(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
) -> Iterator[int]:
    for segment in segments:
        tables = _filtered(read_segment(store, segment.key), work, excluded)
        yield sum(table.num_rows for table in tables.values())


def _rewritten(
    store: ObjectStore,
    work: DatasetWork,
    segments: Sequence[WrittenSegment],
    excluded: Collection[bytes],
    lineage: SegmentFooter,
    folder: Path,
) -> Iterator[WrittenSegment]:
    batch = OpenBatch()
    for part, segment in enumerate(segments, start=1):
        count = len(segments) if part == len(segments) else 0
        footer = replace(lineage, batches=(BatchPart(batch.batch_id, part, count),))
        tables = _filtered(read_segment(store, segment.key), work, excluded)
        path = folder / f"{batch.batch_id}-{part}.parquet"
        yield write_one(store, work, tables, footer, path, batch.key(work, part))


def _filtered(
    tables: Mapping[Signal, pa.Table], work: DatasetWork, excluded: Collection[bytes]
) -> dict[Signal, pa.Table]:
    """Skip log records with some deduplication keys, and sections without rows."""
    deduplication = work.spec.deduplication
    assert deduplication is not None
    remaining = dict(tables)
    if "logs" in remaining:
        hashes = hashes_of(remaining["logs"].column(deduplication.column))
        mask = pa.array([digest not in excluded for digest in hashes], pa.bool_())
        remaining["logs"] = remaining["logs"].filter(mask)
    return {signal: table for signal, table in remaining.items() if table.num_rows}
