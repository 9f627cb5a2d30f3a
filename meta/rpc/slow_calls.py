"""Check of the durations of short calls, for the report of a server.

Their work is one short transaction each, so that a second means that Postgres is slow, or that the
machine is.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from meta.metrics import RPC_SECONDS
from meta.v1.status_pb2 import ProcessCheck

SHORT_CALLS = ("CommitOffset", "RegisterMergedSegments", "DownloadConfig")
# Calls of the last two minutes are judged, between two reports.
WINDOW_SECS = 120.0
SLOW_MIN = 3
SLOW_SHARE_MAX = 0.05


class CallTotals(NamedTuple):
    """Short calls since the start of the server, and those that took longer than a second."""

    calls: int
    slow: int


class SlowCalls:
    """Compares the totals of now with those of two minutes ago; safe for many threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._seen = deque([(monotonic(), totals())])

    def __call__(self) -> ProcessCheck:
        """Return the check of now."""
        now, current = self._monotonic(), totals()
        with self._lock:
            self._seen.append((now, current))
            while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_SECS:
                self._seen.popleft()
            before = self._seen[0][1]
        calls, slow = current.calls - before.calls, current.slow - before.slow
        is_ok = slow < SLOW_MIN or slow <= SLOW_SHARE_MAX * calls
        text = f"{slow} of the last {calls} short calls took longer than a second"
        if not is_ok:
            text += ": Postgres is slow (locks, its disk, its load), or this machine"
        return ProcessCheck(name="calls", is_ok=is_ok, text=text)


def totals() -> CallTotals:
    """Count the short calls by their histogram."""
    (family,) = RPC_SECONDS.collect()
    calls = fast = 0.0
    for sample in family.samples:
        if sample.labels["rpc"] in SHORT_CALLS:
            calls += sample.value if sample.name.endswith("_count") else 0
            fast += sample.value if sample.labels.get("le") == "1.0" else 0
    return CallTotals(int(calls), int(calls - fast))
