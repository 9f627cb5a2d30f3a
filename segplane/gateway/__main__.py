"""`python -m segplane.gateway`: serves datasets to query engines over HTTP."""

import meta.grpc_core  # before grpc, which reads it once
import meta.process.bare_structlog  # noqa: F401

# isort: split
from meta.errors import MetaError
from meta.process.arguments import read_arguments
from meta.process.environment import load_settings
from meta.process.exits import ConfigError, fail
from meta.process.metrics_port import serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown
from segments.errors import StoreError
from segplane.gateway import config
from segplane.gateway.server import serve


def main() -> None:
    """Read GATEWAY_* settings and serve until SIGTERM."""
    read_arguments("segplane.gateway", "Serve datasets to query engines over HTTP until SIGTERM.")
    configure_logging("gateway")
    try:
        settings = load_settings("GATEWAY_", config.load)
        serve_metrics(settings.metrics)
        serve(settings, Shutdown().install())
    except (ConfigError, MetaError, StoreError) as error:
        fail(str(error))


if __name__ == "__main__":
    main()
