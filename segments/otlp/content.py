"""Record count and time bounds of an OTLP export, by parsing it.

Needs protobuf alone, so that collectors import it. A payload is valid if the official classes parse
it. (If one record has its time twice and another has none, which no library writes, the time bounds
are those of the times on the wire. They are advice to the nursery's planner.)
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from segments.errors import SegmentsError
from segments.otlp.first_records import FirstRecords
from segments.otlp.validation import Times, checked, log_times
from segments.signals import Signal
from segments.v1.otlp_counts_pb2 import PointCounts, RecordCounts

# A time of 0 or from here on counts as absent: it would not fit a signed column.
_TIME_END = 1 << 63


@dataclass(frozen=True, slots=True)
class PayloadFacts:
    """Record count and time bounds (nanoseconds) of an export.

    (start_time, end_time) is None if no record has its own time.
    """

    num_records: int
    times: tuple[int, int] | None
    has_untimed: bool
    # Bytes of the largest resource, scope, log record, span or data point.
    part_bytes_max: int = field(default=0, compare=False)
    # Records, metrics, scopes and resources.
    num_parts: int = field(default=0, compare=False)
    # Paths of a record that is of another signal, and of an id that is hexadecimal letters.
    foreign: str = field(default="", compare=False)
    hex_id: str = field(default="", compare=False)

    def time_bounds(self, received_at: int) -> tuple[int, int]:
        """Time bounds, with records that carry no time placed at the time of arrival."""
        if self.times is None:
            return received_at, received_at
        if not self.has_untimed:
            return self.times
        return min(self.times[0], received_at), max(self.times[1], received_at)


class TooManyParts(SegmentsError):
    """The payload has `num_parts` or more records, metrics, scopes and resources in all."""

    def __init__(self, num_parts: int) -> None:
        super().__init__(f"{num_parts} records, metrics, scopes and resources or more")
        self.num_parts = num_parts


def read_facts(signal: Signal, payload: bytes, records_max: int = sys.maxsize) -> PayloadFacts:
    """Parse an export request; raises DecodeError if the official classes do.

    Raises TooManyParts, quickly, if it has more records, metrics, scopes and resources in all than
    `records_max`: an empty one is two bytes on the wire, and hundreds in memory.
    """
    facts = _counted(signal, payload, records_max)
    if facts.num_parts > records_max:
        # Raised here, because objects that the traceback holds stay until the next collection.
        raise TooManyParts(facts.num_parts)
    times = checked(signal, payload)
    facts = _timed(facts, times.of_events())
    return _observed(payload, facts, times) if signal == "logs" and facts.has_untimed else facts


def _counted(signal: Signal, payload: bytes, parts_max: int) -> PayloadFacts:
    """Count records and parts, but not much further than to `parts_max`."""
    num_records = num_parts = part_bytes_max = 0
    first_records = FirstRecords(signal)
    lists_of = _point_lists if signal == "metrics" else _record_lists
    lists = lists_of(payload, first_records)
    for others, records, part in lists:
        num_records += len(records)
        num_parts += others + len(records)
        if num_parts > parts_max:
            break
        part_bytes_max = max(part_bytes_max, len(part))
        if records:
            # Sliced, since that makes a list at once; sorting takes three quarters of max's time.
            by_size = sorted(records[:], key=len)
            part_bytes_max = max(part_bytes_max, len(by_size[-1]))
    path, hex_id = first_records.foreign, first_records.hex_id
    return PayloadFacts(num_records, None, False, part_bytes_max, num_parts, path, hex_id)


def _record_lists(
    payload: bytes, first_records: FirstRecords
) -> Iterator[tuple[int, Sequence[bytes], bytes]]:
    """Per list on the way down: how many other parts are in it, its records, whose list it is."""
    resources = RecordCounts.FromString(payload).resources
    yield len(resources), (), b""
    for index, resource in enumerate(resources):
        yield len(resource.scopes), (), resource.resource
        for scope_place, scope in enumerate(resource.scopes):
            if records := scope.records:
                first_records.look(index, scope_place, records[0])
            yield 0, records, scope.scope


def _point_lists(
    payload: bytes, first_records: FirstRecords
) -> Iterator[tuple[int, Sequence[bytes], bytes]]:
    resources = PointCounts.FromString(payload).resources
    yield len(resources), (), b""
    for index, resource in enumerate(resources):
        yield len(resource.scopes), (), resource.resource
        for scope_place, scope in enumerate(resource.scopes):
            if scope.metrics:
                first_records.look_at_fields(index, scope_place, scope.metrics[0])
            yield len(scope.metrics), (), scope.scope
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind is not None:
                    yield 0, getattr(metric, kind).data_points, b""


def _observed(payload: bytes, facts: PayloadFacts, times: Times) -> PayloadFacts:
    """The facts of logs of which some do not say when they happened.

    Those happened when they were observed. Finding them takes a walk, unless it is all.
    """
    if facts.times is None and not times.are_hidden:
        return _timed(facts, times.of_observation())
    walked = [
        time if 0 < time < _TIME_END else observed_time
        for time, observed_time in log_times(payload)
    ]
    return _timed(facts, walked)


def _timed(facts: PayloadFacts, times: list[int]) -> PayloadFacts:
    """Span times that may be unordered, absent, or not as many as there are records."""
    # Sorted rather than min and max: records come mostly in order, and that is three times faster.
    times.sort()
    if times and (times[0] == 0 or times[-1] >= _TIME_END):
        times = [time for time in times if 0 < time < _TIME_END]
    time_bounds = (times[0], times[-1]) if times else None
    return replace(facts, times=time_bounds, has_untimed=len(times) != facts.num_records)
