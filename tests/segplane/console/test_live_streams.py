"""Event streams: how many there may be, comments, and each of the things that end one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from segplane.gateway.console.live.streams import (
    PERSON_STREAMS_MAX,
    STREAMS_MAX,
    EventStream,
    LiveStreams,
    StreamTimes,
)
from segplane.gateway.console.live.views import ViewEvent
from segplane.gateway.console.page_slots import PageSlots
from segplane.gateway.http.refusals import Busy, NotKnown, NotNow, NotThere
from segplane.gateway.queries.settings import QuerySettings


async def silent() -> AsyncGenerator[ViewEvent]:
    await asyncio.Event().wait()
    yield ViewEvent("state", 0, {})


async def holds() -> None:
    """Accept the credential."""


class Browser:
    """The other end of a stream."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.has_left = asyncio.Event()

    async def receive(self) -> Message:
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def body(self) -> str:
        return b"".join(m.get("body", b"") for m in self.sent).decode()

    async def read(
        self,
        streams: LiveStreams,
        *views: Callable[[], AsyncGenerator[ViewEvent]],
        check: Callable[[], Awaitable[object]] = holds,
        versions: Sequence[int] = (0, 0),
    ) -> None:
        request = Request({"type": "http", "headers": []}, self.receive)
        stream = EventStream(request, streams, "ada", check, views, versions[: len(views)])
        async with asyncio.timeout(10):
            await stream(request.scope, self.receive, self.send)


def test_a_person_and_a_gateway_have_so_many_streams() -> None:
    streams = LiveStreams()
    for _ in range(PERSON_STREAMS_MAX):
        streams.begin("ada")
    with pytest.raises(Busy, match="this person has 8"):
        streams.check("ada")
    for number in range(STREAMS_MAX - PERSON_STREAMS_MAX):
        streams.begin(f"person {number}")
    with pytest.raises(Busy, match="this gateway has 128"):
        streams.begin("eve")

    streams.end("ada")

    assert streams.number == STREAMS_MAX - 1
    streams.begin("ada")


def test_a_stream_that_comes_too_late_for_its_slot_is_refused() -> None:
    async def scenario() -> Browser:
        streams, browser = LiveStreams(), Browser()
        for _ in range(PERSON_STREAMS_MAX):
            streams.begin("ada")
        await browser.read(streams, silent)
        assert streams.number == PERSON_STREAMS_MAX
        return browser

    assert asyncio.run(scenario()).sent[0]["status"] == 429


@pytest.mark.parametrize("ending", ["left", "drained", "credential", "life"])
def test_each_ending_ends_the_stream_and_frees_its_slot(ending: str) -> None:
    async def scenario() -> Browser:
        secs = {"check_secs": 0.01} if ending == "credential" else {}
        times = StreamTimes(life_secs=0.01 if ending == "life" else 60.0, **secs)
        streams, browser = LiveStreams(times), Browser()

        async def check() -> None:
            raise NotKnown("it was revoked")

        reading = asyncio.create_task(browser.read(streams, silent, check=check))
        await asyncio.sleep(0)
        if ending == "left":
            browser.has_left.set()
        if ending == "drained":
            streams.drain()
        await reading
        assert streams.number == 0
        return browser

    sent = asyncio.run(scenario()).sent
    assert sent[0]["status"] == 200
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_a_stream_lasts_while_meta_cannot_say_whether_its_credential_holds() -> None:
    async def scenario() -> int:
        streams, browser, checks = LiveStreams(StreamTimes(check_secs=0.001)), Browser(), 0

        async def check() -> None:
            nonlocal checks
            checks += 1
            if checks == 5:
                browser.has_left.set()
            raise NotNow("meta does not answer", "", 2)

        await browser.read(streams, silent, check=check)
        return checks

    assert asyncio.run(scenario()) >= 5


def test_comments_come_while_nothing_happens() -> None:
    async def scenario() -> str:
        streams, browser = LiveStreams(StreamTimes(comment_secs=0.01, life_secs=0.5)), Browser()
        await browser.read(streams, silent)
        return browser.body

    assert asyncio.run(scenario()).startswith("retry: 2000\n\n: alive\n\n: alive\n\n")


def test_events_name_their_view_and_the_versions_of_all() -> None:
    async def scenario() -> str:
        streams, browser = LiveStreams(), Browser()

        async def first() -> AsyncGenerator[ViewEvent]:
            yield ViewEvent("rows", 12, {"html": "line\n\nevent: forged"})
            await asyncio.Event().wait()

        async def second() -> AsyncGenerator[ViewEvent]:
            if browser.has_left.is_set():
                yield ViewEvent("rows", 0, {})
            raise NotThere("there is no such dataset")

        reading = asyncio.create_task(browser.read(streams, first, second, versions=(0, 7)))
        while browser.body.count("event:") < 3:
            await asyncio.sleep(0.001)
        browser.has_left.set()
        await reading
        return browser.body

    _, rows, refused, _ = asyncio.run(scenario()).split("\n\n")
    assert rows == (
        'event: rows\nid: 12.7\ndata: {"view": 0, "through": 12, "html": "line\\n\\nevent: forged"}'
    )
    assert refused.startswith('event: refused\nid: 12.7\ndata: {"view": 1, "through": 7,')


def test_a_person_has_one_live_read_at_a_time() -> None:
    async def scenario() -> list[str]:
        slots, browser, done = PageSlots(QuerySettings()), Browser(), list[str]()
        request = Request({"type": "http", "headers": []}, browser.receive)
        has_read = asyncio.Event()

        async def read(person: str, name: str) -> None:
            async with slots.live_read(person, request):
                done.append(f"{name} begins")
                if name == "first":
                    await has_read.wait()
                done.append(f"{name} ends")

        first = asyncio.create_task(read("ada", "first"))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(read("ada", "second"))
        await read("ben", "other")
        has_read.set()
        await asyncio.gather(first, second)
        return done

    assert asyncio.run(scenario()) == [
        *("first begins", "other begins", "other ends", "first ends"),
        *("second begins", "second ends"),
    ]
