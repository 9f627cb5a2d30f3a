"""Fair CPU scheduling of the worker threads: the subject that used least goes first.

Python runs one thread at a time, so a thread that computes slows every call of the process, while
one that waits for Postgres slows none. So CPU time is compared, and not the number of threads.
"""

import asyncio
import math
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
# CPU time of a call on the event loop, in addition to that of its thread.
LOOP_SECS = 0.0003
COUNT_PAUSE_SECS = 0.1


@dataclass(slots=True)
class CallCost:
    """CPU time of a call in threads, in seconds."""

    cpu_secs: float = 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the CPU time of the calling thread."""
        began_secs = time.thread_time()
        try:
            yield
        finally:
            self.cpu_secs += time.thread_time() - began_secs


@dataclass(slots=True)
class _Share:
    """Recent CPU time of a subject, and its calls that hold a thread or wait for one."""

    used_secs: float = 0.0
    used_at: float = 0.0
    running: int = 0
    is_restricted: bool = False
    waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)

    def used(self, now: float) -> float:
        """Recent CPU time, in seconds."""
        self.used_secs *= 0.5 ** ((now - self.used_at) / HALF_LIFE_SECS)
        self.used_at = now
        return self.used_secs


class ThreadShares:
    """The shares of all subjects; used on the event loop only.

    A subject may hold `most` threads. In a busy process, a subject that has used more than its part
    of the recent CPU time may hold RESTRICTED_THREADS as long as calls of its own wait.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._shares: dict[str, _Share] = {}
        self._active = 0
        self._used_secs = 0.0
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
        share = self._shares.setdefault(subject, _Share(used_at=self._clock()))
        if is_bounded and (share.waiting or share.running >= self._limit(share)):
            count_restricted(SUBJECT, "threads")
            await self._turn(share)
        else:
            share.running += 1
        try:
            yield
        finally:
            share.running -= 1
            used_secs = cost.cpu_secs + LOOP_SECS
            share.used_secs = share.used(self._clock()) + used_secs
            self._used_secs += used_secs
            self._count()
            self._wake(share)

    async def _turn(self, share: _Share) -> None:
        """Wait for a thread; a call that is woken counts as running already."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        share.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    share.waiting.remove(turn)
            else:
                share.running -= 1
                self._wake(share)
            raise

    def _wake(self, share: _Share) -> None:
        while share.waiting and share.running < self._limit(share):
            turn = share.waiting.popleft()
            # The caller may have left.
            if not turn.done():
                share.running += 1
                turn.set_result(None)

    def _limit(self, share: _Share) -> int:
        """The threads that a subject may hold now."""
        is_contended = self._active > 1 and self._used_secs > BUSY_SECS
        # Otherwise a restricted subject would soon be below its part, and begin many calls at once.
        is_held = share.is_restricted and bool(share.waiting)
        share.is_restricted = is_contended and (
            is_held or share.used(self._clock()) * self._active > self._used_secs
        )
        return min(self._most, RESTRICTED_THREADS) if share.is_restricted else self._most

    def _count(self) -> None:
        """Count the active subjects and what all used, now and then; forget the idle ones."""
        now = self._clock()
        if now - self._counted_at < COUNT_PAUSE_SECS:
            return
        self._counted_at = now
        used = {subject: share.used(now) for subject, share in self._shares.items()}
        self._active = sum(secs > IDLE_SECS for secs in used.values())
        self._used_secs = sum(used.values())
        for subject, secs in used.items():
            share = self._shares[subject]
            if secs <= IDLE_SECS and not share.running and not share.waiting:
                del self._shares[subject]
