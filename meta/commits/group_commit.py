"""Group commit: calls that wait at the same time share one transaction and one database commit.

It runs on the event loop and needs no locks: a call joins the queue and awaits its answer; a task
takes the queue, runs it as one batch in a thread, and answers every call. A call that finds the
queue empty is a batch of one.

Up to `batches_max` batches run side by side, each in a transaction on its own connection, and
share the callers evenly: while one is in the database, the event loop has the callers of another.
Up to `full_batches_max` run if those beyond `batches_max` are full: their calls would not share a
larger batch, and each batch prepares while the one before is in the database. Calls with a key in
common are never in two batches that run at once.

A batch is optimistic. A call that the batch cannot answer, because another transaction has locked
its row, runs in its own transaction. If one call makes its batch fail, the halves of the batch
run again, so that a refused call costs its neighbours a few transactions instead of one each. A
call that is cancelled before its batch begins is skipped; later, it is committed, and its
repetition finds the committed state.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from meta import metrics
from meta.errors import DeadlineExceeded, MetaError, RaceLost, Unavailable
from meta.process_metrics import preset
from meta.store.engine import scope
from meta.store.engine.pool import Conflict

Request = TypeVar("Request")
Answer = TypeVar("Answer")
# The object that `begin` opens and `run_batch` writes through: a transaction as a rule.
Session = TypeVar("Session")
BATCH_MAX = 256
# Callers return together after a batch. The first of them would begin a batch by itself, and the
# others would wait for its database commit: so a batch begins when its share of the callers waits,
# those answered last among them for a time in proportion to their number. A few callers thus hardly
# wait, and a single one does not.
GATHER_CALLS = 64
GATHER_SECS_PER_CALL = 0.0006
GATHER_SECS_MAX = 0.016
# Calls of one request that run alone at the same time: one may wait for a lock, others need not.
ALONE_AT_ONCE = 4
log = structlog.get_logger()


@dataclass(slots=True)
class _Call(Generic[Request, Answer]):
    """A waiting call; its answer is None if it has to run alone."""

    request: Request
    keys: Collection[Hashable]
    weight: int
    answer: asyncio.Future[Answer | MetaError | None]


@dataclass(slots=True)
class Committer(Generic[Request, Answer, Session]):
    """One queue of calls of one kind.

    `run_batch` answers requests in order: with an answer, with the error that refuses the call, or
    with None for a call that `run_alone` has to run in its own transaction. `begin` opens the
    transaction of a batch. Requests with a key in common are never in the same batch and run in the
    order of their arrival, one batch after the other. A batch is full with calls of `batch_max`
    weight together; one that weighs more is alone in its batch.
    """

    name: str
    begin: Callable[[], AbstractContextManager[Session]]
    keys: Callable[[Request], Collection[Hashable]]
    run_batch: Callable[[Session, Sequence[Request]], Sequence[Answer | MetaError | None]]
    run_alone: Callable[[Request], Answer]
    weight: Callable[[Request], int] = lambda _: 1
    batches_max: int = 1
    full_batches_max: int = 1
    batch_max: int = BATCH_MAX
    gather_calls: int = GATHER_CALLS
    gather_secs_per_call: float = GATHER_SECS_PER_CALL
    gather_secs_max: float = GATHER_SECS_MAX
    _waiting: deque[_Call[Request, Answer]] = field(default_factory=deque)
    _running: list[list[_Call[Request, Answer]]] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    # Callers that were answered a moment ago and have not come back.
    _returning: int = 0
    _gathering: asyncio.TimerHandle | None = None
    _beginning: asyncio.Handle | None = None
    # Waiting calls that have to wait for a batch to end, the weight of those that have not, and the
    # keys of the former and of all batches.
    _num_held: int = 0
    _free_weight: int = 0
    _held_keys: set[Hashable] = field(default_factory=set)
    # Batches that run at most, all of them full.
    _places: int = field(init=False)
    # Threads of its own, so that no batch waits for a thread behind other calls.
    _threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._places = max(self.batches_max, self.full_batches_max)
        self._threads = ThreadPoolExecutor(self._places, thread_name_prefix=self.name)
        preset(metrics.COMMIT_BATCH_CALLS, (self.name,))
        preset(metrics.COMMIT_BATCH_FAILURES, (self.name,))

    async def submit(self, request: Request) -> Answer:
        """Commit one request together with those that wait. Raises the error that refuses it."""
        answer = await self._enqueue(request).answer
        if answer is None:
            return await asyncio.to_thread(self.run_alone, request)
        if isinstance(answer, MetaError):
            raise answer
        return answer

    async def submit_each(self, requests: Sequence[Request]) -> list[Answer | MetaError]:
        """Commit requests that came together; each is answered, or refused, by itself.

        Raises Unavailable or DeadlineExceeded if the outcome of one is unknown.
        """
        calls = [self._enqueue(request) for request in requests]
        try:
            answers = [await call.answer for call in calls]
            alone = asyncio.Semaphore(ALONE_AT_ONCE)
            late = iter(
                await asyncio.gather(
                    *(
                        self._answer_alone(call.request, alone)
                        for call, answer in zip(calls, answers, strict=True)
                        if answer is None
                    )
                )
            )
            return [next(late) if answer is None else answer for answer in answers]
        finally:
            # The caller has left: its calls that are in no batch yet are skipped.
            for call in calls:
                call.answer.cancel()

    async def _answer_alone(self, request: Request, alone: asyncio.Semaphore) -> Answer | MetaError:
        async with alone:
            return await asyncio.to_thread(answered, self.run_alone, request)

    def _enqueue(self, request: Request) -> _Call[Request, Answer]:
        # A batch is one transaction, which has one tenant at most.
        assert scope.tenant_key() is None, "calls of tenants share no transaction"
        loop = asyncio.get_running_loop()
        call: _Call[Request, Answer] = _Call(
            request, self.keys(request), self.weight(request), loop.create_future()
        )
        self._waiting.append(call)
        self._returning = max(self._returning - 1, 0)
        if self._held_keys.isdisjoint(call.keys):
            self._free_weight += call.weight
        else:
            self._num_held += 1
            self._held_keys.update(call.keys)
        if self._beginning is None and self._is_due():
            # Soon and not at once: calls that are submitted together belong together.
            self._beginning = loop.call_soon(self._begin)
        elif self._gathering is None and len(self._running) < self.batches_max:
            self._gather(self._num_running())
        return call

    def _begin(self, *, is_overdue: bool = False) -> None:
        """Begin the batches that are due, each in its own task."""
        self._beginning = None
        while (is_overdue or self._is_due()) and (batch := self._take()):
            task = asyncio.get_running_loop().create_task(self._work(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, batch: list[_Call[Request, Answer]]) -> None:
        try:
            await self._run(batch)
        finally:
            # The batch also ends after an unforeseen error: later calls must not wait for it.
            self._end(batch)
            self._begin()

    def _end(self, batch: list[_Call[Request, Answer]]) -> None:
        """Free the keys of a batch, and expect its callers for a while."""
        self._running.remove(batch)
        # Calls that waited for this batch may be taken now; the next look finds out.
        self._num_held, self._held_keys = 0, self._running_keys()
        self._free_weight = sum([call.weight for call in self._waiting])
        self._returning += len(batch)
        self._gather(self._returning)

    def _gather(self, callers: int) -> None:
        """Wait for callers, and then begin with those that have come."""
        if self._gathering is not None:
            self._gathering.cancel()
        secs = min(callers * self.gather_secs_per_call, self.gather_secs_max)
        self._gathering = asyncio.get_running_loop().call_later(secs, self._stop_gathering)

    def _stop_gathering(self) -> None:
        self._gathering = None
        self._returning = 0
        self._begin(is_overdue=True)

    def _is_due(self) -> bool:
        """True if there is a place for a batch, which is full or has its share of the callers."""
        if len(self._running) < self._places and self._free_weight >= self.batch_max:
            return True
        num_free = len(self._waiting) - self._num_held
        if num_free <= 0 or len(self._running) >= self.batches_max:
            return False
        callers = num_free + self._returning + self._num_running()
        return num_free >= min(-(-callers // self.batches_max), self.gather_calls)

    def _num_running(self) -> int:
        return sum(map(len, self._running))

    def _running_keys(self) -> set[Hashable]:
        return {key for batch in self._running for call in batch for key in call.keys}

    def _take(self) -> list[_Call[Request, Answer]]:
        """Take from the queue the oldest calls that may share a batch, if there is a place."""
        if len(self._running) >= self._places:
            return []
        batch: list[_Call[Request, Answer]] = []
        remaining: deque[_Call[Request, Answer]] = deque()
        keys = self._running_keys()
        weight, self._num_held, self._free_weight = 0, 0, 0
        for call in self._waiting:
            if call.answer.done():
                continue
            is_free = keys.isdisjoint(call.keys)
            if is_free and (not batch or weight + call.weight <= self.batch_max):
                batch.append(call)
                weight += call.weight
            else:
                remaining.append(call)
                self._num_held += not is_free
                self._free_weight += call.weight if is_free else 0
            keys.update(call.keys)
        self._held_keys = keys
        is_full = weight + self._free_weight >= self.batch_max
        if len(self._running) >= (self._places if is_full else self.batches_max):
            # It waits for more calls, or for a batch to end.
            self._free_weight += weight
            return []
        self._waiting = remaining
        if batch:
            self._running.append(batch)
        return batch

    async def _run(self, batch: list[_Call[Request, Answer]]) -> None:
        """Run and answer a batch; if it fails as a whole, its halves or each of its calls alone."""
        metrics.COMMIT_BATCH_CALLS.labels(self.name).observe(len(batch))
        requests = [call.request for call in batch]
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, self._run_in_thread, requests)
            pairs = list(zip(batch, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - every call is then run again
            metrics.COMMIT_BATCH_FAILURES.labels(self.name).inc()
            log.info("batch_failed", queue=self.name, calls=len(batch), error=str(error))
            if len(batch) > 1 and _is_of_one_call(error):
                middle = len(batch) // 2
                await self._run(batch[:middle])
                await self._run(batch[middle:])
                return
            pairs = [(call, None) for call in batch]
        for call, answer in pairs:
            if not call.answer.done():
                call.answer.set_result(answer)

    def _run_in_thread(self, requests: Sequence[Request]) -> Sequence[Answer | MetaError | None]:
        with self.begin() as session:
            return self.run_batch(session, requests)


def answered(run: Callable[[Request], Answer], request: Request) -> Answer | MetaError:
    """Run a request; returns its answer or its refusal. Raises if its outcome is unknown."""
    try:
        return run(request)
    except (Unavailable, DeadlineExceeded):
        raise
    except MetaError as refusal:
        return refusal


def _is_of_one_call(error: Exception) -> bool:
    """True for an error that one call of a batch causes, so that its halves may succeed.

    A batch that waited for a lock or got no answer is not tried in halves: they would wait one
    after the other, while calls that run alone wait at the same time.
    """
    return not isinstance(error, Conflict | DeadlineExceeded | RaceLost | Unavailable)
