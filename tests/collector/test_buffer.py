"""Batches by bytes, records, time and tokens, and the bounds on what waits."""

import asyncio

import pytest

from collector.streams.buffer import (
    BATCH_RECORDS_MAX,
    BATCH_TOKENS_MAX,
    OVERHEAD_BYTES,
    Buffer,
    PendingExport,
)
from segments.otlp.content import PayloadFacts
from tests.support.clock import SettableClock
from tests.support.collector.seat import run
from tests.support.waiting import let_tasks_run


def pending(size_bytes: int = 0, token_id: str = "t", records: int = 1) -> PendingExport:
    facts = PayloadFacts(records, (1, 1), False)
    payload = bytes(max(0, size_bytes - OVERHEAD_BYTES))
    outcome = asyncio.get_running_loop().create_future()
    return PendingExport("secret", token_id, "logs", payload, b"d", facts, 0, outcome)


def test_a_batch_leaves_when_it_is_full() -> None:
    async def scenario() -> None:
        buffer = Buffer(batch_size_bytes_max=2000, flush_timeout_secs=3600)
        exports = [pending(1000) for _ in range(3)]
        for export in exports:
            buffer.add(export)

        assert await buffer.next_batch() == exports[:2]
        buffer.drain()
        assert await buffer.next_batch() == exports[2:]
        assert await buffer.next_batch() == []

    run(scenario())


def test_a_batch_leaves_at_a_number_of_records() -> None:
    async def scenario() -> None:
        buffer = Buffer(flush_timeout_secs=3600)
        exports = [pending(records=BATCH_RECORDS_MAX // 2) for _ in range(5)]
        buffer.add(exports[0])
        waiting = asyncio.create_task(buffer.next_batch())
        await let_tasks_run()
        assert not waiting.done()

        for export in exports[1:]:
            buffer.add(export)

        assert await waiting == exports[:2]
        assert await buffer.next_batch() == exports[2:4]
        last = asyncio.create_task(buffer.next_batch())
        await let_tasks_run()
        assert not last.done()
        buffer.drain()
        assert await last == exports[4:]

    run(scenario())


def test_a_batch_leaves_when_its_first_export_is_old_enough() -> None:
    async def scenario() -> None:
        clock = SettableClock()
        buffer = Buffer(flush_timeout_secs=5.0, clock=clock)
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
        buffer = Buffer(flush_timeout_secs=3600)
        for index in range(BATCH_TOKENS_MAX + 1):
            buffer.add(pending(token_id=str(index)))

        assert len(await buffer.next_batch()) == BATCH_TOKENS_MAX

    run(scenario())


def test_a_backlog_of_one_token_does_not_delay_another() -> None:
    async def scenario() -> None:
        buffer = Buffer(batch_size_bytes_max=4_000_000, flush_timeout_secs=3600)
        for _ in range(40):
            buffer.add(pending(1_000_000, "busy"))
        small = pending(1_000, "small")
        buffer.add(small)

        assert small in await buffer.next_batch()
        buffer.drain()
        rest = 0
        while batch := await buffer.next_batch():
            rest += len(batch)
        assert rest == 41 - 5

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
