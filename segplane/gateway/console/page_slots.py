"""Slots of pages: a caller has few, and a page holds its slot until it is sent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from segplane.gateway.http.hangups import gone, unless
from segplane.gateway.http.refusals import Busy
from segplane.gateway.queries.settings import QuerySettings

WAITING_MAX = 64
# Their requests of the catalog have limits of their own.
_WITHOUT_QUERIES = frozenset(
    f"GET /ui/{name}"
    for name in (
        *("", "empty", "find", "query/names", "dataset", "pipeline", "deletion", "access"),
        *("streams", "streams/{stream_id}", "merges", "merges/segment", "merges/task"),
        *("dataset/versions", "dataset/segments"),
        *("logs/save", "query/save", "logs/live", "live/events"),
    )
)
# They read all records of a search, and may not keep its list waiting.
_SLOW = frozenset(
    f"GET /ui/{name}"
    for name in ("logs/histogram", "logs/values", "logs/download", "query/download")
)


class _CallerSlots:
    """The slots of one caller, and the number of its pages that wait for them."""

    def __init__(self, pages: int) -> None:
        self.pages = asyncio.Semaphore(pages)
        self.slow_pages = asyncio.Semaphore(1)
        self.live_reads = asyncio.Semaphore(1)
        self.waiting = 0


class PageSlots:
    """Slots of all callers: pages take half of a caller's queries, its programs have the rest."""

    def __init__(self, settings: QuerySettings) -> None:
        self._pages = max(1, settings.caller_concurrent // 2)
        self._secs = settings.secs
        # Of callers with a page under way; the others' are forgotten.
        self._callers: WeakValueDictionary[str, _CallerSlots] = WeakValueDictionary()

    async def respond(
        self, route: str, caller: str, request: Request, page: Callable[[], Awaitable[Response]]
    ) -> Response:
        """Make a page once it has a slot. Raises QueryRefusal, CallerGone."""
        if route in _WITHOUT_QUERIES:
            # A query looks by itself whether its caller is still there.
            hangup = asyncio.create_task(gone(request))
            try:
                return await unless(hangup, page())
            finally:
                hangup.cancel()
        slots = self._slots_of(caller)
        async with AsyncExitStack() as stack:
            kinds = [slots.slow_pages, slots.pages] if route in _SLOW else [slots.pages]
            async with self._waiting(slots, request) as hangup:
                for kind in kinds:
                    await unless(hangup, stack.enter_async_context(kind))
            response = await page()
            return _HeldResponse(response, stack.pop_all())

    @asynccontextmanager
    async def live_read(self, caller: str, request: Request) -> AsyncIterator[None]:
        """Hold a slot for a read of a live view, of which a caller has one at a time.

        Raises QueryRefusal, CallerGone.
        """
        slots = self._slots_of(caller)
        async with AsyncExitStack() as stack:
            async with self._waiting(slots, request) as hangup:
                for kind in (slots.live_reads, slots.pages):
                    await unless(hangup, stack.enter_async_context(kind))
            yield

    def _slots_of(self, caller: str) -> _CallerSlots:
        return self._callers.setdefault(caller, _CallerSlots(self._pages))

    @asynccontextmanager
    async def _waiting(
        self, slots: _CallerSlots, request: Request
    ) -> AsyncIterator["asyncio.Task[None]"]:
        """Wait for slots within limits, with a task that ends when the browser leaves."""
        if slots.waiting >= WAITING_MAX:
            message = f"{slots.waiting} pages of this person wait: close some, and try again"
            raise Busy(message, retry_secs=1)
        slots.waiting += 1
        hangup = asyncio.create_task(gone(request))
        try:
            async with asyncio.timeout(self._secs):
                yield hangup
        except TimeoutError:
            message = "other pages of this person took all the time: try again"
            raise Busy(message, retry_secs=1) from None
        finally:
            slots.waiting -= 1
            hangup.cancel()


class _HeldResponse(Response):
    """A response that releases what it holds once it is sent, or cannot be sent."""

    def __init__(self, response: Response, held: AsyncExitStack) -> None:
        self._response, self._held = response, held
        self.status_code, self.raw_headers = response.status_code, response.raw_headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        async with self._held:
            await self._response(scope, receive, send)
