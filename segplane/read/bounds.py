"""Bounds of event time that a reader asks for."""

from dataclasses import dataclass
from datetime import UTC, datetime

from meta.v1 import common_pb2
from segplane.read.errors import ReadError
from segplane.terminal.times import parse_time

Moment = str | int | datetime
NANOS_MIN, NANOS_MAX = -(2**63), 2**63 - 1
_WIDER_BY = 8


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """Event times in nanoseconds, [start, end); None = no bound."""

    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        for nanos in (self.start, self.end):
            if nanos is not None and not NANOS_MIN <= nanos <= NANOS_MAX:
                raise ReadError(f"time {nanos} is not within 64 bits of nanoseconds")
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ReadError(f"start {self.start} is not before end {self.end} (nanoseconds)")

    def overlap(self, first: int, last: int) -> bool:
        """Return true if some time of first..last, both inclusive, is within the bounds."""
        return (self.end is None or first < self.end) and (self.start is None or last >= self.start)

    def contain(self, first: int, last: int) -> bool:
        """Return true if every time of first..last, both inclusive, is within the bounds."""
        return (self.end is None or last < self.end) and (self.start is None or first >= self.start)

    def within(self, start: int | None, end: int | None) -> "TimeBounds":
        """Return the part that is within [start, end), which may be beyond 64 bits.

        If there is none, the bounds are some that no record has.
        """
        start = max((s for s in (start, self.start) if s is not None), default=None)
        end = min((e for e in (end, self.end) if e is not None), default=None)
        if start is not None and (start > NANOS_MAX or (end is not None and start >= end)):
            return TimeBounds(NANOS_MIN, NANOS_MIN + 1)
        if end is not None and end <= NANOS_MIN:
            return TimeBounds(NANOS_MIN, NANOS_MIN + 1)
        return TimeBounds(
            None if start is None or start < NANOS_MIN else start,
            None if end is None or end > NANOS_MAX else end,
        )

    def moved(self, nanos: int) -> "TimeBounds":
        """Return the bounds of times to which nanoseconds were added."""
        start, end = (None if n is None else n + nanos for n in (self.start, self.end))
        return TimeBounds().within(start, end)

    def time_range(self) -> common_pb2.TimeRange | None:
        """Return the bounds as FindSegments takes them; None = all times."""
        if self.start is None and self.end is None:
            return None
        # An end of NANOS_MAX is not a bound.
        return common_pb2.TimeRange(
            start_time=NANOS_MIN if self.start is None else self.start,
            end_time=NANOS_MAX if self.end is None else self.end,
        )


def time_bounds(start: Moment | None, end: Moment | None) -> TimeBounds:
    """Read the bounds: RFC 3339, an age such as 90m, a datetime, or nanoseconds."""
    now = datetime.now(UTC)
    return TimeBounds(_nanos("start", start, now), _nanos("end", end, now))


def _nanos(name: str, moment: Moment | None, now: datetime) -> int | None:
    if moment is None or isinstance(moment, int):
        return moment
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise ReadError(f"{name} is {moment.isoformat()} without a time zone: add one")
        # A pandas Timestamp is a datetime, and has nanoseconds.
        return parse_time(moment.isoformat(), now) + int(getattr(moment, "nanosecond", 0))
    try:
        return parse_time(moment, now)
    except ValueError as error:
        raise ReadError(f"{name}: {error}") from None


def moment_nanos(name: str, moment: str | datetime) -> int:
    """Read one time as nanoseconds, as the bounds are read. Raises ReadError."""
    nanos = _nanos(name, moment, datetime.now(UTC))
    assert nanos is not None
    return nanos


def widened(bounds: TimeBounds, now: int) -> TimeBounds:
    """Return bounds that stay the same for a while as the times of a sliding window advance.

    Each moves away by at most an eighth of its distance from now.
    """
    start, end = bounds.start, bounds.end
    if start is not None:
        grain = _grain(now - start)
        start = max(NANOS_MIN, start // grain * grain)
    if end is not None:
        grain = _grain(now - end)
        end = None if end >= now else -(-end // grain) * grain
    return TimeBounds(start, end)


def _grain(distance: int) -> int:
    """Return the greatest power of two that is at most an eighth of a distance."""
    return 1 << (max(1, abs(distance) // _WIDER_BY).bit_length() - 1)
