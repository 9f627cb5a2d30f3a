"""The thread that runs the nursery's cycles, so that no job can delay a shutdown."""

import threading
import time
from collections.abc import Callable

import structlog

from dataplane.drain import drain
from meta.errors import MetaError
from meta.process import Shutdown
from nursery.loop import Nursery
from segments.errors import StoreError, StoreUnusable

log = structlog.get_logger()
# Longest pause between two polls while there is nothing to merge.
IDLE_SECS_MAX = 5.0
# From a poll whose babies were all merged to the next, in parts of the time that one may wait.
MERGED_SHARE = 1.25


class Cycles:
    """Runs cycles from `start` until shutdown; `check_runner` raises once no task can run.

    Between two cycles it rests `interval_secs`. If a cycle merged everything that its poll named,
    nothing because of its size, the next poll is 1.25 times `wait_secs` after that one: a baby that
    came right after it is merged a quarter of `wait_secs` late, and a steady stream needs one poll
    a cycle. While there is nothing to merge it rests twice `wait_secs`.
    """

    def __init__(
        self,
        nursery: Nursery,
        check_runner: Callable[[], None],
        interval_secs: float,
        shutdown: Shutdown,
        wait_secs: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nursery = nursery
        self._check_runner = check_runner
        self._interval_secs = interval_secs
        self._idle_secs = max(interval_secs, min(2 * wait_secs, IDLE_SECS_MAX))
        self._merged_secs = min(MERGED_SHARE * wait_secs, IDLE_SECS_MAX)
        self._shutdown = shutdown
        self._clock = clock
        self._thread = threading.Thread(target=self._run, name="cycles", daemon=True)
        # The error that ended the cycles, and with them the process.
        self.error: BaseException | None = None

    def start(self) -> None:
        """Start the first cycle."""
        self._thread.start()

    def end(self, drain_secs: float, cancel_jobs: Callable[[], None]) -> bool:
        """Wait for the current cycle, cancelling its job after `drain_secs`; false if it hangs."""
        return drain([self._thread], drain_secs, cancel_jobs)

    def _run(self) -> None:
        try:
            while not self._shutdown.is_requested:
                began = self._clock()
                is_more = self._cycle()
                self._shutdown.wait(0.0 if is_more else self._rest_secs(self._clock() - began))
        except BaseException as error:  # noqa: BLE001 - the thread that joins raises it
            self.error = error
        finally:
            self._shutdown.request()

    def _rest_secs(self, cycle_secs: float) -> float:
        if self._nursery.is_idle:
            return self._idle_secs
        if self._nursery.is_whole:
            return max(self._interval_secs, self._merged_secs - cycle_secs)
        return self._interval_secs

    def _cycle(self) -> bool:
        try:
            # First, so that a dead runner is found even while meta is unavailable.
            self._check_runner()
            return self._nursery.cycle()
        except StoreUnusable:
            raise
        except (MetaError, StoreError) as error:
            log.warning("cycle_failed", error=f"{type(error).__name__}: {error}")
            return False
