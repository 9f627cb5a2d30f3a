"""Group commit: calls that wait together share one transaction, and so one commit of the database.

There is no thread of its own. The first caller leads: it takes what waits, runs it as one batch and
hands on; who came meanwhile waits, and one of them leads next. A call that meets nobody has no
handover at all.

A batch is optimistic. A call that it cannot answer (a row that somebody else has locked, any error
of the whole batch) is told so, and its own thread runs it by itself: one bad call hurts nobody.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from meta import metrics
from meta.errors import MetaError
from meta.store.engine import Transaction

Request = TypeVar("Request")
Answer = TypeVar("Answer")
BATCH_MAX = 256
# A caller that takes over the lead has met others, so more are on their way: it waits a little for
# them. A batch costs 0.45 ms of CPU and a commit of the database, whatever its size.
GATHER_CALLS = 24
GATHER_SECS = 0.002
log = structlog.get_logger()


@dataclass(slots=True)
class _Slot(Generic[Request, Answer]):
    """A waiting call. `turn` is released when it is answered or when it shall lead."""

    request: Request
    keys: Collection[Hashable]
    turn: threading.Lock
    answer: Answer | MetaError | None = None
    is_leader: bool = False


@dataclass(slots=True)
class Committer(Generic[Request, Answer]):
    """One queue of calls of one kind.

    `run_batch` answers requests in order: an answer, the error a call is refused for, or None for
    one that has to be run by itself, which `run_alone` does, with a transaction of its own. `begin`
    opens a batch's transaction. No two requests that share one of their `keys` share a batch, and
    those are taken in the order of their arrival.
    """

    name: str
    begin: Callable[[], AbstractContextManager[Transaction]]
    keys: Callable[[Request], Collection[Hashable]]
    run_batch: Callable[[Transaction, Sequence[Request]], Sequence[Answer | MetaError | None]]
    run_alone: Callable[[Request], Answer]
    batch_max: int = BATCH_MAX
    gather_calls: int = GATHER_CALLS
    gather_secs: float = GATHER_SECS
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _waiting: deque[_Slot[Request, Answer]] = field(default_factory=deque)
    _is_led: bool = False

    def submit(self, request: Request) -> Answer:
        """Commit one request together with its neighbours; raises what it is refused for."""
        slot: _Slot[Request, Answer] = _Slot(request, self.keys(request), threading.Lock())
        slot.turn.acquire()
        with self._lock:
            self._waiting.append(slot)
            is_first = not self._is_led
            self._is_led = True
        if is_first or self._is_leader_after_waiting(slot):
            self._lead()
        answer = slot.answer
        if answer is None:
            return self.run_alone(request)
        if isinstance(answer, MetaError):
            raise answer
        return answer

    def _is_leader_after_waiting(self, slot: _Slot[Request, Answer]) -> bool:
        """Wait until the call is answered or shall lead, and then for more calls to gather."""
        slot.turn.acquire()
        if slot.is_leader and len(self._waiting) < self.gather_calls:
            time.sleep(self.gather_secs)
        return slot.is_leader

    def _lead(self) -> None:
        """Run one batch, which holds the leader's own call, wake its callers, and hand on."""
        with self._lock:
            batch = self._take()
        try:
            self._run(batch)
        finally:
            with self._lock:
                following = self._waiting[0] if self._waiting else None
                self._is_led = following is not None
            if following is not None:
                following.is_leader = True
                following.turn.release()
            for slot in batch[1:]:
                slot.turn.release()

    def _take(self) -> list[_Slot[Request, Answer]]:
        """The longest waiting calls that may share a batch; the first is the leader's."""
        batch: list[_Slot[Request, Answer]] = []
        left: deque[_Slot[Request, Answer]] = deque()
        seen: set[Hashable] = set()
        for slot in self._waiting:
            if len(batch) < self.batch_max and seen.isdisjoint(slot.keys):
                batch.append(slot)
            else:
                left.append(slot)
            seen.update(slot.keys)
        self._waiting = left
        return batch

    def _run(self, batch: Sequence[_Slot[Request, Answer]]) -> None:
        """Answer a batch; where that fails as a whole, everyone runs alone."""
        metrics.COMMIT_BATCH_CALLS.labels(self.name).observe(len(batch))
        try:
            with self.begin() as tx:
                answers = self.run_batch(tx, [slot.request for slot in batch])
        except Exception as error:
            # Each call's own run will tell whose fault it was, if it was one.
            metrics.COMMIT_BATCH_FAILURES.labels(self.name).inc()
            log.info("batch_failed", queue=self.name, calls=len(batch), error=str(error))
            return
        for slot, answer in zip(batch, answers, strict=True):
            slot.answer = answer
