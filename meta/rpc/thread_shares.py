"""Fair CPU scheduling of the worker threads: the subject that used least goes first.

Python runs one thread at a time, so a thread that computes slows every call of the process, while
one that waits for Postgres slows none. So CPU time is compared, and not the number of threads.
"""

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from meta.rpc.restrictions import SUBJECT, count_restricted

# The threads of a subject that uses more than its share; with one it still uses half a core.
RESTRICTED_THREADS = 1
# Time after which used CPU time counts half. One busy core has a decayed sum of 0.7 s.
HALF_LIFE_SECS = 0.5
BUSY_SECS = 0.15
# A subject with less recent CPU time is idle.
IDLE_SECS = 0.0005
# CPU time of a call on the event loop and in gRPC's threads, in addition to that of its own thread;
# and of each byte of its request and reply.
LOOP_SECS = 0.0003
LOOP_BYTE_SECS = 5e-9
COUNT_PAUSE_SECS = 0.1
# A call that has held a thread for so long waits for something else, such as a lock of Postgres, if
# it computed for less than a tenth of what an equal part of one core gives each call. It is then
# not counted against its subject.
STALL_SECS = 0.05
COMPUTING_PART = 0.1


@dataclass(slots=True, eq=False)
class CallCost:
    """CPU time of a call in threads, its bytes on the wire, and its trace if that is recorded."""

    cpu_secs: float = 0.0
    wire_bytes: int = 0
    exemplar: dict[str, str] | None = None
    # The thread that counts now, and its CPU time at the beginning.
    _counting: tuple[int, float] | None = None

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the CPU time of the calling thread."""
        began_secs = time.thread_time()
        self._counting = threading.get_ident(), began_secs
        try:
            yield
        finally:
            self._counting = None
            self.cpu_secs += time.thread_time() - began_secs

    def so_far(self) -> float:
        """CPU time up to now, asked from another thread than the one that counts.

        Threads of the pool live as long as the event loop that asks.
        """
        if (counting := self._counting) is None:
            return self.cpu_secs
        thread, began_secs = counting
        clock = time.pthread_getcpuclockid(thread)
        return self.cpu_secs + time.clock_gettime(clock) - began_secs


@dataclass(slots=True)
class _Share:
    """Recent CPU time of a subject, and its calls that hold a thread or wait for one."""

    used_secs: float = 0.0
    used_at: float = 0.0
    limit: int = 0
    # The calls that hold a thread, and since when; those of them that do not compute.
    holders: dict[CallCost, float] = field(default_factory=dict)
    stalled: frozenset[CallCost] = frozenset()
    waiting: "deque[tuple[asyncio.Future[None], CallCost]]" = field(default_factory=deque)
    watch: asyncio.TimerHandle | None = None

    @property
    def computing(self) -> int:
        """The number of its calls that hold a thread and are not known to wait."""
        return len(self.holders) - len(self.stalled)

    def used(self, now: float) -> float:
        """Recent CPU time, in seconds."""
        self.used_secs *= 0.5 ** ((now - self.used_at) / HALF_LIFE_SECS)
        self.used_at = now
        return self.used_secs


class ThreadShares:
    """The shares of all subjects; used on the event loop only.

    A subject may hold `most` threads. In a busy process, a subject that has recently used more CPU
    time than the average may hold RESTRICTED_THREADS, and one more after each call that ends while
    it has used less. Calls that hold a thread without computing do not count as these, and still
    count as its `most`.

    Subjects have a weight in the average: their own part of the CPU time. Otherwise subjects that
    ask for little would lower it, until all that ask for much were above it and none came first.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._shares: dict[str, _Share] = {}
        self._active = 0
        self._used_secs = 0.0
        self._used_squared = 0.0
        self._counted_at = -math.inf

    def __len__(self) -> int:
        """The number of subjects that are remembered."""
        return len(self._shares)

    def waiting(self, subject: str) -> int:
        """The calls of a subject that wait for a thread."""
        share = self._shares.get(subject)
        return 0 if share is None else len(share.waiting)

    @asynccontextmanager
    async def thread(
        self, subject: str, cost: CallCost, *, is_bounded: bool = True
    ) -> AsyncIterator[None]:
        """Hold a thread of a subject's, first come first served; counts the cost at its end."""
        self._count()
        share = self._shares.setdefault(subject, _Share(used_at=self._clock(), limit=self._most))
        if is_bounded and (share.waiting or not self._has_room(share)):
            count_restricted(SUBJECT, "threads")
            await self._turn(share, cost)
        else:
            share.holders[cost] = self._clock()
        try:
            yield
        finally:
            _leave(share, cost)
            self._add(share, cost.cpu_secs + LOOP_SECS + LOOP_BYTE_SECS * cost.wire_bytes)
            share.limit = min(self._most, share.limit + 1)
            self._count()
            self._wake(share)

    async def _turn(self, share: _Share, cost: CallCost) -> None:
        """Wait for a thread; a call that is woken holds it already."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        share.waiting.append((turn, cost))
        self._watch(share)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    share.waiting.remove((turn, cost))
            else:
                _leave(share, cost)
                self._wake(share)
            raise

    def _wake(self, share: _Share) -> None:
        while share.waiting and self._has_room(share):
            turn, cost = share.waiting.popleft()
            # The caller may have left.
            if not turn.done():
                share.holders[cost] = self._clock()
                turn.set_result(None)

    def _has_room(self, share: _Share) -> bool:
        return len(share.holders) < self._most and share.computing < self._limit(share)

    def _watch(self, share: _Share) -> None:
        """Look for calls that do not compute, as long as others wait for them."""
        if share.watch is None and share.waiting:
            loop = asyncio.get_running_loop()
            share.watch = loop.call_later(STALL_SECS, self._pass_stalled, share)

    def _pass_stalled(self, share: _Share) -> None:
        share.watch = None
        now = self._clock()
        holders = sum(len(each.holders) for each in self._shares.values())
        part = COMPUTING_PART / max(1, holders)
        share.stalled = frozenset(
            cost
            for cost, since in share.holders.items()
            if now - since >= STALL_SECS and cost.so_far() < part * (now - since)
        )
        self._wake(share)
        self._watch(share)

    def _limit(self, share: _Share) -> int:
        """The threads that a subject may hold now."""
        if self._active <= 1 or self._used_secs <= BUSY_SECS:
            share.limit = self._most
        elif share.used(self._clock()) > self._used_squared / self._used_secs:
            share.limit = min(self._most, RESTRICTED_THREADS)
        return share.limit

    def _add(self, share: _Share, used_secs: float) -> None:
        """Count CPU time that a subject has used."""
        before_secs = share.used(self._clock())
        share.used_secs = before_secs + used_secs
        self._used_secs += used_secs
        self._used_squared += share.used_secs**2 - before_secs**2

    def _count(self) -> None:
        """Count the active subjects and what all used, now and then; forget the idle ones."""
        now = self._clock()
        if now - self._counted_at < COUNT_PAUSE_SECS:
            return
        self._counted_at = now
        used = {subject: share.used(now) for subject, share in self._shares.items()}
        self._active = sum(secs > IDLE_SECS for secs in used.values())
        self._used_secs = sum(used.values())
        self._used_squared = sum(secs * secs for secs in used.values())
        for subject, secs in used.items():
            share = self._shares[subject]
            if secs <= IDLE_SECS and not share.holders and not share.waiting:
                del self._shares[subject]


def _leave(share: _Share, cost: CallCost) -> None:
    del share.holders[cost]
    share.stalled -= {cost}
