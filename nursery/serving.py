"""A nursery over a runner of tasks, from its first cycle to its shutdown.

Cycles run in a thread, so that no job can delay a shutdown.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import gettempdir

import structlog

from dataplane import meta_connection
from dataplane.drain import drain
from dataplane.reporting import Reporter, process_report
from dataplane.task_runner import TaskRunner
from meta.errors import MetaError
from meta.process.shutdown import Shutdown
from nursery.config import Settings
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from segments.errors import RunnerDied, StoreError, StoreUnusable
from segments.location import Stores

log = structlog.get_logger()
# Longest pause between two polls while there is nothing to merge.
IDLE_SECS_MAX = 5.0
# From a poll whose babies were all merged to the next, in parts of the time that one may wait.
MERGED_SHARE = 1.25
# The module that Spark's Pythons import before they get a task.
TASK_MODULE = job.__name__


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
            is_more = self._nursery.cycle()
        except StoreUnusable:
            raise
        except (MetaError, StoreError) as error:
            failure = f"{type(error).__name__}: {error}"
            log.warning("cycle_failed", error=failure)
            self._nursery.progress.failed(failure)
            return False
        if self._nursery.done:
            self._nursery.progress.made(self._nursery.done)
        return is_more


def serve(settings: Settings, runner: TaskRunner, tasks_max: int, shutdown: Shutdown) -> bool:
    """Run cycles until shutdown; false if no task can run any more, or a cycle hung.

    A job that outlasts the drain is cancelled: nothing of it is registered.
    """

    def run_tasks(tasks: Sequence[Task], stores: Stores) -> Iterator[TaskOutcome]:
        in_force = nursery.settings
        budget = Budget(in_force.decode_bytes_max, in_force.task_bytes_max)
        return job.run(runner, budget, tasks, stores)

    with meta_connection.connect(settings) as client:
        nursery = Nursery(client, settings, run_tasks, tasks_max, shutdown=shutdown)
        cycles = Cycles(nursery, runner.check, settings.interval_secs, shutdown, settings.wait_secs)
        cycles.start()
        report = process_report(
            "nursery", settings, nursery.progress, folders=(Path(gettempdir()),), runner=runner
        )
        reporter = Reporter(report, nursery.locator).start()
        log.info("nursery_started", master=settings.spark_master, meta=settings.meta_address)
        shutdown.wait()
        has_ended = cycles.end(settings.drain_secs, lambda: runner.cancel_all(job.LABELS))
        nursery.close()
        reporter.end(is_orderly=cycles.error is None and has_ended)
    is_clean = _is_clean(cycles.error, has_ended)
    log.info("nursery_stopped")
    return is_clean


def _is_clean(error: BaseException | None, has_ended: bool) -> bool:
    """Log an unrequested end of the cycles; raises an error that only an operator can mend."""
    if isinstance(error, RunnerDied):
        log.error("runner_died", error=str(error))
    elif error is not None:
        raise error
    elif not has_ended:
        log.warning("cycle_abandoned")
    return error is None and has_ended
