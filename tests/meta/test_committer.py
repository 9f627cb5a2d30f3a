"""Group commit: who shares a batch, and what becomes of those it cannot answer."""

import asyncio
import string
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from meta.commits.group_commit import Committer
from meta.errors import MetaError, NotFound, OffsetGap, Unavailable
from tests.support.waiting import let_tasks_run

DEADLINE_SECS = 10.0


@dataclass
class Bench:
    """A committer whose batches wait for `gate`, and what it ran."""

    run: Callable[[Sequence[str]], Sequence[str | MetaError | None]]
    batches: list[list[str]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def committer(
        self, batch_max: int = 100, gather_secs: float = 0.0
    ) -> Committer[str, str, None]:
        return Committer(
            name="test",
            begin=self._begin,
            # Requests that begin with the same letter must not meet.
            keys=lambda request: (request[0],),
            run_batch=self._run_batch,
            run_alone=self._run_alone,
            batch_max=batch_max,
            gather_secs_per_call=gather_secs,
            gather_secs_max=gather_secs,
        )

    async def until_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=DEADLINE_SECS)

    @contextmanager
    def _begin(self) -> Iterator[None]:
        yield

    def _run_batch(self, _session: None, batch: Sequence[str]) -> Sequence[str | MetaError | None]:
        self.batches.append(list(batch))
        self.begun.release()
        assert self.gate.acquire(timeout=DEADLINE_SECS)
        return self.run(batch)

    def _run_alone(self, request: str) -> str:
        self.alone.append(request)
        return f"{request} alone"


def done(batch: Sequence[str]) -> list[str | MetaError | None]:
    return [f"{request} done" for request in batch]


def within_deadline(work: Coroutine[Any, Any, Any]) -> None:
    asyncio.run(asyncio.wait_for(work, DEADLINE_SECS))


async def begin_behind_another(
    bench: Bench, committer: Committer[str, str, None], *requests: str
) -> list[asyncio.Task[str]]:
    """Submit requests, in order, while a first call ("z") is in its transaction."""
    tasks = [asyncio.create_task(committer.submit("z"))]
    await bench.until_begun()
    return tasks + [asyncio.create_task(committer.submit(request)) for request in requests]


def answers_behind_another(
    bench: Bench, *requests: str, batches: int = 2, batch_max: int = 100
) -> list[str | BaseException]:
    """Answers to "z" and to the requests that wait for it, after so many batches."""
    answers: list[str | BaseException] = []

    async def scenario() -> None:
        tasks = await begin_behind_another(bench, bench.committer(batch_max), *requests)
        bench.gate.release(batches)
        answers.extend(await asyncio.gather(*tasks, return_exceptions=True))

    within_deadline(scenario())
    return answers


def test_calls_that_wait_share_the_next_batch() -> None:
    bench = Bench(done)

    answers = answers_behind_another(bench, "a", "b", "c")

    assert answers == ["z done", "a done", "b done", "c done"]
    assert bench.batches == [["z"], ["a", "b", "c"]]


def test_calls_with_a_common_key_run_one_batch_after_the_other() -> None:
    bench = Bench(done)

    answers = answers_behind_another(bench, "a1", "b1", "a2", "a3", "b2", batches=4)

    assert answers[-1] == "b2 done"
    assert bench.batches == [["z"], ["a1", "b1"], ["a2", "b2"], ["a3"]]


def test_a_batch_has_a_largest_size() -> None:
    bench = Bench(done)

    answers = answers_behind_another(bench, "a", "b", "c", batches=3, batch_max=2)

    assert answers[-1] == "c done"
    assert bench.batches == [["z"], ["a", "b"], ["c"]]


def test_each_call_gets_its_own_refusal() -> None:
    def refuse_b(batch: Sequence[str]) -> list[str | MetaError | None]:
        return [OffsetGap("gap") if request == "b" else request for request in batch]

    answers = answers_behind_another(Bench(refuse_b), "a", "b", "c")

    assert isinstance(answers[2], OffsetGap)
    assert answers[:2] + answers[3:] == ["z", "a", "c"]


def test_a_call_that_the_batch_cannot_answer_runs_alone() -> None:
    bench = Bench(lambda batch: [None if request == "b" else request for request in batch])

    assert answers_behind_another(bench, "a", "b") == ["z", "a", "b alone"]


def test_after_a_failed_batch_everyone_runs_alone() -> None:
    def fail(batch: Sequence[str]) -> list[str | MetaError | None]:
        if len(batch) > 1:
            raise Unavailable("the database went away")
        return done(batch)

    bench = Bench(fail)

    assert answers_behind_another(bench, "a", "b") == ["z done", "a alone", "b alone"]
    assert sorted(bench.alone) == ["a", "b"]


