"""`python -m nursery`: turns baby segments into merged segments until SIGTERM."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial

import structlog

from meta.process import (
    ConfigError,
    Shutdown,
    configure_logging,
    fail,
    load_settings,
    serve_metrics,
)
from nursery import config, job
from nursery.cycles import Cycles
from nursery.execute import Budget
from nursery.job import TaskOutcome
from nursery.loop import Nursery
from nursery.tasks import Task
from segments.errors import StoreUnusable
from segments.named_stores import Stores
from segments.spark.session import (
    SparkDied,
    SparkUnusable,
    cancel_jobs,
    check_alive,
    cores,
    open_session,
)
from segplane.dataplane import meta_connection

log = structlog.get_logger()


def main() -> None:
    """Start the one Spark session, then poll; the exit code is 1 if its JVM dies."""
    configure_logging("nursery")
    try:
        settings = load_settings("NURSERY_", config.load)
        serve_metrics(settings.metrics)
        is_clean = run(settings)
    except (ConfigError, SparkUnusable, StoreUnusable) as error:
        fail(str(error))
    except SparkDied as error:
        log.error("spark_died", error=str(error))
        is_clean = False
    sys.exit(0 if is_clean else 1)


def run(settings: config.Settings) -> bool:
    """Run cycles until SIGTERM; false if Spark died, whose process cannot be saved, or one hung.

    A job that outlasts the drain is cancelled: nothing of it is registered.
    """
    spark_settings = settings.spark("segplane-nursery")
    spark = open_session(spark_settings)
    # After the session: pyspark takes SIGINT for itself.
    shutdown = Shutdown().install()

    def run_tasks(tasks: Sequence[Task], stores: Stores) -> Iterator[TaskOutcome]:
        in_force = nursery.settings
        budget = Budget(in_force.decode_bytes_max, in_force.task_bytes_max)
        return job.run(spark, budget, tasks, stores)

    with meta_connection.connect(settings) as client:
        nursery = Nursery(
            client, settings, run_tasks, cores(spark, spark_settings), shutdown=shutdown
        )
        cycles = Cycles(nursery, partial(check_alive, spark), settings.interval_secs, shutdown)
        cycles.start()
        log.info("nursery_started", master=settings.spark_master, meta=settings.meta_address)
        shutdown.wait()
        has_ended = cycles.end(settings.drain_secs, partial(cancel_jobs, spark))
        nursery.close()
    is_clean = _is_clean(cycles.error, has_ended)
    if is_clean:
        spark.stop()
    log.info("nursery_stopped")
    return is_clean


def _is_clean(error: BaseException | None, has_ended: bool) -> bool:
    """Say why the cycles ended, if not as asked; raises what only an operator can mend."""
    if isinstance(error, SparkDied):
        log.error("spark_died", error=str(error))
    elif error is not None:
        raise error
    elif not has_ended:
        log.warning("cycle_abandoned")
    return error is None and has_ended


if __name__ == "__main__":
    main()
