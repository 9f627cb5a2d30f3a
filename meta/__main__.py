"""`python -m meta`: the gRPC server."""

from meta import config, server
from meta.errors import MetaError
from meta.process import (
    ConfigError,
    Shutdown,
    configure_logging,
    environment,
    fail,
    serve_metrics,
)


def main() -> None:
    """Read META_* settings, serve until SIGTERM, drain."""
    configure_logging("meta")
    try:
        settings = config.load(environment("META_"))
        serve_metrics(settings.metrics_port)
        server.run(settings, Shutdown().install())
    except (ConfigError, MetaError) as error:
        fail(str(error))


if __name__ == "__main__":
    main()
