"""`python -m merge_worker`: compacts merged segments, one merge task a core."""

import sys
import threading
import time

import structlog

from merge_worker.config import Settings, load
from merge_worker.job import SparkMerger
from merge_worker.loop import Worker
from meta.client import MetaClient, location
from meta.errors import MetaError, Unimplemented
from meta.process import (
    ConfigError,
    Shutdown,
    configure_logging,
    environment,
    fail,
    serve_metrics,
)
from meta.v1.operations_pb2 import GetServerStateRequest
from segments.errors import StoreError
from segments.keys import StoreLocation
from segments.spark import SparkSettings, SparkUnusable, cores, open_session
from segments.store import open_store

log = structlog.get_logger()
META_RETRY_SECS = 2.0
CANCEL_SECS = 5.0


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 1 if Spark died under us."""
    configure_logging("merge_worker")
    try:
        settings = load(environment("MERGE_WORKER_"))
        serve_metrics(settings.metrics_port)
        shutdown = Shutdown().install()
        with MetaClient(settings.meta_address) as meta:
            _probe(settings, meta, shutdown)
            sys.exit(_serve(settings, meta, shutdown))
    except (ConfigError, StoreError, SparkUnusable) as error:
        fail(str(error))


def _probe(settings: Settings, meta: MetaClient, shutdown: Shutdown) -> None:
    """Prove that the object store is usable before the first task; waits for meta to be there."""
    where = None
    if settings.object_store_url:
        where = StoreLocation.from_url(settings.object_store_url)
    while where is None and not shutdown.is_requested:
        try:
            where = location(meta.operations.GetServerState(GetServerStateRequest()).bucket)
        except Unimplemented:
            return
        except MetaError as error:
            log.warning("meta_unreachable", address=meta.target, error=error.message)
            shutdown.wait(META_RETRY_SECS)
    if where is not None:
        open_store(where).probe()


def _serve(settings: Settings, meta: MetaClient, shutdown: Shutdown) -> int:
    if shutdown.is_requested:
        return 0
    wanted = SparkSettings(
        "segplane merge_worker",
        settings.spark_master,
        settings.spark_cores_max,
        settings.spark_driver_memory,
    )
    spark = open_session(wanted)
    shutdown.install()  # Spark took SIGINT.
    merger = SparkMerger(spark)
    worker = Worker(settings, meta, merger, shutdown, threading.Event())
    deaths: list[BaseException] = []

    def work() -> None:
        try:
            worker.work()
        except BaseException as error:
            # The process ends with its threads: a supervisor starts it afresh.
            deaths.append(error)
            log.exception("merge_worker_died")
            shutdown.request()

    threads = [
        threading.Thread(target=work, name=f"merge-{number}", daemon=True)
        for number in range(settings.concurrent_tasks or cores(spark, wanted))
    ]
    for thread in threads:
        thread.start()
    log.info("merge_worker_started", worker_id=settings.worker_id, threads=len(threads))
    shutdown.wait()
    _join(threads, 0.0 if deaths else settings.drain_secs)
    worker.give_up.set()
    merger.cancel_all()
    _join(threads, CANCEL_SECS)
    log.info("merge_worker_stopped")
    if not deaths:
        spark.stop()
    return 1 if deaths else 0


def _join(threads: list[threading.Thread], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


if __name__ == "__main__":
    main()
