"""Chooses among a dataset's segments in the bucket that a restored database does not know. Pure.

The babies decide: records that they still hold are merged again. A segment comes back only if it
holds records of missing babies, and only whole, so it may take the place of live segments
that were merged into it. Offset ranges in footers are exact: they name the babies whose records a
file holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from segments.inventory.contents import SegmentFound
from segments.inventory.streams import BabyFound
from segments.offsets import OffsetSpan, babies_of
from segments.rebuild.batches import History, Tail
from segments.rebuild.lineages import (
    Days,
    Missing,
    Offsets,
    batch_ids,
    days_of,
    is_covered,
    merged_batches,
    partial_batches,
)
from segments.rebuild.plan import settle_dataset

# The babies that are present, by stream; fillers are skipped.
Present = Mapping[str, Mapping[int, BabyFound]]


@dataclass(frozen=True, slots=True)
class LostChoice:
    """Segments that come back, live ones that they replace, and the ends of streams.

    `ends` is the highest offset of each stream whose records no live segment had: merges take
    records of streams that have ended long since, which then have nothing to move.
    `gone` is the highest offset of each stream whose baby is missing. `held` are keys of segments
    whose records are all held elsewhere. With a reason nothing is chosen.
    """

    chosen: tuple[SegmentFound, ...] = ()
    replaced_keys: frozenset[str] = frozenset()
    ends: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    held: frozenset[str] = frozenset()
    reason: str = ""


def choose_lost(
    dataset_id: str,
    live: Sequence[SegmentFound],
    lost: Sequence[SegmentFound],
    present: Present,
    merged: Mapping[str, int],
    missing: Missing,
) -> LostChoice:
    """Choose the unknown segments of a dataset that have to come back.

    `merged` are the stored merged offsets of its entries: babies above them will be merged. Records
    of one baby lie in several segments, by part and day: if one of them is `missing`, the others do
    not hold the baby whole.
    """
    lowest = _lowest(lost)
    at = Offsets(live, lowest, missing)
    partial = partial_batches([*live, *lost])
    usable = _usable(live, lost, at, partial, present, merged)
    gaps = _gone(usable, at, present, merged)
    if not gaps:
        return LostChoice(held=_held(lost, live, at, present, merged))
    history, runs = _settled(dataset_id, live, usable, gaps, present)
    chosen = tuple(segment for segment in usable if segment.key in history.live_keys)
    kept = [segment for segment in live if segment.key in history.live_keys]
    replaced = [segment for segment in live if segment.key not in history.live_keys]
    candidates = [segment for segment in usable if segment.key not in history.live_keys]
    others = _without(lost, chosen)
    reason = (
        next(iter(history.warnings), "")
        or _doubt(dataset_id, chosen, replaced, runs, Offsets([*live, *chosen], lowest))
        or _unmerged(dataset_id, kept, chosen, at, present, merged)
        or _contest(chosen, Offsets([*kept, *chosen], lowest), Offsets(candidates, lowest), partial)
        or _remainder(chosen, others, days_of([*kept, *chosen]))
    )
    if reason:
        return LostChoice(reason=reason)
    return LostChoice(
        chosen,
        frozenset(segment.key for segment in replaced),
        _new_ends(chosen, at),
        gaps,
        _held(
            others, [*kept, *chosen], Offsets([*live, *chosen], lowest, missing), present, merged
        ),
    )


def _usable(
    live: Sequence[SegmentFound],
    lost: Sequence[SegmentFound],
    at: Offsets,
    partial: frozenset[str],
    present: Present,
    merged: Mapping[str, int],
) -> list[SegmentFound]:
    """Skip what certainly need not come back.

    Records of live segments need not: a database is complete as of its own offsets. Nor need the
    outputs that a crashed merge left of babies that are merged again. Footers would not tell them
    from those that have to come back if both were merged with one batch.
    """
    cut = partial - merged_batches([*live, *lost])
    parts = [segment for segment in lost if batch_ids(segment) & partial]
    needless = {s.key for s in parts if batch_ids(s) & cut or _awaits_merge(s, present, merged)}
    needless |= {s.key for s in lost if at.holds_all(s) or at.has_merged_anew(s)}
    return [segment for segment in lost if segment.key not in needless]


def _settled(
    dataset_id: str,
    live: Sequence[SegmentFound],
    usable: Sequence[SegmentFound],
    gaps: Mapping[str, int],
    present: Present,
) -> tuple[History, dict[str, list[BabyFound]]]:
    """Settle live and unknown segments as a rebuild does; with the babies that were looked at."""
    tops = _ends([*live, *usable])
    tails = {s: Tail(gaps.get(s, -1) + 1, top) for s, top in tops.items()}
    runs = {
        s: [baby for o, baby in sorted(present.get(s, {}).items()) if tail.first <= o <= tops[s]]
        for s, tail in tails.items()
    }
    return settle_dataset(dataset_id, [*live, *usable], tails, runs), runs


def _without(segments: Iterable[SegmentFound], some: Iterable[SegmentFound]) -> list[SegmentFound]:
    keys = {segment.key for segment in some}
    return [segment for segment in segments if segment.key not in keys]


def _lowest(segments: Iterable[SegmentFound]) -> dict[str, int]:
    """The lowest offset of each stream."""
    lowest: dict[str, int] = {}
    for span in _ranges(segments):
        lowest[span.stream_id] = min(lowest.get(span.stream_id, span.start), span.start)
    return lowest


def _ends(segments: Iterable[SegmentFound]) -> dict[str, int]:
    """The highest offset of each stream."""
    ends: dict[str, int] = {}
    for span in _ranges(segments):
        ends[span.stream_id] = max(ends.get(span.stream_id, -1), span.end)
    return ends


def _new_ends(chosen: Iterable[SegmentFound], before: Offsets) -> dict[str, int]:
    """The highest offset of each stream whose records live segments neither hold nor miss."""
    ends: dict[str, int] = {}
    for stream_id, offset in babies_of(_ranges(chosen)):
        if not before.hold(stream_id, offset) and not before.miss(stream_id, offset):
            ends[stream_id] = max(ends.get(stream_id, -1), offset)
    return ends


def _contest(
    chosen: Iterable[SegmentFound], after: Offsets, others: Offsets, partial: frozenset[str]
) -> str:
    """The reason for which two lineages of the same baby cannot be told apart; "" if none is.

    A baby is of one batch of a dataset. One that is in two was merged again after an earlier
    rollback: both would double it, and a remainder of one would lose a part of it.
    """
    for segment in chosen:
        is_partial = not batch_ids(segment).isdisjoint(partial)
        for stream_id, offset in babies_of(segment.footer.ranges):
            is_of_others = is_partial and others.is_of_others(stream_id, offset, segment)
            if is_of_others or after.is_twice(stream_id, offset):
                return f"the baby {offset} of stream {stream_id} is in two batches"
    return ""


def _gone(
    usable: Iterable[SegmentFound], at: Offsets, present: Present, merged: Mapping[str, int]
) -> dict[str, int]:
    """The highest offset of each stream whose records are in no live segment and in no baby.

    A baby that is there counts as missing if its own segment is: it was passed.
    """
    gaps: dict[str, int] = {}
    for stream_id, offset in babies_of(_ranges(usable)):
        if at.hold(stream_id, offset):
            continue
        is_missing = offset <= merged.get(stream_id, -1) and at.miss(stream_id, offset)
        if offset not in present.get(stream_id, {}) or is_missing:
            gaps[stream_id] = max(gaps.get(stream_id, -1), offset)
    return gaps


def _remainder(chosen: Iterable[SegmentFound], others: Iterable[SegmentFound], days: Days) -> str:
    """The reason for which a batch would come back in part; "" if none would."""
    chosen_ids = {batch_id for segment in chosen for batch_id in batch_ids(segment)}
    for segment in others:
        if not is_covered([b for b in segment.footer.batches if b.batch_id in chosen_ids], days):
            return f"{segment.key} holds a part of what comes back, and cannot"
    return ""


def _doubt(
    dataset_id: str,
    chosen: Sequence[SegmentFound],
    replaced: Iterable[SegmentFound],
    runs: Mapping[str, Sequence[BabyFound]],
    after: Offsets,
) -> str:
    """The reason for which a choice is not made; "" if nothing is lost or doubled by it."""
    parts = {(b.batch_id, b.part) for segment in chosen for b in segment.footer.batches}
    for segment in replaced:
        if not {(b.batch_id, b.part) for b in segment.footer.batches} <= parts:
            return f"{segment.key} is live, and a segment that is not known holds parts of it"
    ends = _ends(chosen)
    for stream_id, run in runs.items():
        for baby in run:
            is_own = baby.dataset_ids is None or dataset_id in baby.dataset_ids
            is_passed = is_own and baby.offset <= ends.get(stream_id, -1)
            if is_passed and not after.hold(stream_id, baby.offset):
                return _merge_first(stream_id, baby.offset)
    return ""


def _unmerged(
    dataset_id: str,
    kept: Sequence[SegmentFound],
    chosen: Sequence[SegmentFound],
    before: Offsets,
    present: Present,
    merged: Mapping[str, int],
) -> str:
    """The reason for which a baby that waits for its merge would be passed and not be whole."""
    # Live segments hold no baby above the merged offsets.
    holding, partial = Offsets(chosen, _lowest(chosen)), partial_batches([*kept, *chosen])
    for stream_id, end in _ends(chosen).items():
        for offset, baby in present.get(stream_id, {}).items():
            if not merged.get(stream_id, -1) < offset <= end or before.hold(stream_id, offset):
                continue
            is_own = baby.dataset_ids is None or dataset_id in baby.dataset_ids
            if is_own and not holding.hold_whole(stream_id, offset, partial):
                return _merge_first(stream_id, offset)
    return ""


def _merge_first(stream_id: str, offset: int) -> str:
    return f"the baby {offset} of stream {stream_id} has to be merged first"


def _held(
    lost: Iterable[SegmentFound],
    live: Sequence[SegmentFound],
    at: Offsets,
    present: Present,
    merged: Mapping[str, int],
) -> frozenset[str]:
    """The segments all of whose records are in live segments, or in babies to be merged."""
    days = days_of(live)
    return frozenset(
        segment.key
        for segment in lost
        if segment.footer.ranges
        and (
            is_covered(segment.footer.batches, days)
            or all(
                at.hold(stream_id, offset)
                or (offset in present.get(stream_id, {}) and offset > merged.get(stream_id, -1))
                for stream_id, offset in babies_of(segment.footer.ranges)
            )
        )
    )


def _awaits_merge(segment: SegmentFound, present: Present, merged: Mapping[str, int]) -> bool:
    """True if every baby that a segment names is there, and is merged in time."""
    return all(
        offset > merged.get(stream_id, -1) and offset in present.get(stream_id, {})
        for stream_id, offset in babies_of(segment.footer.ranges)
    )


def _ranges(segments: Iterable[SegmentFound]) -> Iterable[OffsetSpan]:
    return (span for segment in segments for span in segment.footer.ranges)
