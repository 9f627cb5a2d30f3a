"""`python -m merge_worker`: compacts merged segments, one merge task a core."""

import meta.process.bare_structlog
import meta.silent_grpc  # noqa: F401 - before grpc, which reads it once

# isort: split
import sys

from dataplane import meta_connection
from dataplane.task_runner import open_runner
from merge_worker.config import Settings, load
from merge_worker.serving import TASK_MODULE, prepare, serve
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

log = get_logger()


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 1 if no task can run or the store does not answer."""
    read_arguments("merge_worker", "Compact merged segments until SIGTERM.")
    configure_logging("merge_worker")
    try:
        settings = load_settings("MERGE_WORKER_", load)
        serve_metrics(settings.metrics)
        sys.exit(0 if _run(settings) else 1)
    except StoreUnavailable as error:
        log.error("store_unavailable", error=str(error))
        sys.exit(1)
    except (ConfigError, StoreError, RunnerUnusable) as error:
        fail(str(error))
    except RunnerDied as error:
        log.error("runner_died", error=str(error))
        sys.exit(1)


def _run(settings: Settings) -> bool:
    with meta_connection.connect(settings) as meta:
        # Signals end the process by themselves until the runner is there.
        locator = prepare(settings, meta, Shutdown())
        runner = open_runner(settings.spark("segplane merge_worker", TASK_MODULE))
        # Installed after the runner, because pyspark takes SIGINT for itself.
        shutdown = Shutdown().install()
        is_clean = serve(settings, meta, locator, runner, runner.tasks_max, shutdown)
        if is_clean:
            runner.close()
    return is_clean


if __name__ == "__main__":
    main()
