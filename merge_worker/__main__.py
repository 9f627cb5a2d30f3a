"""`python -m merge_worker`: compacts merged segments, one merge task a core."""

import meta.grpc_core  # before grpc, which reads it once
import meta.process.bare_structlog  # noqa: F401

# isort: split
from dataplane import meta_connection
from dataplane.task_runner import end_process, open_runner
from merge_worker.config import load
from merge_worker.serving import TASK_MODULE, prepare, serve
from meta.process.arguments import read_arguments
from meta.process.environment import load_settings
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown


def main() -> None:
    """Run until SIGTERM or SIGINT; exit code 1 if no task can run or the store does not answer."""
    read_arguments("merge_worker", "Compact merged segments until SIGTERM.")
    configure_logging("merge_worker")
    end_process(_run)


def _run() -> bool:
    settings = load_settings("MERGE_WORKER_", load)
    serve_metrics(settings.metrics)
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
