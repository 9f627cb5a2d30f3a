"""Objects that a caller may still read: those of a minute ago, and those of now."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from segplane.gateway.iceberg.refusals import ObjectGone

# Far below any grace: an object that is deleted has not been handed out for one.
KNOWN_SECS = 60.0
KNOWN_MAX = 10_000
_VERSION = re.compile(r".*/(?:snapshot-|v)([0-9]+)\.(?:avro|metadata\.json)")


class PresentObjects:
    """Keys of objects that were there lately; safe for many threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        # Asked for longest ago first.
        self._known: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, key: str, is_missing: Callable[[], bool]) -> None:
        """Raise ObjectGone for an object that the store has no more."""
        now = self._monotonic()
        with self._lock:
            if now - self._known.get(key, float("-inf")) < KNOWN_SECS:
                return
        if is_missing():
            raise ObjectGone(sentence(key))
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = now
            while len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)


def sentence(key: str) -> str:
    """Return the remedy for an object that is gone, with its version if the key has it."""
    match = _VERSION.fullmatch(key)
    which = f"version {match[1]} of this table" if match else "the version of this table"
    return (
        f"{which} that is read has expired, and its objects are deleted: load the table again, and"
        " pin a version (PinVersion) for longer reads"
    )
