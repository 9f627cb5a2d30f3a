"""The frame of every process: settings, logs, the metrics port, shutdown, exit codes.

`meta.process.supervision` and `meta.process.memory` are for the processes that need them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from meta.process.environment import Environment, environment, load_settings
from meta.process.exits import CONFIG_EXIT_CODE, ConfigError, fail
from meta.process.metrics_address import NO_METRICS, MetricsAddress
from meta.process.tls import ServerTls

if TYPE_CHECKING:
    from meta.process.arguments import read_arguments
    from meta.process.bare_structlog import get_logger
    from meta.process.metrics_port import serve_metrics
    from meta.process.observability import configure_logging
    from meta.process.shutdown import Shutdown, every

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

# The rest of the frame takes long to import, and a command needs none of it.
_MODULES = {
    "Shutdown": "shutdown",
    "configure_logging": "observability",
    "every": "shutdown",
    "get_logger": "bare_structlog",
    "read_arguments": "arguments",
    "serve_metrics": "metrics_port",
}


def __getattr__(name: str) -> Any:
    """Import a part of the frame when it is first named."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
