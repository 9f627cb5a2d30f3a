"""Deadlines of exports: one timer for all of them.

A timer and an `asyncio.wait` for each export took 3 % of the event loop.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class _Wait:
    until: float
    waiter: "asyncio.Future[None]"


@dataclass(slots=True)
class Deadlines:
    """Pending waits of one event loop, in the order in which they expire."""

    timeout_secs: float
    _waits: "deque[_Wait]" = field(default_factory=deque)
    _timer: "asyncio.TimerHandle | None" = None

    async def wait(self, awaited: "asyncio.Future[Any]") -> None:
        """Return once a future is done or the time is over; the future continues either way."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def wake(_: object) -> None:
            _end(waiter)

        # The task itself is not awaited: a caller that goes away would cancel it for the others.
        awaited.add_done_callback(wake)
        self._forget_ended()
        self._waits.append(_Wait(loop.time() + self.timeout_secs, waiter))
        if self._timer is None:
            self._timer = loop.call_later(self.timeout_secs, self._expire)
        try:
            await waiter
        finally:
            awaited.remove_done_callback(wake)
            _end(waiter)

    def _expire(self) -> None:
        """End the waits whose time is over; come back for the first that is left."""
        loop = asyncio.get_running_loop()
        self._forget_ended()
        while self._waits and self._waits[0].until <= loop.time():
            _end(self._waits.popleft().waiter)
            self._forget_ended()
        self._timer = None
        if self._waits:
            self._timer = loop.call_at(self._waits[0].until, self._expire)

    def _forget_ended(self) -> None:
        while self._waits and self._waits[0].waiter.done():
            self._waits.popleft()


def _end(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
