"""Checks the facts of a segment that its writer tells."""

from collections.abc import Iterable

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.v1 import common_pb2

# Values of the enum that fit the mask of the table.
SIGNAL_MAX = 14
FORMAT_MAX = 2**15 - 1
# A dataset has at most 100 promoted columns, 1,000 of a schema and two of receipt.
FIELD_IDS_MAX = 1_102
_INT32_MAX = 2**31 - 1


def check(message: common_pb2.CreateSegment, field: str, *, is_foreign: bool = False) -> None:
    """Refuse facts that disagree with the segment's counts or with themselves.

    Those of an object that is no segment have format 0, and their times may lie within the
    registered ones.
    """
    facts = message.facts
    low, high = (0, 0) if is_foreign else (1, FORMAT_MAX)
    checks.count(facts.format_version, f"{field}.format_version", low=low, high=high)
    signals = [item.signal for item in facts.signals]
    if signals != sorted(set(signals)) or not all(0 < s <= SIGNAL_MAX for s in signals):
        raise InvalidArgument(
            f"{field}.signals are {signals}, not ascending numbers of 1 to {SIGNAL_MAX}",
            field=f"{field}.signals",
        )
    for index, item in enumerate(facts.signals):
        at = f"{field}.signals[{index}]"
        checks.count(item.number_of_events, f"{at}.number_of_events", low=1)
        checks.closed_range(item.time_range, f"{at}.time_range")
    if signals:
        _check_sums(message, field, is_foreign=is_foreign)
    ids = list(facts.promoted_field_ids)
    checks.at_most(ids, f"{field}.promoted_field_ids", FIELD_IDS_MAX)
    if ids != sorted(set(ids)) or (ids and ids[0] < 1):
        raise InvalidArgument(
            f"{field}.promoted_field_ids are not ascending", field=f"{field}.promoted_field_ids"
        )


def signal_mask(signals: Iterable[int]) -> int:
    """Return a number with bit n set for every signal n."""
    return sum(1 << signal for signal in set(signals))


def _check_sums(message: common_pb2.CreateSegment, field: str, *, is_foreign: bool) -> None:
    """The signals together must be the segment: readers leave out all else."""
    items = message.facts.signals
    events = sum(item.number_of_events for item in items)
    start = min(item.time_range.start_time for item in items)
    end = max(item.time_range.end_time for item in items)
    whole = message.time_range
    stated = (message.number_of_events, whole.start_time, whole.end_time)
    is_within = whole.start_time <= start and end <= whole.end_time
    if is_foreign and is_within and events == message.number_of_events:
        return
    if (events, start, end) != stated:
        raise InvalidArgument(
            f"{field}.signals have (events, start, end) {(events, start, end)}, "
            f"the segment has {stated}",
            field=f"{field}.signals",
        )
