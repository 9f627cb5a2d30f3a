"""Checks the facts of a segment that its writer states."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.v1 import common_pb2
from segments.facts import written as written_facts
from segments.facts.feature import NO_FACTS, Facts
from segments.facts.written import Fault

# Values of the enum that fit the mask of the table.
SIGNAL_MAX = 14
FORMAT_MAX = 2**15 - 1
# A dataset has at most 100 promoted columns, 1,000 of a schema and three of receipt.
FIELD_IDS_MAX = 1_103
# Events, start and end of a segment or of one signal in it; times in nanoseconds, inclusive.
Counts: TypeAlias = tuple[int, int, int]


def check(
    facts: common_pb2.SegmentFacts, whole: Counts, field: str, *, is_foreign: bool = False
) -> tuple[int, tuple[int, ...]]:
    """Return the mask of a segment's signals, 0 = its facts name none, and its promoted field ids.

    Refuses facts that disagree with the `whole` segment or with themselves. Those of an object that
    is not a segment have format 0, and their times may lie within the registered ones.
    """
    low, high = (0, 0) if is_foreign else (1, FORMAT_MAX)
    checks.count(facts.format_version, f"{field}.format_version", low=low, high=high)
    mask = _checked_signals(facts.signals, whole, f"{field}.signals", is_foreign=is_foreign)
    ids: tuple[int, ...] = ()
    if facts.promoted_field_ids:
        ids = tuple(facts.promoted_field_ids)
        at = f"{field}.promoted_field_ids"
        checks.at_most(ids, at, FIELD_IDS_MAX)
        if ids[0] < 1 or list(ids) != sorted(set(ids)):
            raise InvalidArgument(f"{at} are not ascending", field=at)
    return mask, ids


def _checked_signals(
    items: Sequence[common_pb2.SignalFacts], whole: Counts, field: str, *, is_foreign: bool
) -> int:
    """The signals together must be the segment: readers skip all else."""
    mask = previous = events = 0
    starts, ends = [], []
    for index, item in enumerate(items):
        signal, at = item.signal, f"{field}[{index}]"
        if not previous < signal <= SIGNAL_MAX:
            signals = [item.signal for item in items]
            raise InvalidArgument(
                f"{field} are {signals}, not ascending numbers of 1 to {SIGNAL_MAX}", field=field
            )
        events += checks.count(item.number_of_events, f"{at}.number_of_events", low=1)
        start, end = checks.closed_range(item.time_range, f"{at}.time_range")
        starts.append(start)
        ends.append(end)
        mask, previous = mask | 1 << signal, signal
    if not mask:
        return mask
    together = (events, min(starts), max(ends))
    if together != whole and not (is_foreign and _is_within(together, whole)):
        raise InvalidArgument(
            f"{field} have (events, start, end) {together}, the segment has {whole}", field=field
        )
    return mask


def _is_within(part: Counts, whole: Counts) -> bool:
    return part[0] == whole[0] and whole[1] <= part[1] and part[2] <= whole[2]


def signal_mask(signals: Iterable[int]) -> int:
    """Return a number with bit n set for every signal n."""
    return sum(1 << signal for signal in set(signals))


def written(message: common_pb2.CreateSegment, field: str) -> Facts:
    """Check the facts that features open."""
    if not message.HasField("written_facts"):
        return NO_FACTS
    facts = written_facts.checked(message.written_facts, message.compressed_size_bytes)
    if isinstance(facts, Fault):
        at = f"{field}.{facts.field}"
        raise InvalidArgument(f"{at} {facts.message}", field=at)
    return facts
