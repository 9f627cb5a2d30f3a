"""Derives a catalog from the bucket alone: live segments, and offsets per stream. Pure.

Two things are known for sure. A batch that a merge took in was registered. And a baby segment that
is still there can be merged again, so records must be found only for babies that are gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from segments.inventory.contents import SegmentFound
from segments.inventory.streams import BabyFound, EndedStream, StreamEntry
from segments.keys import AttemptKey, MergedKey, parse_key
from segments.offsets import coalesce
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.rebuild.batches import Dropped, History, NurseryBatch, Tail, settle
from segments.rebuild.parts import disjoint
from segments.rebuild.replays import quarantined, replayed_babies, settle_replays

MERGE_INPUTS_MAX = 16
MERGE_COUNT_MAX = 4


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The whole answer; `dropped` stay in the bucket as orphans, `warnings` are for the operator.

    `specs` are the datasets' settings by their newest live segments. `numbered` are all promoted
    columns with a field id in any segment of a dataset, the newest segment's first.
    """

    dataset_ids: tuple[str, ...]
    segments: tuple[SegmentFound, ...]
    streams: tuple[EndedStream, ...]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]
    specs: Mapping[str, SegmentSpec]
    numbered: Mapping[str, tuple[PromotedColumn, ...]]
    # Payloads of the quarantine, by object key, whose records are in segments of a dataset.
    replayed: Mapping[str, str] = field(default_factory=dict)
    # Datasets that had deduplication, by the column of the newest segment that says so.
    deduplication_keys: Mapping[str, str] = field(default_factory=dict)


