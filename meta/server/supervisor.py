"""META_PROCESSES: the children that serve meta on one port."""

import os
import sys
from dataclasses import replace

from meta.config import Settings
from meta.process.arguments import CHILD_FLAG
from meta.process.exits import ConfigError
from meta.process.shutdown import Shutdown
from meta.process.supervision import ChildCommand, find_bind_error, supervise


def run(settings: Settings, shutdown: Shutdown) -> int:
    """Run the children until shutdown or a wrong setting; returns the exit code."""
    _require_free(settings.bind)
    arguments = (sys.executable, "-P", "-m", "meta", CHILD_FLAG)
    environment = dict(os.environ)
    commands = [
        ChildCommand((*arguments, str(index)), environment) for index in range(settings.processes)
    ]
    return supervise(commands, shutdown)


def child_settings(settings: Settings, index: int) -> Settings:
    """A child's own settings: a metrics port for each."""
    return replace(settings, metrics=settings.metrics.of_child(index))


def _require_free(bind: str) -> None:
    """Raise ConfigError for a port that another process has."""
    host, _, port = bind.rpartition(":")
    if port == "0":
        raise ConfigError(f"META_BIND {bind}: with META_PROCESSES a port must be named")
    error = find_bind_error(host.strip("[]"), int(port))
    if error is not None:
        raise ConfigError(
            f"cannot listen on {bind}: is another meta running? choose META_BIND"
        ) from error
