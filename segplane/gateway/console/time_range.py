"""Time range of a page: `from` and `to` of its address, relative to now or absolute.

A bound is `now`, an age such as `-90m`, or an RFC 3339 time with up to nine digits of a second.
The start is included, the end is not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.management.times import nanos_of, text_of

_UNIT_SECS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SECOND = 10**9
_AGE = re.compile(r"-([0-9]{1,9})([smhdw])")
_DEFAULT_START, _NOW = "-1h", "now"
# The format's times are 64-bit nanoseconds since 1970.
NANOS_MAX = 2**63 - 1
_MICROS = 1_000


@dataclass(frozen=True, slots=True)
class TimeBound:
    """One end of a range; `age_nanos` is None if the address has an absolute time."""

    nanos: int
    age_nanos: int | None = None

    def text(self) -> str:
        """Return it as an address has it."""
        if self.age_nanos is None:
            return text_of(self.nanos)
        if self.age_nanos == 0:
            return _NOW
        seconds = self.age_nanos // _SECOND
        unit = next(unit for unit, size in _UNIT_SECS.items() if seconds % size == 0)
        return f"-{seconds // _UNIT_SECS[unit]}{unit}"


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The records from `start` on, before `end`."""

    start: TimeBound
    end: TimeBound

    def parameters(self) -> dict[str, str]:
        """Return it as parameters of an address."""
        return {"from": self.start.text(), "to": self.end.text()}

    def absolute(self) -> "TimeRange":
        """Return the same range without a relation to now."""
        return absolute_range(self.start.nanos, self.end.nanos)

    def previous(self) -> "TimeRange":
        """Return the range of the same length before it."""
        return absolute_range(2 * self.start.nanos - self.end.nanos, self.start.nanos)

    def next(self) -> "TimeRange":
        """Return the range of the same length after it."""
        return absolute_range(self.end.nanos, 2 * self.end.nanos - self.start.nanos)

    def zoomed_out(self) -> "TimeRange":
        """Return the range of twice its length: to the same end if that is relative to now."""
        length = self.end.nanos - self.start.nanos
        if self.start.age_nanos is None or self.end.age_nanos is None:
            return absolute_range(
                self.start.nanos - length // 2, self.end.nanos + length - length // 2
            )
        # Ages are whole seconds, and no time is before 1970.
        now_nanos = self.end.nanos + self.end.age_nanos
        age_nanos = min(self.start.age_nanos + length, now_nanos // _SECOND * _SECOND)
        return TimeRange(TimeBound(now_nanos - age_nanos, age_nanos), self.end)

    def kql(self) -> str:
        """Return it as a condition on `timestamp`.

        KQL's times have microseconds, of which `timestamp_nanos` holds the remainder.
        """
        start, start_remainder = _kql_time(self.start.nanos)
        end, end_remainder = _kql_time(self.end.nanos)
        lower, upper = f"timestamp >= {start}", f"timestamp < {end}"
        if start_remainder:
            lower += f" and (timestamp > {start} or timestamp_nanos >= {start_remainder})"
        if end_remainder:
            upper = f"timestamp <= {end} and (timestamp < {end}"
            upper += f" or timestamp_nanos < {end_remainder})"
        return f"{lower} and {upper}"


def parse_range(parameters: Mapping[str, str], now_nanos: int) -> TimeRange:
    """Parse the bounds of an address, by default the last hour. Raises QueryRefusal."""
    start = parse_bound("from", parameters.get("from") or _DEFAULT_START, now_nanos)
    end = parse_bound("to", parameters.get("to") or _NOW, now_nanos)
    if start.nanos >= end.nanos:
        raise QueryRefusal(
            f"the time range begins at {start.text()} and ends at {end.text()}:"
            " choose an end after its start"
        )
    return TimeRange(start, end)


def absolute_range(start_nanos: int, end_nanos: int) -> TimeRange:
    """Return a range between two times, within those of the format."""
    start = min(max(0, start_nanos), NANOS_MAX - 1)
    return TimeRange(TimeBound(start), TimeBound(min(max(start + 1, end_nanos), NANOS_MAX)))


def parse_bound(name: str, text: str, now_nanos: int) -> TimeBound:
    """Parse one time of an address. Raises QueryRefusal."""
    if text == _NOW:
        return TimeBound(now_nanos, 0)
    if match := _AGE.fullmatch(text):
        age_nanos = int(match[1]) * _UNIT_SECS[match[2]] * _SECOND
        bound = TimeBound(now_nanos - age_nanos, age_nanos)
    else:
        try:
            bound = TimeBound(nanos_of(text))
        except ValueError:
            raise QueryRefusal(
                f"{name} is {text[:80]!r}, expected now, an age such as -90m,"
                " or a time such as 2026-11-29T10:00:00Z"
            ) from None
    if not 0 <= bound.nanos <= NANOS_MAX:
        raise QueryRefusal(f"{name} is {text[:80]!r}, expected a time between 1970 and 2262")
    return bound


def _kql_time(nanos: int) -> tuple[str, int]:
    """Return a time as a literal of whole microseconds, and the remaining nanoseconds."""
    remainder = nanos % _MICROS
    return f"datetime({text_of(nanos - remainder)})", remainder
