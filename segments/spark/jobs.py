"""Tasks as Spark jobs: each is a job of one stage with one Python task, without shuffle.

In a shared job, a slow task would hold up the others' results, and a failing one would end them.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from pyspark.sql import SparkSession

from segments.errors import TaskFailed
from segments.self_checks import SelfFinding
from segments.spark.session import check_alive, check_versions, cores, first_line
from segments.spark.settings import SparkSettings
from segments.spark.versions import guarded

T = TypeVar("T")
R = TypeVar("R")
# An application that has not answered for so long hangs.
ANSWER_SECS = 60.0


@dataclass(frozen=True, slots=True)
class Application:
    """A Spark application as its UI and its event log name it; `ui_url` is "" without a UI."""

    application_id: str
    master: str
    version: str
    ui_url: str


class SparkJobs:
    """Runs tasks on one session; safe to share between threads."""

    def __init__(self, spark: SparkSession, settings: SparkSettings) -> None:
        self._spark = spark
        self._settings = settings
        self.tasks_max = cores(spark, settings)
        context = spark.sparkContext
        ui_url = str(context.uiWebUrl or "")
        self.application = Application(
            context.applicationId, str(context.master), context.version, ui_url
        )
        self.application_id = self.application.application_id
        # The process of the JVM; None if another program has started it.
        self._java_process = getattr(context._gateway, "proc", None)
        jvm: Any = context._jvm
        self._java = f"Java {jvm.java.lang.System.getProperty('java.version')}"
        # By the monotonic clock; a question that was asked after the last answer has none yet.
        self._asked_at = self._answered_at = time.monotonic()
        # Labels of the tasks that run.
        self._labels: set[str] = set()

    @property
    def java_process_id(self) -> int | None:
        """Process id of the JVM; None if another program has started it."""
        return self._java_process.pid if self._java_process is not None else None

    def run(self, function: Callable[[T], R], item: T, label: str = "", description: str = "") -> R:
        """Run one task and return its result; `cancel` finds it by its label.

        The label is the job's group; Spark's UI and event log show the description. Raises
        TaskFailed, RunnerDied if the session is dead or another release was installed, or
        SparkUnusable if an executor runs another release.
        """
        context = self._spark.sparkContext
        label = label or f"task-{uuid4()}"
        self._labels.add(label)
        try:
            context.setJobGroup(label, description or label, interruptOnCancel=True)
            rdd = context.parallelize([item], 1)
            (result,) = rdd.mapPartitions(guarded(partial(_apply, function))).collect()
        except Exception as error:
            check_alive(self._spark)
            check_versions(error, self._settings)
            raise TaskFailed(f"the Spark job failed: {first_line(error)}") from error
        finally:
            self._labels.discard(label)
        return result

    def check(self) -> None:
        """Raise SparkDied if no task can run any more."""
        if self._asked_at <= self._answered_at:
            self._asked_at = time.monotonic()
        check_alive(self._spark)
        self._answered_at = time.monotonic()

    def findings(self) -> Sequence[SelfFinding]:
        """Return whether the JVM runs, and when the application answered `check` last.

        Neither is asked anything: an answer may never come.
        """
        return self._find_java(), self._find_application()

    def _find_java(self) -> SelfFinding:
        process = self._java_process
        code = process.poll() if process is not None else None
        if code is not None:
            return SelfFinding("java", is_ok=False, text=f"{self._java} ended with code {code}")
        number = f", process {process.pid}" if process is not None else ""
        return SelfFinding("java", is_ok=True, text=f"{self._java}{number}")

    def _find_application(self) -> SelfFinding:
        now = time.monotonic()
        is_late = self._asked_at > self._answered_at and now - self._asked_at > ANSWER_SECS
        if is_late:
            text = f"the application has not answered for {now - self._asked_at:.0f} s"
            return SelfFinding("spark", is_ok=False, text=text)
        ago = f"answered {now - self._answered_at:.0f} s ago"
        return SelfFinding("spark", is_ok=True, text=f"{ago}, runs {len(self._labels)} tasks")

    def cancel(self, label: str) -> None:
        """End the task with this label; its `run` raises TaskFailed soon after.

        A task whose job has not begun does not begin.
        """
        # If the JVM has ended there is nothing to cancel, and `run` reports it.
        with suppress(Exception):
            context = self._spark.sparkContext._jsc.sc()
            context.cancelJobGroupAndFutureJobs(label)

    def cancel_all(self, prefix: str = "") -> None:
        """End all tasks whose labels begin with a prefix."""
        for label in tuple(self._labels):
            if label.startswith(prefix):
                self.cancel(label)

    def close(self) -> None:
        """End the session."""
        self._spark.stop()


def _apply(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Run in an executor."""
    return map(function, items)
