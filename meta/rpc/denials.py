"""Denied calls, counted by host and reason: the log and the database get a bounded number of them.

The log gets the first of a kind in a window, and at its end their number. The database gets the
additions every few seconds, in rows by minute.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from meta.client.addresses import host_of
from meta.errors import MetaError

log = structlog.get_logger()
WINDOW_SECS = 60.0
SAVE_SECS = 5.0
# Pairs of host and reason in a window; the rest is counted as other hosts.
KEYS_MAX = 500
OTHERS = "others"
Counts = dict[tuple[str, str], int]


@dataclass(slots=True)
class Denials:
    """Counts of the current window, on the event loop.

    `store` saves counts, in a thread; None = they are not saved. `later` calls a function after
    some seconds; None = the running loop's.
    """

    later: Callable[[float, Callable[[], None]], object] | None = None
    store: Callable[[Mapping[tuple[str, str], int]], None] | None = None
    _counts: Counts = field(default_factory=dict)
    _unsaved: Counts = field(default_factory=dict)
    _saving: "asyncio.Task[None] | None" = None

    def note(self, peer: str, reason: str) -> bool:
        """Count a denial; True if it is the first of its kind in the window."""
        if not self._counts:
            self._call_later(WINDOW_SECS, self._report)
        key = _key(self._counts, host_of(peer), reason)
        seen = self._counts.get(key, 0)
        self._counts[key] = seen + 1
        if self.store is not None:
            if not self._unsaved:
                self._call_later(SAVE_SECS, self._begin_save)
            # A save that takes long does not let them grow.
            unsaved = _key(self._unsaved, *key)
            self._unsaved[unsaved] = self._unsaved.get(unsaved, 0) + 1
        return not seen

    async def save(self) -> None:
        """Save counts that are not saved yet; if that fails, they are in the log alone."""
        counts, self._unsaved = self._unsaved, {}
        if not counts or self.store is None:
            return
        try:
            await asyncio.to_thread(self.store, counts)
        except MetaError as error:
            # It is not tried again: it may have been saved, and the log has the calls.
            log.info("denials_not_saved", calls=sum(counts.values()), reason=error.reason)

    def _begin_save(self) -> None:
        if self._saving is not None and not self._saving.done():
            self._call_later(SAVE_SECS, self._begin_save)
            return
        self._saving = asyncio.get_running_loop().create_task(self.save())

    def _report(self) -> None:
        for (host, reason), calls in self._counts.items():
            if calls > 1:
                log.info("calls_denied", host=host, reason=reason, calls=calls, secs=WINDOW_SECS)
        self._counts.clear()

    def _call_later(self, secs: float, call: Callable[[], None]) -> None:
        (self.later or asyncio.get_running_loop().call_later)(secs, call)


def _key(counts: Counts, host: str, reason: str) -> tuple[str, str]:
    """The key of a host, or of the other hosts if there are too many."""
    key = host, reason
    return key if key in counts or len(counts) < KEYS_MAX else (OTHERS, reason)
