"""Decoding of requests: what is refused before it is decoded, and what after."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from meta.errors import InvalidArgument, Overloaded
from meta.rpc import decoding
from meta.rpc.decoding import (
    BYTES_MAX,
    BYTES_SHARE,
    FIELDS_MAX,
    LARGE_AT_ONCE,
    LargeRequests,
    has_more_fields,
)
from meta.rpc.refusal_pace import BURST, REFUSAL_SECS, RefusalPace
from meta.v1.ingestion_pb2 import SaveSegmentsRequest
from tests.support.waiting import let_tasks_run

DESERIALIZE: Callable[[bytes], SaveSegmentsRequest] = SaveSegmentsRequest.FromString


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        pytest.param(b"", 0, id="nothing"),
        pytest.param(b"\x0a\x00" * 5, 5, id="empty submessages"),
        pytest.param(b"\x0a\x02\x0a\x00" * 3, 3, id="nested submessages"),
        pytest.param(b"\x08\xff\x01\x11" + bytes(8) + b"\x1d" + bytes(4), 3, id="numbers"),
        pytest.param(b"\x0a\xff\xff\xff\xff\x07", 0, id="a length that is not there"),
        pytest.param(b"\x08" + b"\xff" * 100, 0, id="no end of a number"),
        pytest.param(b"\x0a\x00\x0b\x0a\x00", 1, id="a group"),
    ],
)
def test_fields_of_the_top_level_are_counted(raw: bytes, fields: int) -> None:
    assert has_more_fields(raw, fields - 1) or fields == 0
    assert not has_more_fields(raw, fields)


def test_a_large_request_of_too_many_fields_is_refused_undecoded() -> None:
    with pytest.raises(InvalidArgument, match="fields"):
        decoding.parse(b"\x0a\x01x" * (FIELDS_MAX + 1), DESERIALIZE)


@pytest.mark.parametrize("size", [1, decoding.LARGE_BYTES + 1], ids=["small", "large"])
def test_a_request_that_is_not_a_message_is_refused(size: int) -> None:
    with pytest.raises(InvalidArgument, match="not a valid message"):
        decoding.parse(b"\x0b" * size, DESERIALIZE)


def test_a_large_request_is_decoded() -> None:
    message = SaveSegmentsRequest()
    message.segments.add().dataset_id = "x" * decoding.LARGE_BYTES

    assert decoding.parse(message.SerializeToString(), DESERIALIZE) == message


def test_large_requests_of_one_subject_leave_slots_for_others() -> None:
    async def test() -> list[str]:
        slots, running, end = LargeRequests(RefusalPace(1)), list[str](), asyncio.Event()

        async def work(subject: str) -> None:
            running.append(subject)
            await end.wait()

        callers = ["hostile"] * 5 + ["good"]
        calls = [
            asyncio.create_task(slots.run(one, 1, partial(work, one), end.set)) for one in callers
        ]
        for _ in range(20):
            await asyncio.sleep(0)
        at_once = [*running]
        end.set()
        await asyncio.gather(*calls)
        assert sorted(running) == sorted(callers)
        return at_once

    assert asyncio.run(test()) == ["hostile", "good"]


def test_a_large_request_of_a_subject_begins_after_its_earlier_refusals() -> None:
    async def test() -> list[str]:
        pace, running = RefusalPace(1), list[str]()
        slots = LargeRequests(pace)
        pace.delay(("subject", "hostile"), (BURST + 20) * REFUSAL_SECS)

        async def work(subject: str) -> None:
            running.append(subject)

        callers = ("hostile", "hostile", "good", "")
        calls = [
            asyncio.create_task(slots.run(one, 1, partial(work, one), lambda: None))
            for one in callers
        ]
        for _ in range(20):
            await asyncio.sleep(0)
        at_once = sorted(running)
        async with asyncio.timeout(30):
            await asyncio.gather(*calls)
        assert sorted(running) == sorted(callers)
        return at_once

    assert asyncio.run(test()) == ["", "good"]


def test_large_requests_of_callers_that_may_be_anybody_have_all_slots() -> None:
    async def test() -> int:
        slots, running, end = LargeRequests(RefusalPace(1)), list[int](), asyncio.Event()

        async def work(number: int) -> None:
            running.append(number)
            await end.wait()

        calls = [
            asyncio.create_task(slots.run("", 1, partial(work, number), end.set))
            for number in range(5)
        ]
        for _ in range(20):
            await asyncio.sleep(0)
        at_once = len(running)
        end.set()
        await asyncio.gather(*calls)
        return at_once

    assert asyncio.run(test()) == LARGE_AT_ONCE


@pytest.mark.parametrize(
    ("subject", "limit_bytes"),
    [("hostile", BYTES_MAX // BYTES_SHARE), ("", BYTES_MAX)],
    ids=["one subject", "callers that may be anybody"],
)
def test_large_requests_that_wait_have_so_many_bytes_and_no_more(
    subject: str, limit_bytes: int
) -> None:
    async def test() -> None:
        slots, end = LargeRequests(RefusalPace(1)), asyncio.Event()

        async def work() -> None:
            await end.wait()

        sizes = [limit_bytes // 4] * 4
        kept = [asyncio.create_task(slots.run(subject, n, work, end.set)) for n in sizes]
        await let_tasks_run()
        with pytest.raises(Overloaded):
            await slots.run(subject, 1, work, end.set)
        if subject:
            other = asyncio.create_task(slots.run("good", 1, work, end.set))
            await let_tasks_run()
            assert not other.done()
            kept.append(other)
        end.set()
        await asyncio.gather(*kept)

        await slots.run(subject, limit_bytes, work, end.set)

    asyncio.run(test())
