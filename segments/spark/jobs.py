"""Tasks as Spark jobs: each is a job of one stage with one Python task, without shuffle.

In a shared job, a slow task would hold up the others' results, and a failing one would end them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from segments.errors import TaskFailed
from segments.spark.session import cancel_jobs, check_alive, check_versions, cores, first_line
from segments.spark.settings import SparkSettings
from segments.spark.versions import guarded

T = TypeVar("T")
R = TypeVar("R")


class SparkJobs:
    """Runs tasks on one session; safe to share between threads."""

    def __init__(self, spark: SparkSession, settings: SparkSettings) -> None:
        self._spark = spark
        self.tasks_max = cores(spark, settings)

    def run(self, function: Callable[[T], R], item: T, label: str = "") -> R:
        """Run one task and return its result; `cancel` finds it by its label.

        Raises TaskFailed, SparkDied if the session is dead, or SparkUnusable if an executor runs
        another release.
        """
        context = self._spark.sparkContext
        try:
            context.setJobGroup(label, label, interruptOnCancel=True)
            rdd = context.parallelize([item], 1)
            (result,) = rdd.mapPartitions(guarded(partial(_apply, function))).collect()
        except Exception as error:
            check_alive(self._spark)
            check_versions(error)
            raise TaskFailed(f"the Spark job failed: {first_line(error)}") from error
        return result

    def check(self) -> None:
        """Raise SparkDied if no task can run any more."""
        check_alive(self._spark)

    def cancel(self, label: str) -> None:
        """End the tasks with this label; their `run` raises TaskFailed soon after."""
        # If the JVM is gone there is nothing to cancel, and `run` reports it.
        with suppress(Exception):
            self._spark.sparkContext.cancelJobGroup(label)

    def cancel_all(self) -> None:
        """End all tasks."""
        cancel_jobs(self._spark)

    def close(self) -> None:
        """End the session."""
        self._spark.stop()


def _apply(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Run in an executor."""
    return map(function, items)
