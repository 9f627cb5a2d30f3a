"""`python -m collector`: OTLP in, baby segments out."""

import meta.silent_grpc  # noqa: F401 - before grpc, which reads it once

# isort: split
import sys
from collections.abc import Callable

import uvloop

from collector import config
from collector.app import serve
from collector.processes import run_processes
from meta.process import (
    ConfigError,
    Environment,
    configure_logging,
    fail,
    load_settings,
    read_arguments,
    serve_metrics,
)
from meta.process.memory import keep_freed_memory
from segments.errors import StoreError


def main(load: Callable[[Environment], config.Settings] = config.load) -> None:
    """Run until SIGTERM or SIGINT; exit code 0 if everything taken was committed by then."""
    read_arguments("collector", "Take OTLP and JSON records, and write baby segments.")
    configure_logging("collector")
    try:
        settings = load_settings("COLLECTOR_", load)
        if settings.processes > 1 and settings.process_index is None:
            sys.exit(run_processes(settings))
        serve_metrics(settings.metrics)
        keep_freed_memory()
        # Its loop takes 6 % less of the CPU that exports take than the standard one.
        is_clean = uvloop.run(serve(settings))
    except (ConfigError, StoreError) as error:
        fail(str(error))
    sys.exit(0 if is_clean else 1)


if __name__ == "__main__":
    main()
