"""The thread that runs the nursery's cycles, so that no job can hold a shutdown up."""

import threading
import time
from collections.abc import Callable

import structlog

from meta.errors import MetaError
from meta.process import Shutdown
from nursery.loop import Nursery
from segments.errors import StoreError, StoreUnusable

log = structlog.get_logger()
# What a cancelled cycle gets to end; more is only taken by a call that hangs.
CANCEL_SECS = 5.0
_CANCEL_AGAIN_SECS = 0.2


class Cycles:
    """Runs cycles from `start` until shutdown; `check_spark` raises once no job can be run."""

    def __init__(
        self,
        nursery: Nursery,
        check_spark: Callable[[], None],
        interval_secs: float,
        shutdown: Shutdown,
    ) -> None:
        self._nursery = nursery
        self._check_spark = check_spark
        self._interval_secs = interval_secs
        self._shutdown = shutdown
        self._thread = threading.Thread(target=self._run, name="cycles", daemon=True)
        # Why the cycles cannot go on; it has requested the shutdown.
        self.error: BaseException | None = None

    def start(self) -> None:
        """Begin the first cycle."""
        self._thread.start()

    def end(self, drain_secs: float, cancel_jobs: Callable[[], None]) -> bool:
        """Wait for the cycle under way, after `drain_secs` without its job; false if it hangs."""
        self._thread.join(drain_secs)
        deadline = time.monotonic() + CANCEL_SECS
        while self._thread.is_alive() and time.monotonic() < deadline:
            # Again and again: the thread may have been about to start a job.
            cancel_jobs()
            self._thread.join(_CANCEL_AGAIN_SECS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._shutdown.is_requested:
                is_more = self._cycle()
                self._shutdown.wait(0.0 if is_more else self._interval_secs)
        except BaseException as error:  # noqa: BLE001 - the thread that joins raises it
            self.error = error
        finally:
            self._shutdown.request()

    def _cycle(self) -> bool:
        try:
            # Also while meta is away: a dead session is found by the process that has it.
            self._check_spark()
            return self._nursery.cycle()
        except StoreUnusable:
            raise
        except (MetaError, StoreError) as error:
            log.warning("cycle_failed", error=f"{type(error).__name__}: {error}")
            return False
