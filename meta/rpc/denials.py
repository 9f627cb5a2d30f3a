"""Denied calls, counted by host and reason: one log line each a minute, however many calls come."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from meta.addresses import host_of

log = structlog.get_logger()
WINDOW_SECS = 60.0
# Of host and reason in a window; the rest is counted as other hosts.
KEYS_MAX = 500
OTHERS = "others"


@dataclass(slots=True)
class Denials:
    """Counts of the current window, on the event loop.

    `later` calls a function after some seconds; None = the running loop's.
    """

    later: Callable[[float, Callable[[], None]], object] | None = None
    _counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def note(self, peer: str, reason: str) -> bool:
        """Count a denial; True if it is the first of its kind in the window."""
        if not self._counts:
            later = self.later or asyncio.get_running_loop().call_later
            later(WINDOW_SECS, self._report)
        key = host_of(peer), reason
        if key not in self._counts and len(self._counts) >= KEYS_MAX:
            key = OTHERS, reason
        seen = self._counts.get(key, 0)
        self._counts[key] = seen + 1
        return not seen

    def _report(self) -> None:
        for (host, reason), calls in self._counts.items():
            if calls > 1:
                log.info("calls_denied", host=host, reason=reason, calls=calls, secs=WINDOW_SECS)
        self._counts.clear()
