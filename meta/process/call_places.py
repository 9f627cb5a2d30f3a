"""Places of calls that anybody may hold open: a new call takes the place of the oldest.

A bound at which new calls are refused is used up by those who keep their places and send nothing.
Here such a call loses its place, and one that is answered within milliseconds never has to.
Places are taken from the holder that has most of them, so that one holder displaces no other.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import inf
from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
# A code, details and trailing metadata, as `context.abort` takes them.
Refusal: TypeAlias = tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]
# Why a call has lost its place; labels of a metric.
DISPLACED, LATE = "displaced", "late"
# A client that cancels a call also ends its message, and the cancellation may come last.
CANCELLATION_SECS = 0.05


def code_of(context: Context) -> str:
    """Return the name of the status that a handler has set, `OK` by default."""
    # gRPC has None until a handler sets a code, which the stubs do not say.
    return getattr(context.code(), "name", "OK")


class NoMessage(Exception):
    """The caller has ended its call without a message."""


class CallPlaces:
    """At most `most` calls, each for at most `secs`; used on the event loop.

    `refusal` returns the error of a call that loses its place, from the reason. At most
    `displaced_per_sec` of the displaced calls are ended a second, so that callers that begin
    another at once do not keep the event loop busy. A call whose message comes before it is ended
    is answered.
    """

    def __init__(
        self,
        most: int,
        secs: float,
        refusal: Callable[[Context, str], Refusal],
        displaced_per_sec: float = inf,
    ) -> None:
        self._most, self._secs = most, secs
        self._refusal = refusal
        self._pause_secs = 1 / displaced_per_sec
        # When the next displaced call may be ended.
        self._next_end_at = 0.0
        # For each call, oldest first: its time of arrival, its holder, and the task to cancel.
        self._held: dict[Context, tuple[float, str, asyncio.Task[Any] | None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Calls that are about to be aborted, and the tasks that do so.
        self._losing: set[Context] = set()
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """The number of calls that hold a place."""
        return len(self._held)

    async def read(self, context: Context, holder: str = "") -> bytes:
        """Read the one message of a holder's call, which has a place until then. Raises NoMessage.

        The call is aborted if it loses its place, which ends the read. A message that comes while
        its read is cancelled would be freed by nobody.
        """
        self._take(context, holder, None)
        try:
            raw = await context.read()
        finally:
            self._leave(context)
        if isinstance(raw, bytes):
            return raw
        await asyncio.sleep(CANCELLATION_SECS)
        raise NoMessage

    async def run(self, context: Context, work: Coroutine[Any, Any, None]) -> None:
        """Await the work of a call, which has a place; it is cancelled if it loses the place."""
        self._take(context, "", asyncio.current_task())
        try:
            await work
        finally:
            self._leave(context)

    def _take(self, context: Context, holder: str, task: asyncio.Task[Any] | None) -> None:
        if len(self._held) >= self._most:
            self._end(self._giving_way(), DISPLACED)
        loop = asyncio.get_running_loop()
        self._held[context] = loop.time(), holder, task
        if self._timer is None:
            self._timer = loop.call_later(self._secs, self._expire)

    def _giving_way(self) -> Context:
        """The oldest call of those holders that have most places."""
        places = Counter(holder for _, holder, _ in self._held.values())
        most = max(places.values())
        return next(call for call, (_, holder, _) in self._held.items() if places[holder] == most)

    def _leave(self, context: Context) -> None:
        self._held.pop(context, None)
        # It has its message, and is not aborted any more.
        self._losing.discard(context)

    def _expire(self) -> None:
        """End the calls whose time is over, and come back for the first that is left."""
        loop = asyncio.get_running_loop()
        self._timer = None
        for context, (taken_at, _, _) in list(self._held.items()):
            if taken_at + self._secs > loop.time():
                self._timer = loop.call_at(taken_at + self._secs, self._expire)
                break
            self._end(context, LATE)

    def _end(self, context: Context, why: str) -> None:
        _, _, task = self._held.pop(context)
        self._losing.add(context)
        ending = asyncio.get_running_loop().create_task(self._abort(context, why, task))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _abort(self, context: Context, why: str, task: asyncio.Task[Any] | None) -> None:
        if why == DISPLACED and self._pause_secs:
            now = asyncio.get_running_loop().time()
            self._next_end_at = max(self._next_end_at, now) + self._pause_secs
            await asyncio.sleep(min(self._next_end_at - now, self._secs))
        if context not in self._losing:
            # Its message came in the same turn of the loop, or while it waited.
            return
        # The caller may have left.
        with suppress(grpc.aio.BaseError):
            await context.abort(*self._refusal(context, why))
        if task is not None:
            task.cancel()
