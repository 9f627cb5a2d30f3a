"""A bound on open streams: reflection, health watches and consistency checks last indefinitely."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from meta.errors import Overloaded

# One stream for this many threads.
THREADS_PER_STREAM = 4
# The official reflection client opens a stream per question; the one before may still be closing.
STREAM_WAIT_SECS = 0.5


class StreamSlots:
    """As many slots as streams may be open at once."""

    def __init__(self, threads: int) -> None:
        self.most = max(1, threads // THREADS_PER_STREAM)
        self._slots = asyncio.Semaphore(self.most)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one slot. Raises Overloaded."""
        try:
            async with asyncio.timeout(STREAM_WAIT_SECS):
                await self._slots.acquire()
        except TimeoutError:
            raise Overloaded("too many open streams") from None
        try:
            yield
        finally:
            self._slots.release()
