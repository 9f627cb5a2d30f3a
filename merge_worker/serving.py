"""A merge worker over a runner of tasks, from its first poll to its shutdown."""

import threading

from dataplane.clocks import watch_skew
from dataplane.drain import drain
from dataplane.location import Locator
from dataplane.reporting import Reporter, process_report
from dataplane.task_runner import TaskRunner
from merge_worker import job
from merge_worker.config import Settings
from merge_worker.job import TaskMerger
from merge_worker.loop import Worker
from merge_worker.scratch import remove_abandoned
from meta import metrics
from meta.client import MetaClient
from meta.process.bare_structlog import get_logger
from meta.process.shutdown import Shutdown
from segments.errors import RunnerUnusable
from segments.store.open import open_stores

log = get_logger()
# The module that Spark's Pythons import before they get a task.
TASK_MODULE = job.__name__


def prepare(settings: Settings, meta: MetaClient, shutdown: Shutdown) -> Locator:
    """Check that the object stores are usable before the first task; waits for meta.

    Raises StoreError, and removes what killed workers left behind.
    """
    locator = Locator(meta, f"merge_worker/{settings.worker_id}", settings.object_store)
    locator.wait(shutdown)
    open_stores(locator.stores).probe()
    remove_abandoned(settings.work_dir)
    return locator


def serve(
    settings: Settings,
    meta: MetaClient,
    locator: Locator,
    runner: TaskRunner,
    threads_max: int,
    shutdown: Shutdown,
) -> bool:
    """Run merge tasks until shutdown, one a thread; false if no task can run any more."""
    merger = TaskMerger(runner)
    worker = Worker(settings, meta, merger, shutdown, threading.Event(), locator)
    deaths: list[BaseException] = []

    def work(number: int) -> None:
        try:
            worker.work(number)
        except BaseException as error:
            # One dead thread ends the process: its supervisor restarts it.
            deaths.append(error)
            if not isinstance(error, RunnerUnusable):
                log.exception("merge_worker_died")
            shutdown.request()

    threads = [
        threading.Thread(target=work, args=(number,), name=f"merge-{number}", daemon=True)
        for number in range(settings.concurrent_tasks or threads_max)
    ]
    for thread in threads:
        thread.start()
    watch_skew(meta, metrics.CLOCK_SKEW["merge_worker"], shutdown)
    report = process_report(
        "merge_worker", settings, worker.progress, folders=(settings.work_dir,), runner=runner
    )
    reporter = Reporter(report, locator).start()
    log.info("merge_worker_started", worker_id=settings.worker_id, threads=len(threads))
    shutdown.wait()

    def give_up() -> None:
        worker.give_up.set()
        merger.cancel_all()

    drain(threads, 0.0 if deaths else settings.drain_secs, give_up)
    reporter.end(is_orderly=not deaths)
    log.info("merge_worker_stopped")
    for death in deaths:
        if isinstance(death, RunnerUnusable):
            raise death
    return not deaths
