"""Times in JSON: RFC 3339 to the nanosecond, as whole nanoseconds since the epoch."""

import re
from datetime import UTC, datetime, timedelta

_NANOS = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.]([0-9]{1,9}))?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def nanos_of(text: str) -> int:
    """Return the nanoseconds of a time. Raises ValueError."""
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:80]!r} is not an RFC 3339 time")
    day, clock, fraction, zone = match.groups()
    moment = datetime.fromisoformat(f"{day}T{clock}{zone.upper().replace('Z', '+00:00')}")
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return seconds * _NANOS + int((fraction or "").ljust(9, "0"))


def text_of(nanos: int) -> str:
    """Return a time with its microseconds, or with nanoseconds if it has some."""
    seconds, fraction = divmod(nanos, _NANOS)
    digits = f"{fraction:09d}"
    moment = _EPOCH + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{digits.removesuffix('000')}Z"
