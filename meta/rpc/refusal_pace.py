"""A pace of refusals: who is refused again and again hears so later, and calls less often.

A refused call costs the event loop as much as a good one, and a caller that ignores refusals would
keep the loop busy with nothing else. The first refusals are not delayed.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

# "subject" or "host", and its name.
Caller: TypeAlias = tuple[str, str]
# Of one subject or host: some 5 % of a core.
REFUSALS_PER_SEC = 100.0
BURST = 50
DELAY_SECS_MAX = 5.0
KEYS_MAX = 1_000
# Others share one pace where there are too many.
OTHERS: Caller = "", ""


class RefusalPace:
    """The next moment of each subject or host; used on the event loop only.

    At most `delayed_max` refusals wait; further ones are not delayed.
    """

    def __init__(self, delayed_max: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._delayed_max = delayed_max
        self._clock = clock
        self._delayed = 0
        # By subject or host: when all of its refusals would have been sent one by one.
        self._next_at: dict[Caller, float] = {}

    def __len__(self) -> int:
        """The number of subjects and hosts that are remembered."""
        return len(self._next_at)

    def delay(self, caller: Caller) -> float:
        """Count a refusal of a subject or host; returns its delay in seconds."""
        now = self._clock()
        if caller not in self._next_at and len(self._next_at) >= KEYS_MAX:
            self._forget(now)
            if len(self._next_at) >= KEYS_MAX:
                caller = OTHERS
        next_at = max(self._next_at.get(caller, now), now)
        delay = next_at - now - BURST / REFUSALS_PER_SEC
        if delay < DELAY_SECS_MAX:
            self._next_at[caller] = next_at + 1 / REFUSALS_PER_SEC
        return max(0.0, delay)

    async def wait(self, caller: Caller) -> None:
        """Count a refusal and wait until it may be sent."""
        delay = self.delay(caller)
        if delay == 0 or self._delayed >= self._delayed_max:
            return
        self._delayed += 1
        try:
            await asyncio.sleep(delay)
        finally:
            self._delayed -= 1

    def _forget(self, now: float) -> None:
        self._next_at = {key: at for key, at in self._next_at.items() if at > now}
