"""`python -m merge_worker`: compacts merged segments, one merge task a core."""

import meta.silent_grpc  # noqa: F401 - before grpc, which reads it once

# isort: split
import sys
import threading

from dataplane import meta_connection
from dataplane.clocks import watch_skew
from dataplane.drain import drain
from dataplane.location import Locator
from dataplane.task_runner import open_runner
from merge_worker.config import Settings, load
from merge_worker.job import TaskMerger
from merge_worker.loop import Worker
from merge_worker.scratch import remove_abandoned
from meta import metrics
from meta.client import MetaClient
from meta.process import (
    ConfigError,
    Shutdown,
    configure_logging,
    fail,
    get_logger,
    load_settings,
    read_arguments,
    serve_metrics,
)
from segments.errors import RunnerDied, RunnerUnusable, StoreError, StoreUnavailable
from segments.store.several import open_stores

log = get_logger()


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 1 if no task can run or the store does not answer."""
    read_arguments("merge_worker", "Compact merged segments until SIGTERM.")
    configure_logging("merge_worker")
    try:
        settings = load_settings("MERGE_WORKER_", load)
        serve_metrics(settings.metrics)
        with meta_connection.connect(settings) as meta:
            locator = Locator(meta, f"merge_worker/{settings.worker_id}", settings.object_store)
            _probe(locator)
            sys.exit(_serve(settings, meta, locator))
    except StoreUnavailable as error:
        log.error("store_unavailable", error=str(error))
        sys.exit(1)
    except (ConfigError, StoreError, RunnerUnusable) as error:
        fail(str(error))
    except RunnerDied as error:
        log.error("runner_died", error=str(error))
        sys.exit(1)


def _probe(locator: Locator) -> None:
    """Check that the object stores are usable before the first task; waits for meta."""
    # Signals end the process by themselves until the runner is there.
    locator.wait(Shutdown())
    open_stores(locator.stores).probe()


def _serve(settings: Settings, meta: MetaClient, locator: Locator) -> int:
    remove_abandoned(settings.work_dir)
    runner = open_runner(settings.spark("segplane merge_worker"))
    # Installed after the runner, because pyspark takes SIGINT for itself.
    shutdown = Shutdown().install()
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
        for number in range(settings.concurrent_tasks or runner.tasks_max)
    ]
    for thread in threads:
        thread.start()
    watch_skew(meta, metrics.CLOCK_SKEW["merge_worker"], shutdown)
    log.info("merge_worker_started", worker_id=settings.worker_id, threads=len(threads))
    shutdown.wait()

    def give_up() -> None:
        worker.give_up.set()
        merger.cancel_all()

    drain(threads, 0.0 if deaths else settings.drain_secs, give_up)
    log.info("merge_worker_stopped")
    for death in deaths:
        if isinstance(death, RunnerUnusable):
            raise death
    if not deaths:
        runner.close()
    return 1 if deaths else 0


if __name__ == "__main__":
    main()
