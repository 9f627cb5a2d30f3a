"""Fair CPU scheduling of worker threads by subject."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

import grpc
import pytest

from meta.rpc.execution import of_handler
from meta.rpc.request_id import Context
from meta.rpc.thread_shares import COUNT_PAUSE_SECS, STALL_SECS, CallCost, ThreadShares

MOST = 4


@dataclass
class Work:
    """Calls of subjects, each of which holds its thread until it is told to end."""

    now: float = 0.0
    shares: ThreadShares = field(init=False)
    running: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shares = ThreadShares(MOST, lambda: self.now)

    async def call(self, subject: str, end: asyncio.Event, cpu_secs: float = 0.0) -> None:
        cost = CallCost()
        async with self.shares.thread(subject, cost):
            self.running.append(subject)
            await end.wait()
            self.running.remove(subject)
            cost.cpu_secs += cpu_secs

    async def use(self, subject: str, cpu_secs: float) -> None:
        """A call that has used CPU time and is over."""
        end = asyncio.Event()
        end.set()
        await self.call(subject, end, cpu_secs)
        self.now += COUNT_PAUSE_SECS

    async def begin(
        self, subject: str, calls: int
    ) -> "tuple[asyncio.Event, list[asyncio.Task[None]]]":
        end = asyncio.Event()
        tasks = [asyncio.create_task(self.call(subject, end)) for _ in range(calls)]
        await settle()
        return end, tasks


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def in_loop(test: Callable[[Work], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(Work())

    asyncio.run(run())


def test_the_subject_that_used_most_of_a_busy_process_gets_threads_back_one_by_one() -> None:
    async def test(work: Work) -> None:
        await work.use("hostile", 0.5)
        await work.use("good", 0.1)

        end, tasks = await work.begin("hostile", 3)
        good_end, good_tasks = await work.begin("good", MOST)

        assert work.running == ["hostile", *["good"] * MOST]
        assert work.shares.waiting("hostile") == 2
        # By now it has used less than its part, and yet it does not begin many calls at once.
        await work.use("third", 3.0)
        end.set()
        await settle()
        end.clear()
        later_end, later = await work.begin("hostile", 2)
        assert work.running.count("hostile") == 2
        for event in (end, later_end, good_end):
            event.set()
        await asyncio.gather(*tasks, *later, *good_tasks)

    in_loop(test)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param({"heavy": 0.5}, MOST, id="nobody else calls"),
        pytest.param({"heavy": 0.02, "good": 0.001}, MOST, id="the process is not busy"),
        pytest.param({"good": 0.5, "heavy": 0.1}, MOST, id="others use more"),
        pytest.param({"heavy": 0.5, "good": 0.1}, 1, id="it uses most"),
        pytest.param(
            {"hostile": 0.5, "idle": 0.01, "heavy": 0.3}, MOST, id="beside one that asks for little"
        ),
    ],
)
def test_threads_of_a_subject_depend_on_what_others_use(
    used: dict[str, float], expected: int
) -> None:
    async def test(work: Work) -> None:
        for subject, cpu_secs in used.items():
            await work.use(subject, cpu_secs)

        end, tasks = await work.begin("heavy", 2 * MOST)

        assert len(work.running) == expected
        end.set()
        await asyncio.gather(*tasks)

    in_loop(test)


def test_bytes_on_the_wire_count_as_the_cpu_time_that_they_take() -> None:
    async def test(work: Work) -> None:
        await work.use("good", 0.3)
        cost = CallCost(cpu_secs=0.1)
        async with work.shares.thread("heavy", cost):
            cost.wire_bytes = 100_000_000
        work.now += COUNT_PAUSE_SECS

        end, tasks = await work.begin("heavy", MOST)

        assert work.running == ["heavy"]
        end.set()
        await asyncio.gather(*tasks)

    in_loop(test)


def test_a_restricted_subject_gets_its_threads_back_when_the_others_have_gone() -> None:
    async def test(work: Work) -> None:
        await work.use("heavy", 0.5)
        await work.use("good", 0.1)
        first, tasks = await work.begin("heavy", 1)
        rest, others = await work.begin("heavy", MOST)
        work.now += 60.0

        first.set()
        await settle()

        assert len(work.running) == MOST
        rest.set()
        await asyncio.gather(*tasks, *others)

    in_loop(test)


def test_a_caller_that_leaves_the_line_gives_its_turn_to_the_next() -> None:
    async def test(work: Work) -> None:
        end, tasks = await work.begin("alone", MOST)
        left_end, left = await work.begin("alone", 2)
        last_end, last = await work.begin("alone", 1)
        left[0].cancel()
        await settle()
        end.set()
        # Cancelled in the moment in which it is its turn.
        await asyncio.sleep(0)
        left[1].cancel()
        await settle()

        assert work.running == ["alone"]
        last_end.set()
        await asyncio.gather(*tasks, *last)
        for task in left:
            with suppress(asyncio.CancelledError):
                await task
        assert work.shares.waiting("alone") == 0
        left_end.set()

    in_loop(test)


def test_subjects_that_have_become_idle_are_forgotten() -> None:
    async def test(work: Work) -> None:
        for number in range(1_000):
            await work.use(f"subject {number}", 0.001)

        assert len(work.shares) < 50

    in_loop(test)


@pytest.mark.parametrize(
    "used",
    [
        pytest.param({"gateway": 0.5}, id="alone"),
        pytest.param({"gateway": 0.1, "others": 0.02}, id="beside others"),
    ],
)
def test_one_waiting_call_on_a_quiet_server_holds_up_no_other_of_its_subject(
    used: dict[str, float],
) -> None:
    async def test(work: Work) -> None:
        for subject, cpu_secs in used.items():
            await work.use(subject, cpu_secs)
        waiting_end, waiting = await work.begin("gateway", 1)

        for _ in range(100):
            end, others = await work.begin("gateway", MOST - 1)
            assert work.running.count("gateway") == MOST
            end.set()
            await asyncio.gather(*others)
            work.now += COUNT_PAUSE_SECS

        assert work.running == ["gateway"]
        waiting_end.set()
        await asyncio.gather(*waiting)

    in_loop(test)


async def until(is_so: Callable[[], bool], work: Work) -> None:
    """Let the clock of the shares and the event loop go on until something is so."""
    async with asyncio.timeout(20):
        while not is_so():
            work.now += STALL_SECS
            await asyncio.sleep(STALL_SECS / 5)


def test_a_waiting_call_on_a_busy_server_holds_up_its_subject_for_a_moment_only() -> None:
    async def test(work: Work) -> None:
        await work.use("gateway", 0.5)
        await work.use("other", 0.1)
        end, tasks = await work.begin("gateway", MOST + 2)
        assert work.running == ["gateway"]

        # None of them computes, so each in turn makes room for the next, up to all threads.
        await until(lambda: len(work.running) == MOST, work)

        assert work.shares.waiting("gateway") == 2
        end.set()
        await asyncio.gather(*tasks)

    in_loop(test)


class _Untraced:
    """The context of a call without metadata, which the function ignores."""

    def invocation_metadata(self) -> tuple[()]:
        return ()


def test_a_call_that_computes_is_not_passed_on_a_busy_server() -> None:
    async def test(work: Work) -> None:
        await work.use("gateway", 0.5)
        await work.use("other", 0.1)
        has_begun, may_end = threading.Event(), threading.Event()

        def compute(request: bytes) -> bytes:
            has_begun.set()
            while not may_end.is_set():
                sum(range(1_000))
            return request

        handler = grpc.unary_unary_rpc_method_handler(compute, bytes, bytes)
        execute = of_handler(handler, "Compute")

        async def computing() -> None:
            cost = CallCost()
            async with work.shares.thread("gateway", cost):
                await execute(b"", cast("Context", _Untraced()), cost)

        task = asyncio.create_task(computing())
        await asyncio.to_thread(has_begun.wait)
        end, tasks = await work.begin("gateway", 1)
        looks = 0

        def is_looked_at() -> bool:
            nonlocal looks
            looks += 1
            return looks > 20

        began, real = time.monotonic(), work.now
        async with asyncio.timeout(20):
            while not is_looked_at():
                work.now = real + time.monotonic() - began
                await asyncio.sleep(STALL_SECS)

        # A thread that goes on would keep the loop from ending.
        may_end.set()
        passed_it = list(work.running)
        end.set()
        await asyncio.gather(task, *tasks)
        assert passed_it == []

    in_loop(test)
