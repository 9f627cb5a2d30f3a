"""Slots of callers' queries: how many run, wait, and are sent away."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from segplane.gateway.http.callers import Caller
from segplane.gateway.http.refusals import Busy
from segplane.gateway.queries.accounts import WAITING_MAX, Accounts
from segplane.gateway.queries.settings import QuerySettings
from tests.support.waiting import let_tasks_run


def test_a_caller_with_too_many_waiting_queries_is_told_so() -> None:
    accounts = Accounts(QuerySettings(concurrent=3, caller_concurrent=2))
    patient, other = Caller("patient"), Caller("other")

    async def one_more() -> None:
        async with accounts.admitted(patient):
            pass

    async def scenario() -> None:
        async with AsyncExitStack() as running:
            for _ in range(2):
                await running.enter_async_context(accounts.admitted(patient))
            waiting = [asyncio.create_task(one_more()) for _ in range(WAITING_MAX)]
            await let_tasks_run()
            with pytest.raises(Busy, match=f"has {WAITING_MAX + 2} queries"):
                await one_more()
            # The third slot is not the patient one's to take.
            async with asyncio.timeout(60), accounts.admitted(other):
                assert not any(task.done() for task in waiting)
        async with asyncio.timeout(60):
            await asyncio.gather(*waiting)
            await one_more()

    asyncio.run(scenario())


def test_the_callers_of_a_tenant_have_its_share_of_the_slots() -> None:
    accounts = Accounts(QuerySettings(concurrent=8, caller_concurrent=4))
    ann, bob = (Caller(name).within("//t", percent=25) for name in ("ann", "bob"))

    async def one_more(caller: Caller) -> None:
        async with accounts.admitted(caller):
            pass

    async def scenario() -> None:
        async with AsyncExitStack() as running:
            for caller in (ann, bob):
                await running.enter_async_context(accounts.admitted(caller))
            beyond = asyncio.create_task(one_more(ann))
            await let_tasks_run()
            assert not beyond.done()
            async with asyncio.timeout(60):
                await one_more(Caller("other"))
                # Another share holds at once for those who come with it.
                await one_more(Caller("ann").within("//t", percent=50))
        async with asyncio.timeout(60):
            await beyond

    asyncio.run(scenario())
    assert [QuerySettings().slots_of(n) for n in (0, 1, 25, 50, 100)] == [4, 1, 2, 4, 4]


def test_a_query_that_waits_too_long_is_told_so() -> None:
    accounts = Accounts(QuerySettings(secs=0.05, concurrent=1))

    async def scenario() -> None:
        async with accounts.admitted(Caller("first")):
            with pytest.raises(Busy, match="other queries took all the time"):
                async with accounts.admitted(Caller("second")):
                    raise AssertionError("both run")

    asyncio.run(scenario())
