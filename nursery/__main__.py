"""`python -m nursery`: turns baby segments into merged segments until SIGTERM."""

import meta.grpc_core  # before grpc, which reads it once
import meta.process.bare_structlog  # noqa: F401

# isort: split
from dataplane.task_runner import end_process, open_runner
from meta.process.arguments import read_arguments
from meta.process.environment import load_settings
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown
from nursery import config
from nursery.serving import TASK_MODULE, serve


def main() -> None:
    """Poll until SIGTERM; the exit code is 1 if no task can run any more."""
    read_arguments("nursery", "Merge baby segments into merged segments until SIGTERM.")
    configure_logging("nursery")
    end_process(_run)


def _run() -> bool:
    settings = load_settings("NURSERY_", config.load)
    serve_metrics(settings.metrics)
    runner = open_runner(settings.spark("segplane-nursery", TASK_MODULE))
    # Installed after the runner, because pyspark takes SIGINT for itself.
    is_clean = serve(settings, runner, runner.tasks_max, Shutdown().install())
    if is_clean:
        runner.close()
    return is_clean


if __name__ == "__main__":
    main()
