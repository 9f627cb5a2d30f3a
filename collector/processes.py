"""COLLECTOR_PROCESSES: the children that serve the collector's ports together."""

import sys

from collector.config import Settings, child_environment, split_bind
from meta.process import ConfigError, Shutdown
from meta.process.supervision import ChildCommand, find_bind_error, supervise


def run_processes(settings: Settings) -> int:
    """Run the children until a signal or a wrong setting; returns the exit code."""
    for bind in (settings.grpc_bind, settings.http_bind):
        _require_free(bind)
    arguments = (sys.executable, "-P", "-m", "collector")
    commands = [
        ChildCommand(arguments, child_environment(index)) for index in range(settings.processes)
    ]
    return supervise(commands, Shutdown().install())


def _require_free(bind: str) -> None:
    """Raise ConfigError for a port that another process has."""
    host, port = split_bind(bind)
    if port == 0:
        raise ConfigError(f"{bind}: with COLLECTOR_PROCESSES a port must be named")
    error = find_bind_error(host, port)
    if error is not None:
        raise ConfigError(f"{bind} cannot be opened (in use?): {error.strerror}") from error
