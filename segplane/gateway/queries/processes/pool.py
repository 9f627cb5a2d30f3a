"""Processes that wait for queries: each gets one query of one caller, and another replaces it."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import structlog

from segplane.gateway.queries.processes.process import Launcher, QueryProcess
from segplane.gateway.queries.processes.wire import ProcessLimits

# Each has about 10 MB of its own; as many queries of one caller run at a time by default.
WAITING_MAX = 4
log = structlog.get_logger()


class ProcessPool:
    """Hands out processes, of which some wait with DuckDB open.

    Their launcher begins with the first query. A process that a query took is replaced when the
    query has ended, so that its preparation does not compete with the query for the cores; sooner
    only if fewer than half are left, or none that fits. Those that die while they wait are replaced
    no sooner, so that they cost no more than the queries that come.
    """

    def __init__(self, threads: int, waiting_max: int = WAITING_MAX) -> None:
        self._threads = threads
        self._waiting_max = waiting_max
        self._waiting: deque[QueryProcess] = deque()
        self._lock = threading.Lock()
        # The launcher dies with the thread that started it, and starts one process at a time.
        self._starter = ThreadPoolExecutor(1, "segplane-query-starter")
        self._launcher: Launcher | None = None
        self._is_closed = False

    @property
    def launcher_pid(self) -> int | None:
        """The id of the launcher, None before it begins."""
        return None if self._launcher is None else self._launcher.pid

    @property
    def waiting_pids(self) -> tuple[int, ...]:
        """The ids of the processes that wait."""
        with self._lock:
            return tuple(process.pid for process in self._waiting)

    async def take(self, limits: ProcessLimits, *, is_new: bool = False) -> QueryProcess:
        """Return a process that has run nothing, or that has not even waited. Raises OSError."""
        waiting = None if is_new else self._waiting_process(limits)
        process = waiting or await self._started(limits)
        with self._lock:
            is_low = 2 * len(self._waiting) < self._waiting_max
        if waiting is None or is_low:
            self.refill(limits)
        return process

    def refill(self, limits: ProcessLimits) -> None:
        """Replace, in the background, the processes that were taken; call it when a query ends."""
        # A gateway that ends has shut the starter down.
        with suppress(RuntimeError):
            self._starter.submit(self._fill, limits)

    def _waiting_process(self, limits: ProcessLimits) -> QueryProcess | None:
        with self._lock:
            for process in self._waiting:
                if process.limits == limits and process.is_waiting():
                    self._waiting.remove(process)
                    return process
        return None

    async def _started(self, limits: ProcessLimits) -> QueryProcess:
        starting = self._starter.submit(self._start, limits)
        try:
            return await asyncio.shield(asyncio.wrap_future(starting))
        except asyncio.CancelledError:
            # Its start continues, and its result is discarded.
            starting.add_done_callback(_discard)
            raise

    def _start(self, limits: ProcessLimits) -> QueryProcess:
        if self._launcher is not None and not self._launcher.is_alive():
            self._launcher.close()
            self._launcher = None
        if self._is_closed:
            raise OSError("the gateway ends")
        if self._launcher is None:
            self._launcher = Launcher(self._threads)
        return QueryProcess(self._launcher, limits)

    def _fill(self, limits: ProcessLimits) -> None:
        """Replace processes that were taken, have died, or have the limits of other settings."""
        with self._lock:
            waiting = tuple(self._waiting)
            kept = [p for p in waiting if p.limits == limits and p.is_waiting()]
            self._waiting = deque(kept)
        for process in waiting:
            if process not in kept:
                process.discard()
        try:
            while len(self.waiting_pids) < self._waiting_max:
                process = self._start(limits)
                with self._lock:
                    self._waiting.append(process)
        except OSError as error:
            # The next query tries again.
            if not self._is_closed:
                log.warning("query_process_not_started", error=str(error))

    def close(self) -> None:
        """End the launcher and all processes."""
        self._is_closed = True
        launcher = self._launcher
        if launcher is not None:
            # Callers that wait for its answer stop waiting.
            launcher.kill()
        self._starter.shutdown(cancel_futures=True)
        if self._launcher is not None:
            self._launcher.close()
        for process in self._waiting:
            process.discard()
        self._waiting.clear()


def _discard(starting: "Future[QueryProcess]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().discard()