def test_a_call_that_makes_its_batch_fail_costs_the_others_few_transactions() -> None:
    def fail_with_the_bad_one(batch: Sequence[str]) -> list[str | MetaError | None]:
        if "?" in batch:
            raise NotFound("there is no such dataset")
        return done(batch)

    bench = Bench(fail_with_the_bad_one)
    requests = [*string.ascii_lowercase[:15], "?"]

    # 16, then 8 + 8, 4 + 4, 2 + 2 and 1 + 1, beside the first call.
    answers = answers_behind_another(bench, *requests, batches=10)

    assert answers == ["z done", *(f"{r} done" for r in requests[:-1]), "? alone"]
    assert bench.alone == ["?"]


@pytest.mark.parametrize("answers", [AssertionError("a fault of ours"), []], ids=str)
def test_a_fault_of_ours_in_a_batch_stops_nobody_else(
    answers: AssertionError | list[str | MetaError | None],
) -> None:
    def crash(batch: Sequence[str]) -> list[str | MetaError | None]:
        if batch[0] != "z":
            return done(batch)
        if isinstance(answers, AssertionError):
            raise answers
        return answers

    assert answers_behind_another(Bench(crash), "a", "b") == ["z alone", "a done", "b done"]


def test_a_call_that_is_cancelled_while_it_waits_is_in_no_batch() -> None:
    bench = Bench(done)

    async def scenario() -> None:
        z, a, b = await begin_behind_another(bench, bench.committer(), "a", "b")
        await let_tasks_run()
        a.cancel()
        bench.gate.release(2)

        assert [await z, await b] == ["z done", "b done"]

    within_deadline(scenario())
    assert bench.batches == [["z"], ["b"]]


def test_a_call_that_is_cancelled_in_its_batch_takes_nobody_with_it() -> None:
    bench = Bench(done)

    async def scenario() -> None:
        z, a, b = await begin_behind_another(bench, bench.committer(), "a", "b")
        bench.gate.release()
        assert await z == "z done"
        await bench.until_begun()
        a.cancel()
        bench.gate.release()

        assert await b == "b done"

    within_deadline(scenario())
    assert bench.batches == [["z"], ["a", "b"]]


def test_calls_go_on_after_all_who_waited_were_cancelled() -> None:
    bench = Bench(done)

    async def scenario() -> None:
        committer = bench.committer()
        tasks = await begin_behind_another(bench, committer, "a")
        await let_tasks_run()
        for task in tasks:
            task.cancel()
        bench.gate.release(2)
        await asyncio.wait(tasks)

        assert await committer.submit("b") == "b done"

    within_deadline(scenario())


def test_a_call_that_meets_nobody_waits_for_nobody() -> None:
    bench = Bench(done)

    async def scenario() -> None:
        # Whoever gathered would never come back.
        committer = bench.committer(gather_secs=10 * DEADLINE_SECS)
        bench.gate.release(3)

        assert [await committer.submit(request) for request in ("a", "a", "a")] == ["a done"] * 3

    within_deadline(scenario())
    assert bench.batches == [["a"]] * 3


def test_callers_that_return_together_share_a_batch_from_the_first_on() -> None:
    bench = Bench(done)
    bench.gate.release(3)

    async def scenario() -> None:
        committer = bench.committer(gather_secs=10 * DEADLINE_SECS)
        await asyncio.gather(*map(committer.submit, ("a1", "b1")))
        first = asyncio.create_task(committer.submit("a2"))
        while not committer._waiting:
            await asyncio.sleep(0)
        await asyncio.gather(first, committer.submit("b2"))

    within_deadline(scenario())

    assert bench.batches == [["a1", "b1"], ["a2", "b2"]]


def test_a_batch_waits_for_the_callers_of_the_one_before() -> None:
    bench = Bench(done)

    async def scenario() -> None:
        committer = bench.committer(gather_secs=10 * DEADLINE_SECS)
        z, a, b = await begin_behind_another(bench, committer, "a", "b")
        bench.gate.release(2)
        await z
        await asyncio.gather(a, b, committer.submit("y"))

    within_deadline(scenario())

    assert bench.batches == [["z"], ["a", "b", "y"]]


def test_a_single_caller_waits_for_nobody() -> None:
    bench = Bench(done)
    bench.gate.release(3)

    async def scenario() -> None:
        committer = bench.committer(gather_secs=10 * DEADLINE_SECS)
        for request in ("a", "b", "c"):
            await committer.submit(request)

    within_deadline(scenario())

    assert bench.batches == [["a"], ["b"], ["c"]]


def test_callers_that_do_not_return_are_not_waited_for_without_a_limit() -> None:
    bench = Bench(done)
    bench.gate.release(2)

    async def scenario() -> None:
        committer = bench.committer(gather_secs=0.01)
        await asyncio.gather(*map(committer.submit, ("a", "b")))
        await committer.submit("c")

    within_deadline(scenario())
