"""Facts of footers: the babies and batches that segments are of. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from segments.inventory.contents import SegmentFound
from segments.keys import AttemptKey, parse_key
from segments.offsets import babies_of
from segments.parquet.lineage import DAY_MAX, DAY_MIN, BatchPart

# First and last offsets of live segments whose objects are missing, by stream.
Missing = Mapping[str, Sequence[tuple[int, int]]]
# First and last days, by batch and part.
Days = Mapping[tuple[str, int], Sequence[tuple[int, int]]]


class Offsets:
    """The babies whose records segments hold, from the lowest offsets that matter on."""

    def __init__(
        self,
        segments: Iterable[SegmentFound],
        lowest: Mapping[str, int],
        missing: Missing | None = None,
    ) -> None:
        self._missing = missing or {}
        self._twice: set[tuple[str, int]] = set()
        # The batches of the segments, by stream and offset.
        self._batches: dict[str, dict[int, frozenset[str]]] = {}
        for segment in segments:
            batches = batch_ids(segment)
            for span in segment.footer.ranges:
                low = lowest.get(span.stream_id, span.end + 1)
                stream_batches = self._batches.setdefault(span.stream_id, {})
                for offset in range(max(span.start, low), span.end + 1):
                    before = stream_batches.get(offset, batches)
                    if before.isdisjoint(batches):
                        self._twice.add((span.stream_id, offset))
                    stream_batches[offset] = before | batches

    def hold(self, stream_id: str, offset: int) -> bool:
        """True if segments hold the records of a baby, and none of them is missing."""
        return offset in self._batches.get(stream_id, ()) and not self.miss(stream_id, offset)

    def hold_whole(self, stream_id: str, offset: int, partial: frozenset[str]) -> bool:
        """True if segments hold the records of a baby, and none of them is of a partial batch."""
        batches = self._batches.get(stream_id, {}).get(offset)
        return batches is not None and batches.isdisjoint(partial)

    def miss(self, stream_id: str, offset: int) -> bool:
        """True if a missing segment held records of a baby."""
        return any(first <= offset <= last for first, last in self._missing.get(stream_id, ()))

    def is_twice(self, stream_id: str, offset: int) -> bool:
        """True if a baby is in two segments that share no batch."""
        return (stream_id, offset) in self._twice

    def is_of_others(self, stream_id: str, offset: int, segment: SegmentFound) -> bool:
        """True if a baby is in segments that share no batch with one."""
        batches = self._batches.get(stream_id, {}).get(offset)
        return batches is not None and batches.isdisjoint(batch_ids(segment))

    def holds_all(self, segment: SegmentFound) -> bool:
        """True if segments hold every baby that a segment names."""
        return all(self.hold(*baby) for baby in babies_of(segment.footer.ranges))

    def has_merged_anew(self, segment: SegmentFound) -> bool:
        """True if babies of a segment are in others, and in none of its own lineage."""
        ids = batch_ids(segment)
        return any(
            ids.isdisjoint(self._batches.get(stream_id, {}).get(offset, ids))
            for stream_id, offset in babies_of(segment.footer.ranges)
        )


def batch_ids(segment: SegmentFound) -> frozenset[str]:
    """The batches that a segment has parts of."""
    return frozenset(batch.batch_id for batch in segment.footer.batches)


def merged_batches(segments: Iterable[SegmentFound]) -> frozenset[str]:
    """The batches that a merge took in: they were registered."""
    merged = (segment for segment in segments if isinstance(parse_key(segment.key), AttemptKey))
    return frozenset(batch_id for segment in merged for batch_id in batch_ids(segment))


def partial_batches(segments: Iterable[SegmentFound]) -> frozenset[str]:
    """The batches that lack a part, or a day of one.

    Their writer died, or a retention has taken a file of them.
    """
    segments, counts = list(segments), dict[str, int]()
    for batch in (batch for segment in segments for batch in segment.footer.batches):
        counts[batch.batch_id] = max(counts.get(batch.batch_id, 0), batch.parts)
    # The last part alone says how many there are.
    days = days_of(segments)
    return frozenset(
        batch_id
        for batch_id, count in counts.items()
        if not count
        or any(
            not _covers(days.get((batch_id, part), ()), DAY_MIN, DAY_MAX)
            for part in range(1, count + 1)
        )
    )


def days_of(segments: Iterable[SegmentFound]) -> Days:
    """The days of each part of each batch that segments hold."""
    days: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for batch in (batch for segment in segments for batch in segment.footer.batches):
        days.setdefault((batch.batch_id, batch.part), []).append((batch.first_day, batch.last_day))
    return days


def is_covered(batches: Iterable[BatchPart], days: Days) -> bool:
    """True if every day of every part is among some days, by their lineage."""
    return all(
        _covers(days.get((batch.batch_id, batch.part), ()), batch.first_day, batch.last_day)
        for batch in batches
    )


def _covers(days: Iterable[tuple[int, int]], first_day: int, last_day: int) -> bool:
    next_day = first_day
    for first, last in sorted(days):
        if first <= next_day:
            next_day = max(next_day, last + 1)
    return next_day > last_day
