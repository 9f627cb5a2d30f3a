"""Parsing of times on the command line: RFC 3339, or an age such as 90m."""

import re
from datetime import UTC, datetime, timedelta

_AGE = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_UNIT_SECS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_time(text: str, now: datetime) -> int:
    """Return nanoseconds since the epoch; an age counts back from `now`. Raises ValueError."""
    if _AGE.fullmatch(text):
        return int((now.timestamp() - parse_age(text).total_seconds()) * 1e9)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither RFC 3339 (2026-11-21T10:00:00Z) nor 90m") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + moment.microsecond * 1000


def parse_age(text: str) -> timedelta:
    """Return a length of time such as 90m or 7d. Raises ValueError."""
    matched = _AGE.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text!r} is not an age such as 90m or 7d")
    try:
        return timedelta(seconds=float(matched[1]) * _UNIT_SECS[matched[2]])
    except OverflowError:
        raise ValueError(f"{text!r} is too long an age") from None
