"""A pace of refusals: repeated ones are delayed, so that their caller calls less often.

A refused call costs the event loop as much as a good one, and a caller that ignores refusals would
keep the loop busy with nothing else. One that took more CPU, as a damaged one of megabytes does,
counts as several. The first refusals are not delayed.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

# "subject" or "host", and its name.
Caller: TypeAlias = tuple[str, str]
# Rate of one subject or host; it takes some 5 % of a core.
REFUSALS_PER_SEC = 100.0
BURST = 50
# CPU time of one; a dearer one counts in proportion.
REFUSAL_SECS = 0.0005
DELAY_SECS_MAX = 5.0
KEYS_MAX = 1_000
# Others share one pace if there are too many.
OTHERS: Caller = "", ""


class RefusalPace:
    """The next moment of each subject or host; used on the event loop only.

    At most `delayed_max` refusals wait; further ones are not delayed.
    """

    def __init__(self, delayed_max: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._delayed_max = delayed_max
        self._clock = clock
        self._delayed = 0
        # For each subject or host, the time at which its refusals would all be sent one by one.
        self._next_at: dict[Caller, float] = {}

    def __len__(self) -> int:
        """The number of subjects and hosts that are remembered."""
        return len(self._next_at)

    def delay(self, caller: Caller, cpu_secs: float = 0.0) -> float:
        """Count a refusal of a subject or host by its CPU time; returns its delay in seconds."""
        now = self._clock()
        if caller not in self._next_at and len(self._next_at) >= KEYS_MAX:
            self._forget(now)
            if len(self._next_at) >= KEYS_MAX:
                caller = OTHERS
        next_at = max(self._next_at.get(caller, now), now)
        delay = next_at - now - BURST / REFUSALS_PER_SEC
        if delay < DELAY_SECS_MAX:
            refusals = max(1.0, cpu_secs / REFUSAL_SECS)
            # One that took minutes delays what comes next, and not what comes in an hour.
            latest = now + BURST / REFUSALS_PER_SEC + DELAY_SECS_MAX
            self._next_at[caller] = min(next_at + refusals / REFUSALS_PER_SEC, latest)
        return max(0.0, delay)

    async def wait(self, caller: Caller, cpu_secs: float = 0.0) -> bool:
        """Count a refusal by its CPU time and wait until it may be sent; True if it had to."""
        delay = self.delay(caller, cpu_secs)
        if delay == 0 or self._delayed >= self._delayed_max:
            return False
        self._delayed += 1
        try:
            await asyncio.sleep(delay)
            return True
        finally:
            self._delayed -= 1

    async def after_earlier(self, caller: Caller) -> None:
        """Wait until the earlier refusals of a subject may have been sent.

        So requests that it sends at once are not handled at once, and then delayed.
        """
        delay = self._behind_secs(caller)
        if delay > 0:
            await asyncio.sleep(min(delay, DELAY_SECS_MAX))

    def is_behind(self, caller: Caller) -> bool:
        """True while the earlier refusals of a subject may not have been sent."""
        return self._behind_secs(caller) > 0

    def _behind_secs(self, caller: Caller) -> float:
        now = self._clock()
        return self._next_at.get(caller, now) - now - BURST / REFUSALS_PER_SEC

    def _forget(self, now: float) -> None:
        self._next_at = {key: at for key, at in self._next_at.items() if at > now}
