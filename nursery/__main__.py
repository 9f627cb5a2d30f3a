"""`python -m nursery`: turns baby segments into merged segments until SIGTERM."""

import meta.process.bare_structlog
import meta.silent_grpc  # noqa: F401 - before grpc, which reads it once

# isort: split
import sys

from dataplane.task_runner import open_runner
from meta.process.arguments import read_arguments
from meta.process.bare_structlog import get_logger
from meta.process.environment import load_settings
from meta.process.exits import ConfigError, fail
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown
from nursery import config
from nursery.serving import TASK_MODULE, serve
from segments.errors import RunnerDied, RunnerUnusable, StoreUnusable

log = get_logger()


def main() -> None:
    """Poll until SIGTERM; the exit code is 1 if no task can run any more."""
    read_arguments("nursery", "Merge baby segments into merged segments until SIGTERM.")
    configure_logging("nursery")
    try:
        settings = load_settings("NURSERY_", config.load)
        serve_metrics(settings.metrics)
        is_clean = _run(settings)
    except (ConfigError, RunnerUnusable, StoreUnusable) as error:
        fail(str(error))
    except RunnerDied as error:
        log.error("runner_died", error=str(error))
        is_clean = False
    sys.exit(0 if is_clean else 1)


def _run(settings: config.Settings) -> bool:
    runner = open_runner(settings.spark("segplane-nursery", TASK_MODULE))
    # Installed after the runner, because pyspark takes SIGINT for itself.
    is_clean = serve(settings, runner, runner.tasks_max, Shutdown().install())
    if is_clean:
        runner.close()
    return is_clean


if __name__ == "__main__":
    main()
