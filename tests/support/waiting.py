"""Waiting for a state, with a deadline."""

import time
from collections.abc import Callable


def wait_until(
    happened: Callable[[], bool],
    what: str,
    *,
    seconds: float = 120,
    tick: Callable[[], None] = lambda: None,
    poll_secs: float = 0.1,
) -> None:
    """Wait for a state that no event announces; fails with `what` at the deadline."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        tick()
        time.sleep(poll_secs)
