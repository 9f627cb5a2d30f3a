"""The frame of every process: settings, logs, the metrics port, shutdown, exit codes.

`meta.process.supervision` and `meta.process.memory` are for the processes that need them.
"""

from meta.process.arguments import read_arguments
from meta.process.bare_structlog import get_logger
from meta.process.environment import Environment, environment, load_settings
from meta.process.exits import CONFIG_EXIT_CODE, ConfigError, fail
from meta.process.metrics_port import NO_METRICS, MetricsAddress, serve_metrics
from meta.process.observability import configure_logging
from meta.process.shutdown import Shutdown, every
from meta.process.tls import ServerTls

__all__ = [
    "CONFIG_EXIT_CODE",
    "NO_METRICS",
    "ConfigError",
    "Environment",
    "MetricsAddress",
    "ServerTls",
    "Shutdown",
    "configure_logging",
    "environment",
    "every",
    "fail",
    "get_logger",
    "load_settings",
    "read_arguments",
    "serve_metrics",
]
