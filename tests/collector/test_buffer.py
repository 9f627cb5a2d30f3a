"""Batches by bytes, time and tokens, and the bounds on what waits."""

import asyncio

import pytest

from collector.buffer import BATCH_TOKENS_MAX, OVERHEAD_BYTES, Buffer, PendingExport
from segments.otlp.content import PayloadFacts
from tests.support.collector.seat import run
from tests.support.waiting import let_tasks_run


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pending(size_bytes: int = 0, token_id: str = "t") -> PendingExport:
    facts = PayloadFacts(1, (1, 1), False)
    payload = bytes(max(0, size_bytes - OVERHEAD_BYTES))
    outcome = asyncio.get_running_loop().create_future()
    return PendingExport("secret", token_id, "logs", payload, b"d", facts, 0, outcome)


def test_a_batch_leaves_when_it_is_full() -> None:
    async def scenario() -> None:
        buffer = Buffer(10**6, 10**6, batch_size_bytes_max=2000, flush_timeout_secs=3600)
        exports = [pending(1000) for _ in range(3)]
        for export in exports:
            buffer.add(export)

        assert await buffer.next_batch() == exports[:2]
        buffer.drain()
        assert await buffer.next_batch() == exports[2:]
        assert await buffer.next_batch() == []

    run(scenario())


def test_a_batch_leaves_when_its_first_export_is_old_enough() -> None:
    async def scenario() -> None:
        clock = Clock()
        buffer = Buffer(10**6, 10**6, flush_timeout_secs=5.0, clock=clock)
        buffer.add(pending())
        waiting = asyncio.create_task(buffer.next_batch())
        await let_tasks_run()
        assert not waiting.done()

        clock.now += 5.0
        buffer.drain()

        assert len(await waiting) == 1

    run(scenario())


def test_a_batch_holds_no_more_tokens_than_one_commit_can_name() -> None:
    async def scenario() -> None:
        buffer = Buffer(10**9, 10**9, flush_timeout_secs=3600)
        for index in range(BATCH_TOKENS_MAX + 1):
            buffer.add(pending(token_id=str(index)))

        assert len(await buffer.next_batch()) == BATCH_TOKENS_MAX

    run(scenario())


def test_room_is_bounded_in_total_and_per_token_until_the_answer() -> None:
    async def scenario() -> None:
        buffer = Buffer(10_000, 6_000)
        held = [pending(6_000, "a"), pending(4_000, "b")]

        assert buffer.has_room("a", 6_000)
        buffer.add(held[0])
        assert not buffer.has_room("a", 1)
        assert buffer.has_room("b", 4_000)
        buffer.add(held[1])
        assert not buffer.has_room("c", 1)
        buffer.drain()
        await buffer.next_batch()
        assert not buffer.has_room("c", 1), "room was given back before the answer"
        buffer.release(held)
        assert buffer.has_room("a", 6_000)
        assert buffer.size_bytes == 0

    run(scenario())


def test_an_export_larger_than_the_bound_enters_an_empty_buffer() -> None:
    async def scenario() -> None:
        buffer = Buffer(1_000, 1_000)

        assert buffer.has_room("a", 5_000)
        buffer.add(pending(5_000, "a"))
        assert not buffer.has_room("b", 1)

    run(scenario())


def test_no_token_or_payload_is_printed() -> None:
    async def scenario() -> str:
        return repr(pending(OVERHEAD_BYTES + 5))

    text = run(scenario())

    assert "secret" not in text
    assert "\\x00" not in text


@pytest.mark.parametrize("answers", [[None], [None, "late"]], ids=["once", "first stands"])
def test_the_first_answer_stands(answers: list[object]) -> None:
    async def scenario() -> object:
        export = pending()
        for _ in answers:
            export.resolve(None)
        return export.outcome.result()

    assert run(scenario()) is None
