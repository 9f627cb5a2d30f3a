"""`python -m janitor`: plans merges, and deletes tombstoned and orphaned objects."""

import meta.grpc_core  # before grpc, which reads it once
import meta.process.bare_structlog  # noqa: F401

# isort: split
from janitor import config, loop
from meta.errors import MetaError
from meta.process.arguments import read_arguments
from meta.process.environment import load_settings
from meta.process.exits import ConfigError, fail
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown
from segments.errors import StoreError


def main() -> None:
    """Read JANITOR_* settings and work until SIGTERM."""
    read_arguments(
        "janitor", "Plan merges, and delete tombstoned and orphaned objects, until SIGTERM."
    )
    configure_logging("janitor")
    try:
        settings = load_settings("JANITOR_", config.load)
        serve_metrics(settings.metrics)
        loop.run(settings, Shutdown().install())
    except (ConfigError, MetaError, StoreError) as error:
        fail(str(error))


if __name__ == "__main__":
    main()
