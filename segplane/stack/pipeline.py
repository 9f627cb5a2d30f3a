"""`python -m segplane.stack.pipeline`: nursery and merge worker in one process.

Both use one Spark application, and so one JVM. The application has as many slots as both loops
together: a merge never holds up the nursery. If one loop ends, so does the process.
"""

import meta.grpc_core  # noqa: F401 - before grpc, which reads it once

# isort: split
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import merge_worker.config
import merge_worker.serving
import nursery.config
import nursery.serving
from dataplane import meta_connection
from dataplane.task_runner import end_process, open_runner, slots_of, with_slots
from meta.process.arguments import read_arguments
from meta.process.bare_structlog import get_logger
from meta.process.environment import load_settings
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown

log = get_logger()


def main() -> None:
    """Run both loops until SIGTERM; exit code 1 asks for another start."""
    read_arguments("segplane.stack.pipeline", "Run a nursery and a merge worker until SIGTERM.")
    configure_logging("pipeline")
    end_process(_run)


def _run() -> bool:
    merging = load_settings("NURSERY_", nursery.config.load)
    compacting = load_settings("MERGE_WORKER_", merge_worker.config.load)
    for address in {merging.metrics, compacting.metrics}:
        serve_metrics(address)
    # Its supervisor need not wait for Spark: only merges do.
    log.info("pipeline_started")
    modules = nursery.serving.TASK_MODULE, merge_worker.serving.TASK_MODULE
    spark = merging.spark("segplane", *modules)
    slots = slots_of(spark)
    merges_max = compacting.concurrent_tasks or slots
    with meta_connection.connect(compacting) as client:
        # Signals end the process by themselves until the runner is there.
        locator = merge_worker.serving.prepare(compacting, client, Shutdown())
        runner = open_runner(with_slots(spark, slots + merges_max))
        # Installed after the runner, because pyspark takes SIGINT for itself.
        shutdown = Shutdown().install()

        def merge() -> bool:
            return nursery.serving.serve(merging, runner, slots, shutdown)

        def compact() -> bool:
            loop = merge_worker.serving.serve
            return loop(compacting, client, locator, runner, merges_max, shutdown)

        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(_until_end, loop, shutdown) for loop in (merge, compact)]
            has_ended_well = [end.result() for end in ends]
        is_clean = all(has_ended_well)
        if is_clean:
            runner.close()
    return is_clean


def _until_end(loop: Callable[[], bool], shutdown: Shutdown) -> bool:
    try:
        return loop()
    finally:
        shutdown.request()


if __name__ == "__main__":
    main()
