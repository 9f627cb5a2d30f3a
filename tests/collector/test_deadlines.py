"""Waits of one length share a timer, and end by the answer or by the time."""

import asyncio
import time

import pytest

from collector.intake.deadlines import Deadlines
from tests.support.collector.seat import run
from tests.support.waiting import let_tasks_run


def test_a_wait_ends_with_the_answer() -> None:
    async def scenario() -> bool:
        deadlines = Deadlines(3600.0)
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        waits = [asyncio.create_task(deadlines.wait(answer)) for _ in range(3)]
        await let_tasks_run()

        answer.set_result("done")
        await asyncio.gather(*waits)
        return answer.done()

    assert run(scenario())


def test_each_wait_ends_after_its_own_time_and_leaves_the_answer_open() -> None:
    async def scenario() -> tuple[float, float, float]:
        deadlines = Deadlines(0.2)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        began = time.monotonic()

        async def waited(delay_secs: float) -> float:
            await asyncio.sleep(delay_secs)
            await deadlines.wait(answer)
            return time.monotonic() - began

        ended = await asyncio.gather(waited(0.0), waited(0.1), waited(0.35))
        assert not answer.done()
        return ended

    first, second, third = run(scenario())

    assert first >= 0.2
    assert second >= 0.3
    assert third >= 0.55


def test_a_wait_ends_in_time_although_others_follow_without_a_pause() -> None:
    async def scenario() -> bool:
        deadlines = Deadlines(0.2)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        first = asyncio.create_task(deadlines.wait(answer))
        waits = []
        began = time.monotonic()
        while not first.done() and time.monotonic() - began < 10.0:
            waits.append(asyncio.create_task(deadlines.wait(answer)))
            await asyncio.sleep(0.01)
        is_ended = first.done()
        answer.set_result(None)
        await asyncio.gather(first, *waits)
        return is_ended

    assert run(scenario())


def test_a_waiter_that_goes_away_leaves_the_answer_to_the_others() -> None:
    async def scenario() -> None:
        deadlines = Deadlines(3600.0)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gone, stays = (asyncio.create_task(deadlines.wait(answer)) for _ in range(2))
        await let_tasks_run()

        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        answer.set_result(None)
        await stays

    run(scenario())
