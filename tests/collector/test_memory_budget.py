"""The memory of exports: bounded in total and per token, waited for in order."""

import asyncio

import pytest

from collector.refusal import TOKEN_LIMIT, Refused
from collector.streams.buffer import MemoryBudget
from meta.errors import Code
from tests.support.collector.seat import run


def test_memory_is_bounded_in_total_and_per_token() -> None:
    budget = MemoryBudget(10_000, 6_000)
    first, second, third = budget.open("a"), budget.open("b"), budget.open("c")
    first.grow_to(6_000)

    with pytest.raises(Refused) as token_refused:
        first.grow_to(6_001)
    second.grow_to(4_000)
    with pytest.raises(Refused) as total_refused:
        third.grow_to(1)

    assert token_refused.value.refusal.code is Code.RESOURCE_EXHAUSTED
    assert token_refused.value.refusal.reason == TOKEN_LIMIT
    assert total_refused.value.refusal.code is Code.UNAVAILABLE
    assert token_refused.value.refusal.retry_after_secs
    assert total_refused.value.refusal.retry_after_secs
    for charge in (first, second, third):
        charge.release()
    assert budget.size_bytes == 0


def test_a_charge_larger_than_the_bounds_enters_an_empty_budget() -> None:
    budget = MemoryBudget(1_000, 1_000)
    budget.open("a").grow_to(5_000)

    with pytest.raises(Refused):
        budget.open("b").grow_to(1)


def test_a_token_may_have_its_own_limit() -> None:
    budget = MemoryBudget(10_000, 6_000)
    charge = budget.open("a", 2_000)
    charge.grow_to(2_000)

    with pytest.raises(Refused):
        charge.grow_to(2_001)


def test_bytes_that_are_taken_over_are_charged_once() -> None:
    budget = MemoryBudget(10_000, 6_000)
    read = budget.open("a")
    read.grow_to(4_000)

    pending = read.take_over()
    read.release()

    assert budget.size_bytes == 4_000
    pending.release()
    assert budget.size_bytes == 0


def test_a_waiter_whose_token_is_full_holds_up_no_other_token() -> None:
    async def scenario() -> None:
        budget = MemoryBudget(10_000, 6_000)
        held = budget.open("a")
        held.grow_to(6_000)
        same, other = budget.open("a"), budget.open("b")
        waiting = asyncio.create_task(same.reserve(1_000))
        await asyncio.sleep(0)

        await other.reserve(3_000)
        assert not waiting.done()
        held.release()
        await waiting

        assert budget.size_bytes == 4_000

    run(scenario())


def test_a_cancelled_waiter_charges_nothing() -> None:
    async def scenario() -> None:
        budget = MemoryBudget(10_000, 6_000)
        held = budget.open("a")
        held.grow_to(6_000)
        waiting = asyncio.create_task(budget.open("a").reserve(1_000))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))

        held.release()

        assert budget.size_bytes == 0

    run(scenario())


def test_a_waiter_cancelled_as_room_is_made_ends_as_cancelled() -> None:
    async def scenario() -> None:
        budget = MemoryBudget(10_000, 6_000)
        held = budget.open("a")
        held.grow_to(6_000)
        waiting = asyncio.create_task(budget.open("a").reserve(1_000))
        await asyncio.sleep(0)
        waiting.cancel()
        # Before the waiter runs again, as when its time is over under load.
        held.release()
        await asyncio.wait((waiting,))

        assert waiting.cancelled()
        assert budget.size_bytes == 0

    run(scenario())
