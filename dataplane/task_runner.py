"""Runs the tasks of a nursery or a merge worker: in processes of this machine, or on Spark.

A task is the same function of the same argument in both.
"""

import re
from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog

from dataplane.processes.cores import usable_cores
from dataplane.processes.task_processes import TaskProcesses
from segments.errors import RunnerUnusable
from segments.spark.settings import SparkSettings

log = structlog.get_logger()
T = TypeVar("T")
R = TypeVar("R")
_LOCAL = re.compile(r"(?:local|processes)(?:\[(\*|[1-9]\d*)(?:,\s*\d+)?\])?")


class TaskRunner(Protocol):
    """Runs tasks; safe to share between threads."""

    # Tasks that run at once.
    tasks_max: int

    def run(self, function: Callable[[T], R], item: T, label: str = "") -> R:
        """Run one task and return its result; raises TaskFailed, RunnerDied or RunnerUnusable."""
        ...

    def check(self) -> None:
        """Raise RunnerDied if no task can run any more; call it often."""
        ...

    def cancel(self, label: str) -> None:
        """End the tasks with this label; their `run` raises TaskFailed soon after."""
        ...

    def cancel_all(self) -> None:
        """End all tasks."""
        ...

    def close(self) -> None:
        """End what runs tasks."""
        ...


def open_runner(settings: SparkSettings) -> TaskRunner:
    """Open the runner that a master names: `processes` and `local` are this machine.

    Raises RunnerUnusable or RunnerDied if it cannot start.
    """
    if not (settings.is_local or settings.is_without_spark):
        # Spark and its JVM are for clusters: importing pyspark takes half a second of CPU.
        from segments.spark.jobs import SparkJobs
        from segments.spark.session import open_session

        return SparkJobs(open_session(settings), settings)
    if settings.conf:
        names = ", ".join(name for name, _ in settings.conf)
        log.warning("spark_conf_ignored", properties=names, why="a local master runs no Spark")
    return TaskProcesses(_local_cores(settings.master))


def _local_cores(master: str) -> int:
    """The number in `local[n]` or `processes[n]`; for `*` and `processes` all usable cores."""
    matched = _LOCAL.fullmatch(master)
    if matched is None:
        raise RunnerUnusable(
            f"{master} is no master: use local[n], processes[n], or a cluster's URL"
        )
    number = matched[1] or ("1" if master == "local" else "*")
    return usable_cores() if number == "*" else int(number)
