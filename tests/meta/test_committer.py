"""Group commit: who shares a batch, who leads, and what becomes of those it cannot answer."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from meta.committer import Committer
from meta.errors import MetaError, OffsetGap, Unavailable
from meta.store.engine import Transaction

DEADLINE_SECS = 10.0


@dataclass
class Bench:
    """A committer whose batches wait for `gate`, and what it ran."""

    run: Callable[[Sequence[str]], Sequence[str | MetaError | None]]
    batches: list[list[str]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def committer(self, batch_max: int = 100) -> Committer[str, str]:
        return Committer(
            name="test",
            begin=self._begin,
            # Requests that begin with the same letter must not meet.
            keys=lambda request: (request[0],),
            run_batch=self._run_batch,
            run_alone=self._run_alone,
            batch_max=batch_max,
        )

    @contextmanager
    def _begin(self) -> Iterator[Transaction]:
        yield cast(Transaction, None)

    def _run_batch(
        self, _tx: Transaction, batch: Sequence[str]
    ) -> Sequence[str | MetaError | None]:
        self.batches.append(list(batch))
        self.begun.release()
        assert self.gate.acquire(timeout=DEADLINE_SECS)
        return self.run(batch)

    def _run_alone(self, request: str) -> str:
        self.alone.append(request)
        return f"{request} alone"


def done(batch: Sequence[str]) -> list[str | MetaError | None]:
    return [f"{request} done" for request in batch]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as threads:
        yield threads


def submit_behind_a_leader(
    bench: Bench, committer: Committer[str, str], pool: ThreadPoolExecutor, *requests: str
) -> list[Future[str]]:
    """Submit requests, in order, while a first call ("z") is in its transaction."""
    futures = [pool.submit(committer.submit, "z")]
    assert bench.begun.acquire(timeout=DEADLINE_SECS)
    for count, request in enumerate(requests):
        futures.append(pool.submit(committer.submit, request))
        while len(committer._waiting) <= count:
            threading.Event().wait(0.001)
    return futures


def release(bench: Bench, batches: int) -> None:
    for _ in range(batches):
        bench.gate.release()


def test_calls_that_wait_share_the_next_batch(pool: ThreadPoolExecutor) -> None:
    bench = Bench(done)
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a", "b", "c")

    release(bench, 2)

    assert [f.result(DEADLINE_SECS) for f in futures] == ["z done", "a done", "b done", "c done"]
    assert bench.batches == [["z"], ["a", "b", "c"]]


def test_calls_with_a_common_key_run_one_batch_after_the_other(pool: ThreadPoolExecutor) -> None:
    bench = Bench(done)
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a1", "b1", "a2", "a3", "b2")

    release(bench, 4)

    assert [f.result(DEADLINE_SECS) for f in futures][-1] == "b2 done"
    assert bench.batches == [["z"], ["a1", "b1"], ["a2", "b2"], ["a3"]]


def test_a_batch_has_a_largest_size(pool: ThreadPoolExecutor) -> None:
    bench = Bench(done)
    futures = submit_behind_a_leader(bench, bench.committer(2), pool, "a", "b", "c")

    release(bench, 3)

    assert [f.result(DEADLINE_SECS) for f in futures][-1] == "c done"
    assert bench.batches == [["z"], ["a", "b"], ["c"]]


def test_each_call_gets_its_own_refusal(pool: ThreadPoolExecutor) -> None:
    def refuse_b(batch: Sequence[str]) -> list[str | MetaError | None]:
        return [OffsetGap("gap") if request == "b" else request for request in batch]

    bench = Bench(refuse_b)
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a", "b", "c")

    release(bench, 2)

    assert futures[1].result(DEADLINE_SECS) == "a"
    assert isinstance(futures[2].exception(DEADLINE_SECS), OffsetGap)
    assert futures[3].result(DEADLINE_SECS) == "c"


def test_a_call_that_the_batch_cannot_answer_runs_alone(pool: ThreadPoolExecutor) -> None:
    bench = Bench(lambda batch: [None if request == "b" else request for request in batch])
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a", "b")

    release(bench, 2)

    assert [f.result(DEADLINE_SECS) for f in futures] == ["z", "a", "b alone"]


def test_after_a_failed_batch_everyone_runs_alone(pool: ThreadPoolExecutor) -> None:
    def fail(batch: Sequence[str]) -> list[str | MetaError | None]:
        if len(batch) > 1:
            raise Unavailable("the database went away")
        return done(batch)

    bench = Bench(fail)
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a", "b")

    release(bench, 2)

    assert [f.result(DEADLINE_SECS) for f in futures] == ["z done", "a alone", "b alone"]
    assert sorted(bench.alone) == ["a", "b"]


def test_a_fault_of_ours_in_a_batch_stops_nobody_else(pool: ThreadPoolExecutor) -> None:
    def crash(batch: Sequence[str]) -> list[str | MetaError | None]:
        if batch[0] == "z":
            raise AssertionError("a fault of ours")
        return done(batch)

    bench = Bench(crash)
    futures = submit_behind_a_leader(bench, bench.committer(), pool, "a", "b")

    release(bench, 2)

    assert [f.result(DEADLINE_SECS) for f in futures] == ["z alone", "a done", "b done"]


def test_a_call_without_neighbours_is_a_batch_of_one(pool: ThreadPoolExecutor) -> None:
    bench = Bench(done)
    committer = bench.committer()
    release(bench, 3)

    answers = [committer.submit(request) for request in ("a", "a", "a")]

    assert answers == ["a done"] * 3
    assert bench.batches == [["a"]] * 3