def plan(segments: Iterable[SegmentFound], babies: Iterable[BabyFound]) -> Rebuild:
    """Decide which segments were live and how far each dataset had merged each stream."""
    dropped: list[Dropped] = []
    warnings: list[str] = []
    by_dataset: dict[str, list[SegmentFound]] = {}
    for segment in sorted(segments, key=lambda segment: segment.key):
        if reason := _unusable(segment):
            dropped.append(Dropped(segment.key, reason))
        else:
            by_dataset.setdefault(segment.footer.dataset_id, []).append(segment)
    by_stream: dict[str, dict[int, BabyFound]] = {}
    for baby in babies:
        by_stream.setdefault(baby.stream_id, {})[baby.offset] = baby
    tails = _tails(by_dataset.values(), by_stream)
    runs = {
        stream_id: tuple(by_stream[stream_id][o] for o in range(tail.first, tail.committed + 1))
        for stream_id, tail in tails.items()
    }
    stamped = {d for run in runs.values() for baby in run for d in baby.dataset_ids or ()}
    live: list[SegmentFound] = []
    entries: dict[str, list[StreamEntry]] = {stream_id: [] for stream_id in tails}
    dataset_ids = tuple(sorted(stamped | by_dataset.keys()))
    for dataset_id in dataset_ids:
        own = by_dataset.get(dataset_id, [])
        history = settle_dataset(dataset_id, own, tails, runs)
        dropped += history.dropped
        warnings += history.warnings
        chosen = [segment for segment in own if segment.key in history.live_keys]
        live += chosen
        newest = _newest(chosen)
        for stream_id, offset in history.merged_offsets.items():
            # If the baby itself is gone, this is a time that is not too early.
            last = by_stream.get(stream_id, {}).get(offset)
            at = last.modified_at_nanos if last else newest.get(stream_id, 0)
            entries[stream_id].append(StreamEntry(dataset_id, offset, at // 10**9 * 10**9))
    footers = [segment.footer for segment in _oldest_first(live)]
    return Rebuild(
        dataset_ids,
        tuple(live),
        tuple(
            EndedStream(s, t.committed, t.first - 1, tuple(entries[s]), runs[s])
            for s, t in sorted(tails.items())
        ),
        tuple(sorted(dropped)),
        tuple(warnings),
        {segment.footer.dataset_id: segment.spec for segment in _oldest_first(live)},
        {dataset_id: _numbered(own) for dataset_id, own in by_dataset.items()},
        deduplication_keys={f.dataset_id: f.deduplication for f in footers if f.deduplication},
    )


def _oldest_first(segments: Iterable[SegmentFound]) -> list[SegmentFound]:
    return sorted(segments, key=lambda segment: (segment.modified_at_nanos, segment.key))


def _numbered(segments: Iterable[SegmentFound]) -> tuple[PromotedColumn, ...]:
    newest_first = reversed(_oldest_first(segments))
    columns = (column for segment in newest_first for column in segment.spec.promoted)
    return tuple(dict.fromkeys(column for column in columns if column.field_id is not None))


def settle_dataset(
    dataset_id: str,
    segments: Sequence[SegmentFound],
    tails: Mapping[str, Tail],
    runs: Mapping[str, Sequence[BabyFound]],
) -> History:
    """Choose a dataset's segments: those that merges prove, then batches that no merge took in."""
    merged = [segment for segment in segments if isinstance(parse_key(segment.key), AttemptKey)]
    proven_ids = {b.batch_id for segment in merged for b in segment.footer.batches}
    raw = [segment for segment in segments if isinstance(parse_key(segment.key), MergedKey)]
    proven = merged + [
        segment for segment in raw if segment.footer.batches[0].batch_id in proven_ids
    ]
    live_keys, dropped, warnings = disjoint(
        dataset_id, {segment.key: segment.footer.batches for segment in proven}
    )
    batches: dict[str, list[SegmentFound]] = {}
    for segment in raw:
        if (batch_id := segment.footer.batches[0].batch_id) not in proven_ids:
            batches.setdefault(batch_id, []).append(segment)
    footers = {i: [file.footer for file in files] for i, files in batches.items()}
    reasons = settle_replays([file.footer for file in proven], footers, tails)
    duplicates = [Dropped(f.key, why) for i, why in sorted(reasons.items()) for f in batches[i]]
    left = {i: files for i, files in sorted(batches.items()) if i not in reasons}
    known = [file.footer for file in (*proven, *(f for files in left.values() for f in files))]
    passed = [span for span in replayed_babies(known) if span.stream_id in tails]
    history = settle(
        dataset_id,
        [_batch(batch_id, files) for batch_id, files in left.items()],
        [*(r for segment in proven for r in segment.footer.ranges), *passed],
        tails,
        {s: {b.offset: b.dataset_ids for b in run} for s, run in runs.items()},
    )
    return History(
        history.live_keys | live_keys,
        history.merged_offsets,
        (*dropped, *duplicates, *history.dropped),
        (*warnings, *history.warnings),
    )


def _batch(batch_id: str, files: Sequence[SegmentFound]) -> NurseryBatch:
    parts = {segment.footer.batches[0].part for segment in files}
    count = max(segment.footer.batches[0].parts for segment in files)
    return NurseryBatch(
        batch_id,
        tuple(segment.key for segment in files),
        # A baby too large for one file spreads over several, which differ in what else they hold.
        coalesce(span for segment in files for span in segment.footer.ranges),
        is_complete=parts == set(range(1, count + 1)),
    )


def _tails(
    segments_by_dataset: Iterable[Sequence[SegmentFound]],
    by_stream: Mapping[str, Mapping[int, BabyFound]],
) -> dict[str, Tail]:
    """First and last baby of each stream.

    Offsets that no segment covers count as committed up to the first hole, as when a tail is
    adopted: beyond a hole nothing was acknowledged.
    """
    covered: dict[str, int] = dict.fromkeys(by_stream, -1)
    for segments in segments_by_dataset:
        for segment in segments:
            for span in (*segment.footer.ranges, *quarantined(segment.footer)):
                covered[span.stream_id] = max(covered.get(span.stream_id, -1), span.end)
    return {s: _tail(top, by_stream.get(s, {})) for s, top in covered.items()}


def _tail(covered: int, present: Mapping[int, BabyFound]) -> Tail:
    end = covered
    above = [offset for offset in present if offset > covered]
    # Offsets are reaped in order. If the highest covered baby is gone, those missing above it may
    # be as well: merged, and of no interest to any dataset.
    if above and covered not in present:
        end = min(above) - 1
    while end + 1 in present and not (end in present and present[end].is_stop):
        end += 1
    first = end + 1
    while first - 1 in present:
        first -= 1
    return Tail(first, end)


def _unusable(segment: SegmentFound) -> str:
    """The reason for which a segment has no place in a rebuilt catalog; None if it has one."""
    key = parse_key(segment.key)
    if not isinstance(key, MergedKey | AttemptKey):
        return "foreign: not a segment's key"
    if key.dataset_id != segment.footer.dataset_id:
        return f"foreign: its footer names dataset {segment.footer.dataset_id}"
    if not segment.footer.batches or (
        isinstance(key, MergedKey) and len(segment.footer.batches) > 1
    ):
        return "foreign: its footer does not name the batch that it is of"
    return ""


def merge_count_of(segment: SegmentFound) -> int:
    """Guess how often the rows of a segment were merged, by the number of its batches."""
    if isinstance(parse_key(segment.key), MergedKey):
        return 0
    # Days of one part may be apart.
    parts = len({(batch.batch_id, batch.part) for batch in segment.footer.batches})
    count, inputs = 1, MERGE_INPUTS_MAX
    while inputs < parts and count < MERGE_COUNT_MAX:
        count, inputs = count + 1, inputs * MERGE_INPUTS_MAX
    return count


def _newest(chosen: Iterable[SegmentFound]) -> dict[str, int]:
    times: dict[str, int] = {}
    for segment in chosen:
        for span in segment.footer.ranges:
            times[span.stream_id] = max(times.get(span.stream_id, 0), segment.modified_at_nanos)
    return times
