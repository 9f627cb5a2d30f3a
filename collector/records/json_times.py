"""Times of JSON records: RFC 3339, or a number in a named unit or that of its magnitude."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, get_args

from collector.records.json_values import Misfit, NotJson, Number

TimestampUnit = Literal["s", "ms", "us", "ns"]
TIMESTAMP_UNITS: tuple[TimestampUnit, ...] = get_args(TimestampUnit)
_NANOS: dict[TimestampUnit, int] = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
# 1990 to 2100 in seconds: in these bounds the magnitude of a number shows its unit.
_GUESSED_SECS = (631_152_000, 4_102_444_800)
# The rule is that of OTLP: a time must fit a signed column, and 0 means that there is none.
_TIME_MAX = (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
# Digits of a number that is a time.
_DIGITS_MAX = 40
FIELD = "timestamp"


def nanos(value: Any, unit: TimestampUnit | None) -> int:
    """Read a parsed value as nanoseconds since 1970; raises Misfit."""
    if isinstance(value, Number) or (isinstance(value, int) and not isinstance(value, bool)):
        read = _nanos_of_number(str(value), unit)
    elif isinstance(value, str) and not isinstance(value, NotJson):
        read = _nanos_of_text(value)
    else:
        raise Misfit(FIELD, "the time is neither text nor a number")
    if not 0 < read <= _TIME_MAX:
        raise Misfit(FIELD, "the time is not between 1970 and 2262")
    return read


def _nanos_of_number(digits: str, unit: TimestampUnit | None) -> int:
    # Checked before the multiplication: ten letters can name a number of a million digits.
    exponent = digits.lower().partition("e")[2] or "0"
    if len(digits) > _DIGITS_MAX or abs(int(exponent)) > _DIGITS_MAX:
        raise Misfit(FIELD, "the number has too many digits for a time")
    number = Decimal(digits)
    if unit is None:
        first, last = _GUESSED_SECS
        units = [u for u in TIMESTAMP_UNITS if first <= number * _NANOS[u] / _NANOS["s"] < last]
        if not units:
            raise Misfit(
                FIELD,
                "the number is not a time between 1990 and 2100 in seconds, milliseconds,"
                " microseconds or nanoseconds: name its unit with ?timestamp_unit=, or set that of"
                " the dataset",
            )
        (unit,) = units
    nanos = number * _NANOS[unit]
    if nanos != int(nanos):
        raise Misfit(FIELD, "the time is finer than a nanosecond")
    return int(nanos)


def _nanos_of_text(text: str) -> int:
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise Misfit(FIELD, "the text is not an RFC 3339 time such as 2026-11-25T09:30:00.5Z")
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper().replace('Z', '+00:00')}")
        seconds = int((moment - _EPOCH).total_seconds())
    except (ValueError, OverflowError):
        raise Misfit(FIELD, "the text is not a time of the calendar") from None
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))
