"""Derives a catalog from the bucket alone: live segments, and offsets per stream. Pure.

Two things are known for sure. A batch that a merge took in was registered. And a baby segment that
is still there can be merged again, so records must be found only for missing babies.
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
from segments.rebuild.spilled_segments import LiveSegments, SpilledSegments


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The whole answer; `dropped` stay in the bucket as orphans, `warnings` are for the operator.

    `specs` are the datasets' settings by their newest live segments. `numbered` are all promoted
    columns with a field id in any segment of a dataset, the newest segment's first.
    """

    dataset_ids: tuple[str, ...]
    segments: LiveSegments
    streams: tuple[EndedStream, ...]
    dropped: tuple[Dropped, ...]
    warnings: tuple[str, ...]
    specs: Mapping[str, SegmentSpec]
    numbered: Mapping[str, tuple[PromotedColumn, ...]]
    # Payloads of the quarantine, by object key, whose records are in segments of a dataset.
    replayed: Mapping[str, str] = field(default_factory=dict)
    # Datasets that had deduplication, by the column of the newest segment that says so.
    deduplication_keys: Mapping[str, str] = field(default_factory=dict)


def plan(spilled: SpilledSegments, babies: Iterable[BabyFound]) -> Rebuild:
    """Decide which segments were live and how far each dataset had merged each stream.

    The lineages of one dataset are in memory at a time. Live segments are chosen in the file.
    """
    by_stream: dict[str, dict[int, BabyFound]] = {}
    for baby in babies:
        by_stream.setdefault(baby.stream_id, {})[baby.offset] = baby
    answer = _Answer()
    covered, with_segments = _covered(spilled, answer.dropped)
    tails = {
        stream_id: _tail(covered.get(stream_id, -1), by_stream.get(stream_id, {}))
        for stream_id in covered.keys() | by_stream.keys()
    }
    runs = {
        stream_id: tuple(by_stream[stream_id][o] for o in range(tail.first, tail.committed + 1))
        for stream_id, tail in tails.items()
    }
    stamped = {d for run in runs.values() for baby in run for d in baby.dataset_ids or ()}
    entries: dict[str, list[StreamEntry]] = {stream_id: [] for stream_id in tails}
    dataset_ids = tuple(sorted(stamped | with_segments))
    for dataset_id in dataset_ids:
        segments = [s for s in spilled.lineages(dataset_id) if not _unusable(s)]
        history = settle_dataset(dataset_id, segments, tails, runs)
        spilled.choose(dataset_id, history.live_keys)
        chosen = [segment for segment in segments if segment.key in history.live_keys]
        answer.add(dataset_id, history, segments, chosen)
        newest = _newest(chosen)
        for stream_id, offset in history.merged_offsets.items():
            # If the baby itself is missing, this is a time that is not too early.
            last = by_stream.get(stream_id, {}).get(offset)
            at = last.modified_at_nanos if last else newest.get(stream_id, 0)
            entries[stream_id].append(StreamEntry(dataset_id, offset, at // 10**9 * 10**9))
    streams = tuple(
        EndedStream(s, t.committed, t.first - 1, tuple(entries[s]), runs[s])
        for s, t in sorted(tails.items())
    )
    return answer.rebuild(dataset_ids, spilled.live(), streams)


def _covered(spilled: SpilledSegments, dropped: list[Dropped]) -> tuple[dict[str, int], set[str]]:
    """The highest offset of each stream that segments have, and the datasets of these segments.

    Segments that have no place in a catalog are dropped.
    """
    covered: dict[str, int] = {}
    dataset_ids: set[str] = set()
    for segment in spilled:
        if reason := _unusable(segment):
            dropped.append(Dropped(segment.key, reason))
            continue
        dataset_ids.add(segment.footer.dataset_id)
        for span in (*segment.footer.ranges, *quarantined(segment.footer)):
            covered[span.stream_id] = max(covered.get(span.stream_id, -1), span.end)
    return covered, dataset_ids


@dataclass(slots=True)
class _Answer:
    """The parts of the answer that grow with each dataset."""

    dropped: list[Dropped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    specs: dict[str, SegmentSpec] = field(default_factory=dict)
    numbered: dict[str, tuple[PromotedColumn, ...]] = field(default_factory=dict)
    deduplication_keys: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        dataset_id: str,
        history: History,
        segments: Sequence[SegmentFound],
        chosen: Sequence[SegmentFound],
    ) -> None:
        """Add a dataset: all its segments, and those that were chosen of them."""
        self.dropped += history.dropped
        self.warnings += history.warnings
        if segments:
            newest_first = sorted(segments, key=_age, reverse=True)
            columns = (c for segment in newest_first for c in segment.spec.promoted)
            numbered = dict.fromkeys(c for c in columns if c.field_id is not None)
            self.numbered[dataset_id] = tuple(numbered)
        if chosen:
            self.specs[dataset_id] = max(chosen, key=_age).spec
        if with_key := [segment for segment in chosen if segment.footer.deduplication]:
            self.deduplication_keys[dataset_id] = max(with_key, key=_age).footer.deduplication

    def rebuild(
        self, dataset_ids: tuple[str, ...], live: LiveSegments, streams: tuple[EndedStream, ...]
    ) -> Rebuild:
        """Return the whole answer."""
        return Rebuild(
            dataset_ids,
            live,
            streams,
            tuple(sorted(self.dropped)),
            tuple(self.warnings),
            self.specs,
            self.numbered,
            deduplication_keys=self.deduplication_keys,
        )


def _age(segment: SegmentFound) -> tuple[int, str]:
    return segment.modified_at_nanos, segment.key


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
    unsettled = {i: files for i, files in sorted(batches.items()) if i not in reasons}
    kept = [file.footer for file in (*proven, *(f for files in unsettled.values() for f in files))]
    passed = [span for span in replayed_babies(kept) if span.stream_id in tails]
    history = settle(
        dataset_id,
        [_batch(batch_id, files) for batch_id, files in unsettled.items()],
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


def _tail(covered: int, present: Mapping[int, BabyFound]) -> Tail:
    """First and last baby of a stream of which segments cover the offsets up to one.

    Offsets that no segment covers count as committed up to the first hole, as when a tail is
    adopted: beyond a hole nothing was acknowledged.
    """
    end = covered
    above = [offset for offset in present if offset > covered]
    # Offsets are reaped in order. If the highest covered baby is missing, those above it may
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


def _newest(chosen: Iterable[SegmentFound]) -> dict[str, int]:
    times: dict[str, int] = {}
    for segment in chosen:
        for span in segment.footer.ranges:
            times[span.stream_id] = max(times.get(span.stream_id, 0), segment.modified_at_nanos)
    return times
