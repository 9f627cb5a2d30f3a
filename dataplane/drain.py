"""The end of threads that run jobs, so that no job can hold up a shutdown."""

import threading
import time
from collections.abc import Callable, Sequence

# Time for a cancelled job to end; only a call that hangs takes longer.
CANCEL_SECS = 5.0
_CANCEL_AGAIN_SECS = 0.2


def drain(
    threads: Sequence[threading.Thread],
    drain_secs: float,
    cancel_jobs: Callable[[], None],
    cancel_secs: float = CANCEL_SECS,
) -> bool:
    """Wait for the threads, cancelling their jobs after `drain_secs`; false if one hangs."""
    _join(threads, drain_secs)
    deadline = time.monotonic() + cancel_secs
    while _is_any_alive(threads) and time.monotonic() < deadline:
        # Repeatedly: a thread may be about to start a job.
        cancel_jobs()
        _join(threads, _CANCEL_AGAIN_SECS)
    return not _is_any_alive(threads)


def _is_any_alive(threads: Sequence[threading.Thread]) -> bool:
    return any(thread.is_alive() for thread in threads)


def _join(threads: Sequence[threading.Thread], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
