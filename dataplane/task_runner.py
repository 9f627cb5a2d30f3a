"""Runs the tasks of a nursery or a merge worker: on Spark, or in child processes without it.

A task is the same function of the same argument in both.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

import structlog

from dataplane.costs.process import METER
from dataplane.processes.task_processes import TaskProcesses
from meta.process.exits import ConfigError, fail
from segments.errors import RunnerDied, RunnerUnusable, StoreError, StoreUnavailable
from segments.self_checks import SelfFinding
from segments.spark.java import WITHOUT_SPARK, check_java
from segments.spark.settings import SparkSettings

log = structlog.get_logger()
T = TypeVar("T")
R = TypeVar("R")
# The event that says what runs tasks, and on Spark the application.
RUNNER_STARTED = "runner_started"
_HERE = re.compile(r"(?:local|processes)(?:\[(\*|[1-9]\d*)(?:,\s*\d+)?\])?")
_CGROUP = Path("/sys/fs/cgroup")


class TaskRunner(Protocol):
    """Runs tasks; safe to share between threads."""

    # Tasks that run at once.
    tasks_max: int
    # Id of the Spark application; "" without Spark.
    application_id: str

    def run(self, function: Callable[[T], R], item: T, label: str = "", description: str = "") -> R:
        """Run one task and return its result; raises TaskFailed, RunnerDied or RunnerUnusable.

        The label is the task's own; the description is what people see of it in Spark.
        """
        ...

    def check(self) -> None:
        """Raise RunnerDied if no task can run any more; call it often."""
        ...

    def findings(self) -> Sequence[SelfFinding]:
        """Return findings about what runs the tasks, without waiting for it."""
        ...

    def cancel(self, label: str) -> None:
        """End the task with this label; its `run` raises TaskFailed soon after."""
        ...

    def cancel_all(self, prefix: str = "") -> None:
        """End all tasks whose labels begin with a prefix."""
        ...

    def close(self) -> None:
        """End what runs tasks."""
        ...


def open_runner(settings: SparkSettings) -> TaskRunner:
    """Open the runner that a master names: Spark, or child processes for `processes[n]`.

    Raises RunnerUnusable or RunnerDied if it cannot start.
    """
    slots = slots_of(settings)
    if settings.is_without_spark:
        if settings.conf:
            names = ", ".join(name for name, _ in settings.conf)
            log.warning("spark_conf_ignored", properties=names, why="the master is not Spark")
        log.info(RUNNER_STARTED, master=settings.master)
        return TaskProcesses(slots)
    # Processes without Spark have neither its packages nor half a second of CPU for their import.
    from segments.spark.jobs import SparkJobs
    from segments.spark.session import open_session

    jobs = SparkJobs(open_session(settings), settings)
    if jobs.java_process_id is not None:
        METER.include(jobs.java_process_id)
    log.info(RUNNER_STARTED, **asdict(jobs.application))
    return jobs


def end_process(run: Callable[[], bool]) -> NoReturn:
    """End the process by what `run` returns or raises; exit code 1 asks for another start."""
    is_clean = False
    try:
        is_clean = run()
    except StoreUnavailable as error:
        log.error("store_unavailable", error=str(error))
    except (ConfigError, StoreError, RunnerUnusable) as error:
        fail(str(error))
    except RunnerDied as error:
        log.error("runner_died", error=str(error))
    sys.exit(0 if is_clean else 1)


def describe_runner(started: Mapping[str, object]) -> str:
    """Describe a runner in one line, from the fields of its RUNNER_STARTED."""
    if "application_id" not in started:
        return f"tasks run without Spark, in {started['master']}"
    ui = f", UI at {started['ui_url']}" if started["ui_url"] else ""
    version, master = started["version"], started["master"]
    return f"Spark {version}, application {started['application_id']}, master {master}{ui}"


def slots_of(settings: SparkSettings) -> int:
    """Tasks that may run at once; raises RunnerUnusable for a malformed master.

    That is n of `local[n]` and `processes[n]`, all usable cores for `*`, or a cluster's cores.
    """
    if not (settings.is_local or settings.is_without_spark):
        return settings.cores_max
    matched = _HERE.fullmatch(settings.master)
    if matched is None:
        raise RunnerUnusable(
            f"{settings.master} is not a master: use local[n], processes[n], or a cluster's URL"
        )
    number = matched[1] or ("1" if settings.is_local else "*")
    return usable_cores() if number == "*" else int(number)


def with_slots(settings: SparkSettings, slots: int) -> SparkSettings:
    """These settings for so many tasks at once, of several users of one runner."""
    if settings.is_local or settings.is_without_spark:
        return replace(settings, master=f"{settings.master.partition('[')[0]}[{slots}]")
    return replace(settings, cores_max=slots)


def check_prerequisites(settings: SparkSettings) -> None:
    """Raise RunnerUnusable if the master is malformed, or needs what is not installed."""
    slots_of(settings)
    if settings.is_without_spark:
        return
    if find_spec("pyspark") is None:
        raise RunnerUnusable(f"no pyspark found: install segplane-server[spark]; {WITHOUT_SPARK}")
    check_java()


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores by the process's affinity and its container's quota, whichever is lower; at least 1."""
    cores = len(os.sched_getaffinity(0))
    quota = _quota(cgroup)
    return cores if quota is None else max(1, min(cores, round(quota)))


def _quota(cgroup: Path) -> float | None:
    """Cores that a container is limited to, by cgroup version 2 or 1; None without a limit."""
    try:
        if (cgroup / "cpu.max").exists():
            limit, period = (cgroup / "cpu.max").read_text().split()
        else:
            limit = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text()
        return int(limit) / int(period) if limit != "max" and int(limit) > 0 else None
    except (OSError, ValueError):
        return None
