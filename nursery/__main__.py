"""`python -m nursery`: turns baby segments into merged segments until SIGTERM."""

import sys
from collections.abc import Callable
from functools import partial

import structlog

from meta.client import MetaClient
from meta.errors import MetaError
from meta.process import (
    ConfigError,
    Shutdown,
    configure_logging,
    environment,
    fail,
    serve_metrics,
)
from nursery import config, job
from nursery.execute import Budget
from nursery.loop import Nursery
from segments.errors import StoreError, StoreUnusable
from segments.spark import SparkDied, SparkUnusable, check_alive, cores, open_session
from segments.spark_settings import SparkSettings

log = structlog.get_logger()


def main() -> None:
    """Start the one Spark session, then poll; the exit code is 1 if its JVM dies."""
    configure_logging("nursery")
    try:
        settings = config.load(environment("NURSERY_"))
        serve_metrics(settings.metrics)
        is_clean = run(settings)
    except (ConfigError, SparkUnusable, StoreUnusable) as error:
        fail(str(error))
    sys.exit(0 if is_clean else 1)


def run(settings: config.Settings) -> bool:
    """Run cycles until SIGTERM; false if Spark died, whose process cannot be saved."""
    spark_settings = SparkSettings(
        app_name="segplane-nursery",
        master=settings.spark_master,
        cores_max=settings.spark_cores_max,
        driver_memory=settings.spark_driver_memory,
        conf=settings.spark_conf,
        start_secs=settings.spark_start_secs,
    )
    spark = open_session(spark_settings)
    # After the session: pyspark takes SIGINT for itself.
    shutdown = Shutdown().install()
    budget = Budget(settings.decode_bytes_max, settings.task_bytes_max)

    with MetaClient(settings.meta_address, auth_token=settings.meta_auth_token) as client:
        tasks_max = cores(spark, spark_settings)
        nursery = Nursery(client, settings, partial(job.run, spark, budget), tasks_max)
        log.info("nursery_started", master=settings.spark_master, meta=settings.meta_address)
        is_clean = _cycles(nursery, partial(check_alive, spark), settings.interval_secs, shutdown)
    if is_clean:
        spark.stop()
    log.info("nursery_stopped")
    return is_clean


def _cycles(
    nursery: Nursery, check_spark: Callable[[], None], interval_secs: float, shutdown: Shutdown
) -> bool:
    while not shutdown.is_requested:
        is_more = False
        try:
            # Also while meta is away: a dead session is found by the process that has it.
            check_spark()
            is_more = nursery.cycle()
        except SparkDied as error:
            log.error("spark_died", error=str(error))
            return False
        except StoreUnusable:
            raise
        except (MetaError, StoreError) as error:
            log.warning("cycle_failed", error=f"{type(error).__name__}: {error}")
        shutdown.wait(0.0 if is_more else interval_secs)
    return True


if __name__ == "__main__":
    main()
