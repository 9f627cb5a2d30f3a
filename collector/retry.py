"""Exponential back-off with jitter for calls to the store and to meta."""

import asyncio
import random

FIRST_SECS = 0.05
LONGEST_SECS = 5.0


class Backoff:
    """Doubling waits with jitter, from `FIRST_SECS` to `LONGEST_SECS`."""

    __slots__ = ("_secs", "failures")

    def __init__(self) -> None:
        self._secs = FIRST_SECS
        self.failures = 0

    async def wait(self) -> None:
        """Count one more failure and wait."""
        self.failures += 1
        await asyncio.sleep(self._secs * (0.5 + random.random() / 2))
        self._secs = min(2 * self._secs, LONGEST_SECS)
