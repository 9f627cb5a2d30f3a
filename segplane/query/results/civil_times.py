"""Texts of dates and times from whole numbers, beyond the years of Python too."""

from __future__ import annotations

_DAY_NANOS = 86_400 * 10**9
_NANOS = {"s": 10**9, "ms": 10**6, "us": 1_000, "ns": 1}
_INFINITE = {2**63 - 1: "infinity", -(2**63) + 1: "-infinity"}
_INFINITE_DAYS = {2**31 - 1: "infinity", -(2**31) + 1: "-infinity"}


def date_text(days: int) -> str:
    """Return the date so many days after 1970-01-01, or DuckDB's `infinity`."""
    return _INFINITE_DAYS.get(days) or _civil(days)


def timestamp_text(count: int, unit: str, zone: str, *, is_fraction_always: bool) -> str:
    """Return a time in RFC 3339 with microseconds, nanoseconds if that is its unit."""
    if count in _INFINITE:
        return _INFINITE[count]
    days, nanos = divmod(count * _NANOS[unit], _DAY_NANOS)
    digits = 9 if unit == "ns" else 6
    clock = clock_text(nanos, digits, is_fraction_always=is_fraction_always)
    return f"{_civil(days)}T{clock}{zone}"


def clock_text(nanos: int, digits: int, *, is_fraction_always: bool) -> str:
    """Return hh:mm:ss, with a fraction of that many digits if it is wanted or not zero."""
    seconds, fraction = divmod(nanos, 10**9)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if fraction or is_fraction_always:
        text += f".{fraction // 10 ** (9 - digits):0{digits}}"
    return text


def _civil(days: int) -> str:
    """Return the date that many days after 1970-01-01, in eras of 400 years from March 1 on."""
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    number = month + 3 if month < 10 else month - 9
    full_year = year + era * 400 + (number <= 2)
    return f"{full_year:04}-{number:02}-{day - (153 * month + 2) // 5 + 1:02}"
