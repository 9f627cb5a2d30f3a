"""Event streams of browsers: their number is bounded, and each ends in time.

A stream has at most eight live views. It ends at a drain, at the end of its credential and after an
hour; the browser then opens another one, from the versions on that it has seen.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from segplane.gateway.console.live.views import ViewEvent
from segplane.gateway.http.hangups import gone
from segplane.gateway.http.refusals import Busy, CallerGone, QueryRefusal

STREAMS_MAX, PERSON_STREAMS_MAX = 128, 8
RETRY_MILLIS = 2_000
# Events that wait for a browser that reads slowly; then its views wait.
_WAITING_MAX = 2
Events = Callable[[], AsyncGenerator[ViewEvent]]


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """Seconds between comments, between checks of the credential, and of a stream's life.

    A check takes less than the second that remains to five.
    """

    comment_secs: float = 15.0
    check_secs: float = 4.0
    life_secs: float = 3_600.0


_TIMES = StreamTimes()


class LiveStreams:
    """The streams of one gateway; used on the event loop."""

    def __init__(self, times: StreamTimes = _TIMES) -> None:
        self.times = times
        self._by_person: Counter[str] = Counter()
        self.drained = asyncio.Event()

    @property
    def number(self) -> int:
        """The number of streams that are open."""
        return self._by_person.total()

    def check(self, person: str) -> None:
        """Raise Busy if one more stream of a person would be too many."""
        if self.number >= STREAMS_MAX:
            raise Busy(f"this gateway has {STREAMS_MAX} live streams: try later", retry_secs=5)
        if self._by_person[person] >= PERSON_STREAMS_MAX:
            message = f"this person has {PERSON_STREAMS_MAX} live streams: close some"
            raise Busy(message, retry_secs=5)

    def begin(self, person: str) -> None:
        """Count a stream of a person until it ends. Raises Busy."""
        self.check(person)
        self._by_person[person] += 1

    def end(self, person: str) -> None:
        """Count it no more."""
        self._by_person[person] -= 1
        if not self._by_person[person]:
            del self._by_person[person]

    def drain(self) -> None:
        """End all streams."""
        self.drained.set()


class EventStream(Response):
    """An answer of server-sent events, which ends when one of several things happens.

    `check` raises if the credential does not hold any more. Events of each view name its number,
    and the id of an event has the versions of all views.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        request: Request,
        streams: LiveStreams,
        person: str,
        check: Callable[[], Awaitable[object]],
        views: Sequence[Events],
        versions: Sequence[int],
    ) -> None:
        super().__init__()
        del self.headers["content-length"]
        # Proxies would keep events back.
        self.headers["x-accel-buffering"] = "no"
        self._request = request
        self._streams = streams
        self._person = person
        self._check = check
        self._views = views
        self._versions = list(versions)
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MAX)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send events until the stream ends."""
        try:
            self._streams.begin(self._person)
        except Busy:
            # Others have begun since the request was checked.
            self.status_code = Busy.status
            await self._begin(send, b"", more_body=False)
            return
        try:
            await self._begin(send, f"retry: {RETRY_MILLIS}\n\n".encode(), more_body=True)
            await self._work(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.end(self._person)

    async def _begin(self, send: Send, body: bytes, *, more_body: bool) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": body, "more_body": more_body})

    async def _work(self, send: Send) -> None:
        """Return once one of the things that end the stream has happened."""
        endings = [
            gone(self._request),
            self._streams.drained.wait(),
            self._checked(),
            asyncio.sleep(self._streams.times.life_secs),
            self._sent(send),
        ]
        views = [self._followed(number, events) for number, events in enumerate(self._views)]
        ending = [asyncio.ensure_future(each) for each in endings]
        working = [asyncio.ensure_future(each) for each in (self._commented(), *views)]
        try:
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*ending, *working):
                task.cancel()
            await asyncio.gather(*ending, *working, return_exceptions=True)

    async def _sent(self, send: Send) -> None:
        while True:
            body = await self._waiting.get()
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _commented(self) -> None:
        """Send a comment now and then, by which proxies see that the stream lives."""
        while True:
            await asyncio.sleep(self._streams.times.comment_secs)
            await self._waiting.put(b": alive\n\n")

    async def _checked(self) -> None:
        """Return when the credential has ended."""
        while True:
            await asyncio.sleep(self._streams.times.check_secs)
            try:
                await self._check()
            except QueryRefusal as refusal:
                # Whether it holds is not known while meta does not answer.
                if not refusal.retry_secs and refusal.status < 500:
                    return

    async def _followed(self, number: int, events: Events) -> None:
        """Send the events of one view, and the refusal that ends it."""
        try:
            async with aclosing(events()) as following:
                async for event in following:
                    self._versions[number] = event.through
                    await self._put(number, event.kind, event.values)
        except QueryRefusal as refusal:
            values = {"message": str(refusal), "excerpt": refusal.excerpt}
            await self._put(number, "refused", values)
        except CallerGone:
            pass

    async def _put(self, number: int, kind: str, values: Mapping[str, object]) -> None:
        shown = {"view": number, "through": self._versions[number], **values}
        data = json.dumps(shown, ensure_ascii=False)
        versions = ".".join(map(str, self._versions))
        event = f"event: {kind}\nid: {versions}\ndata: {data}\n\n"
        await self._waiting.put(event.encode(errors="replace"))
