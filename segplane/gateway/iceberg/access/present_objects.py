"""Objects that a caller may still read: those of a minute ago, and those of now."""

import re
import time
from collections.abc import Callable

from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.iceberg.refusals import ObjectGone

# Far below any grace: an object that is deleted has not been handed out for one.
KNOWN_SECS = 60.0
KNOWN_MAX = 10_000
_VERSION = re.compile(r".*/(?:snapshot-|v)([0-9]+)\.(?:avro|metadata\.json)")


class PresentObjects:
    """Keys of objects that were there lately; safe for many threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._seen_at: RecentValues[str, float] = RecentValues(KNOWN_MAX)

    def check(self, key: str, is_missing: Callable[[], bool]) -> None:
        """Raise ObjectGone for an object that the store has no more."""
        now = self._monotonic()
        seen_at = self._seen_at.find(key)
        if seen_at is not None and now - seen_at < KNOWN_SECS:
            return
        if is_missing():
            raise ObjectGone(sentence(key))
        self._seen_at.keep(key, now)


def sentence(key: str) -> str:
    """Return the remedy for an object that is gone, with its version if the key has it."""
    match = _VERSION.fullmatch(key)
    which = f"version {match[1]} of this table" if match else "the version of this table"
    return (
        f"{which} that is read has expired, and its objects are deleted: load the table again, and"
        " pin a version (PinVersion) for longer reads"
    )
