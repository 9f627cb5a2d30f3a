"""Waits for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Callable

DEADLINE_SECS = 120.0


def wait_until(
    happened: Callable[[], bool],
    what: str,
    *,
    seconds: float = DEADLINE_SECS,
    tick: Callable[[], object] = lambda: None,
    poll_secs: float = 0.02,
) -> float:
    """Poll for a state that no event announces; returns the seconds it took.

    `tick` runs before each pause: the upkeep of what is waited for. Fails with `what` at the
    deadline.
    """
    began = time.monotonic()
    while not happened():
        assert time.monotonic() < began + seconds, f"not within {seconds:.0f} s: {what}"
        tick()
        time.sleep(poll_secs)
    return time.monotonic() - began


async def let_tasks_run() -> None:
    """Let every task that was just created run up to its first wait."""
    await asyncio.sleep(0)


async def other_tasks_ended() -> None:
    """Wait until every other task of this loop has ended."""
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)
