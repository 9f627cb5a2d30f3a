"""Chooses among a dataset's segments in the bucket that a restored database does not know. Pure.

The babies decide: what they still hold is merged again. A segment comes back only if it holds
records of babies that are gone, and only whole, so it may take the place of live segments that were
merged into it. Offset ranges in footers are exact: they name the babies whose records a file holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from segments.offsets import OffsetSpan
from segments.rebuild.batches import Tail
from segments.rebuild.plan import BabyFound, SegmentFound, settle_dataset

# By stream: the babies that are there, fillers left out.
Present = Mapping[str, Mapping[int, BabyFound]]


@dataclass(frozen=True, slots=True)
class LostChoice:
    """Segments that come back, live ones that they replace, and the highest offset of each stream.

    `gone` is the highest offset of each stream whose baby is gone. `held` are keys of segments
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
) -> LostChoice:
    """Choose the unknown segments of a dataset that have to come back.

    `merged` are the stored merged offsets of its entries: babies above them will be merged.
    """
    lowest: dict[str, int] = {}
    for span in _ranges(lost):
        lowest[span.stream_id] = min(lowest.get(span.stream_id, span.start), span.start)
    at = Offsets(live, lowest)
    # Of what live segments hold nothing is needed: a database is complete as of its own offsets.
    # Footers would not tell it from what has to come back where both were merged with one batch.
    usable = [found for found in lost if not (at.holds_all(found) or at.has_merged_anew(found))]
    gone = _gone(usable, at, present)
    if not gone:
        return LostChoice(held=_held(lost, at, present, merged))
    tops: dict[str, int] = {}
    for span in _ranges([*live, *usable]):
        tops[span.stream_id] = max(tops.get(span.stream_id, -1), span.end)
    tails = {s: Tail(gone.get(s, -1) + 1, top) for s, top in tops.items()}
    runs = {
        s: [baby for o, baby in sorted(present.get(s, {}).items()) if tail.first <= o <= tops[s]]
        for s, tail in tails.items()
    }
    history = settle_dataset(dataset_id, [*live, *usable], tails, runs)
    chosen = tuple(found for found in usable if found.key in history.live_keys)
    replaced = [found for found in live if found.key not in history.live_keys]
    ends: dict[str, int] = {}
    for span in _ranges(chosen):
        ends[span.stream_id] = max(ends.get(span.stream_id, -1), span.end)
    after = Offsets([*live, *chosen], lowest)
    reason = next(iter(history.warnings), "") or _doubt(dataset_id, chosen, replaced, runs, after)
    if reason:
        return LostChoice(reason=reason)
    keys = frozenset(found.key for found in chosen)
    return LostChoice(
        chosen,
        frozenset(found.key for found in replaced),
        ends,
        gone,
        _held([found for found in lost if found.key not in keys], after, present, merged),
    )


def _gone(usable: Iterable[SegmentFound], at: "Offsets", present: Present) -> dict[str, int]:
    """The highest offset of each stream whose baby is gone, and which no live segment holds."""
    gone: dict[str, int] = {}
    for span in _ranges(usable):
        there = present.get(span.stream_id, {})
        for offset in range(span.start, span.end + 1):
            if offset not in there and not at.hold(span.stream_id, offset):
                gone[span.stream_id] = max(gone.get(span.stream_id, -1), offset)
    return gone


def _doubt(
    dataset_id: str,
    chosen: Sequence[SegmentFound],
    replaced: Iterable[SegmentFound],
    runs: Mapping[str, Sequence[BabyFound]],
    after: "Offsets",
) -> str:
    """The reason for which a choice is not made; "" if nothing is lost or doubled by it."""
    parts = {(b.batch_id, b.part) for found in chosen for b in found.footer.batches}
    for found in replaced:
        if not {(b.batch_id, b.part) for b in found.footer.batches} <= parts:
            return f"{found.key} is live, and a segment that is not known holds parts of it"
    ends: dict[str, int] = {}
    for span in _ranges(chosen):
        ends[span.stream_id] = max(ends.get(span.stream_id, -1), span.end)
    for stream_id, run in runs.items():
        for baby in run:
            is_own = baby.dataset_ids is None or dataset_id in baby.dataset_ids
            is_passed = is_own and baby.offset <= ends.get(stream_id, -1)
            if is_passed and not after.hold(stream_id, baby.offset):
                return f"the baby {baby.offset} of stream {stream_id} has to be merged first"
    return ""


def _held(
    lost: Iterable[SegmentFound], at: "Offsets", present: Present, merged: Mapping[str, int]
) -> frozenset[str]:
    """The segments all of whose babies are in live segments, or there to be merged."""
    return frozenset(
        found.key
        for found in lost
        if found.footer.ranges
        and all(
            at.hold(span.stream_id, offset)
            or (
                offset in present.get(span.stream_id, {})
                and offset > merged.get(span.stream_id, -1)
            )
            for span in found.footer.ranges
            for offset in range(span.start, span.end + 1)
        )
    )


def _ranges(segments: Iterable[SegmentFound]) -> Iterable[OffsetSpan]:
    return (span for found in segments for span in found.footer.ranges)


class Offsets:
    """The babies whose records segments hold, from the lowest offsets that matter on."""

    def __init__(self, segments: Iterable[SegmentFound], lowest: Mapping[str, int]) -> None:
        # By stream and offset, the batches of the segments.
        self._batches: dict[str, dict[int, frozenset[str]]] = {}
        for found in segments:
            batches = _batch_ids(found)
            for span in found.footer.ranges:
                low = lowest.get(span.stream_id, span.end + 1)
                own = self._batches.setdefault(span.stream_id, {})
                for offset in range(max(span.start, low), span.end + 1):
                    own[offset] = own.get(offset, batches) | batches

    def hold(self, stream_id: str, offset: int) -> bool:
        """True if a segment holds records of a baby."""
        return offset in self._batches.get(stream_id, ())

    def holds_all(self, found: SegmentFound) -> bool:
        """True if segments hold every baby that a segment names."""
        return all(
            self.hold(span.stream_id, offset)
            for span in found.footer.ranges
            for offset in range(span.start, span.end + 1)
        )

    def has_merged_anew(self, found: SegmentFound) -> bool:
        """True if babies of a segment are in others, and in none of its own lineage."""
        own = _batch_ids(found)
        return any(
            own.isdisjoint(self._batches.get(span.stream_id, {}).get(offset, own))
            for span in found.footer.ranges
            for offset in range(span.start, span.end + 1)
        )


def _batch_ids(found: SegmentFound) -> frozenset[str]:
    return frozenset(batch.batch_id for batch in found.footer.batches)
