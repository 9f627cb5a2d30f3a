"""Metrics ports of a stack's processes, and the file of targets that Prometheus reads.

With `--metrics` each process has a port. The file has the format of `file_sd_configs`; it is
written once all processes are ready and removed when they stop.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segplane.stack.defaults import HOST
from segplane.terminal.whole_files import whole_file

if TYPE_CHECKING:
    from segplane.stack.config import StackSettings

# The job whose targets the rules in deploy/ are about.
JOB = "segplane"
_PORT = "METRICS_PORT"
_WILDCARDS = ("0.0.0.0", "::", "[::]")
# Services of a process that has several; the first has the settings of its port.
_SERVICES = {"pipeline": ("nursery", "merge_worker")}


def path_in(data_dir: Path) -> Path:
    """Return the file of targets."""
    return data_dir / "prometheus-targets.json"


def ports_of(settings: "StackSettings", processes: Sequence[str]) -> dict[str, int]:
    """Return the first metrics port of each process by its setting; 0 = any free one.

    Raises ConfigError if a process has several ports and none is set, from which to count up.
    """
    ports = {}
    for process in processes if settings.has_metrics else ():
        environment = _environment(settings, process)
        name = _setting(process)
        # A port that all processes share would be that of the first one only.
        is_set = environment.name_of(_PORT).startswith(name)
        ports[name] = environment.metrics().port if is_set else 0
        if not ports[name] and _count(environment) > 1:
            raise ConfigError(
                f"--metrics with {environment.prefix}PROCESSES: set {name}, the first of the ports"
            )
    return ports


def environment_of(settings: "StackSettings", process: str) -> dict[str, str]:
    """Return the variables that open the port of a process; none without `--metrics`."""
    if not settings.has_metrics:
        return {}
    port = settings.metrics_ports.get(_setting(process), 0)
    services = _SERVICES.get(process, (process,))
    return {f"{service.upper()}_{_PORT}": str(port) for service in services}


def write(settings: "StackSettings", processes: Sequence[str]) -> None:
    """Write the targets of processes that run with `--metrics`."""
    if not settings.has_metrics:
        return
    groups = [_group(settings, process) for process in processes]
    with whole_file(path_in(settings.data_dir)) as file:
        file.write(json.dumps(groups, indent=2).encode())


def remove(data_dir: Path) -> None:
    """Remove the targets of a stack that stops."""
    path_in(data_dir).unlink(missing_ok=True)


def _group(settings: "StackSettings", process: str) -> dict[str, object]:
    """Return the targets of a process, with the labels that their series get."""
    environment = _environment(settings, process)
    address = environment.metrics()
    host = HOST if address.host in _WILDCARDS else address.host
    first = settings.metrics_ports[_setting(process)]
    labels = {"job": JOB, "installation": settings.data_dir.name, "process": process}
    if address.tls is not None:
        labels["__scheme__"] = "https"
    ports = range(first, first + _count(environment))
    return {"targets": [f"{host}:{port}" for port in ports], "labels": labels}


def _environment(settings: "StackSettings", process: str) -> Environment:
    return Environment(_prefix(process), settings.inherited)


def _setting(process: str) -> str:
    return f"{_prefix(process)}{_PORT}"


def _prefix(process: str) -> str:
    return f"{_SERVICES.get(process, (process,))[0].upper()}_"


def _count(environment: Environment) -> int:
    return environment.integer("PROCESSES", 1, low=1)
