"""`python -m nursery`: turns baby segments into merged segments until SIGTERM."""

import meta.silent_grpc  # noqa: F401 - before grpc, which reads it once

# isort: split
import sys
from collections.abc import Iterator, Sequence

from dataplane import meta_connection
from dataplane.task_runner import open_runner
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
from nursery import config
from nursery.cycles import Cycles
from nursery.execution import job
from nursery.execution.execute import Budget
from nursery.execution.job import TaskOutcome
from nursery.loop import Nursery
from nursery.planning.tasks import Task
from segments.errors import RunnerDied, RunnerUnusable, StoreUnusable
from segments.named_stores import Stores

log = get_logger()


def main() -> None:
    """Poll until SIGTERM; the exit code is 1 if no task can run any more."""
    read_arguments("nursery", "Merge baby segments into merged segments until SIGTERM.")
    configure_logging("nursery")
    try:
        settings = load_settings("NURSERY_", config.load)
        serve_metrics(settings.metrics)
        is_clean = run(settings)
    except (ConfigError, RunnerUnusable, StoreUnusable) as error:
        fail(str(error))
    except RunnerDied as error:
        log.error("runner_died", error=str(error))
        is_clean = False
    sys.exit(0 if is_clean else 1)


def run(settings: config.Settings) -> bool:
    """Run cycles until SIGTERM; false if no task can run any more, or a cycle hung.

    A job that outlasts the drain is cancelled: nothing of it is registered.
    """
    runner = open_runner(settings.spark("segplane-nursery"))
    # Installed after the runner, because pyspark takes SIGINT for itself.
    shutdown = Shutdown().install()

    def run_tasks(tasks: Sequence[Task], stores: Stores) -> Iterator[TaskOutcome]:
        in_force = nursery.settings
        budget = Budget(in_force.decode_bytes_max, in_force.task_bytes_max)
        return job.run(runner, budget, tasks, stores)

    with meta_connection.connect(settings) as client:
        nursery = Nursery(client, settings, run_tasks, runner.tasks_max, shutdown=shutdown)
        cycles = Cycles(nursery, runner.check, settings.interval_secs, shutdown, settings.wait_secs)
        cycles.start()
        log.info("nursery_started", master=settings.spark_master, meta=settings.meta_address)
        shutdown.wait()
        has_ended = cycles.end(settings.drain_secs, runner.cancel_all)
        nursery.close()
    is_clean = _is_clean(cycles.error, has_ended)
    if is_clean:
        runner.close()
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


if __name__ == "__main__":
    main()
