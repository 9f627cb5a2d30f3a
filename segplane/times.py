"""Times as people type them: RFC 3339, or an age such as 90m."""

import re
from datetime import UTC, datetime

_AGE = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_UNIT_SECS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_time(text: str, now: datetime) -> int:
    """Return nanoseconds since the epoch; an age counts back from `now`. Raises ValueError."""
    if found := _AGE.fullmatch(text):
        age_secs = float(found[1]) * _UNIT_SECS[found[2]]
        return int((now.timestamp() - age_secs) * 1e9)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither RFC 3339 (2026-11-21T10:00:00Z) nor 90m") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1_000_000_000 + moment.microsecond * 1000
