"""The nursery's Spark job: one stage, no shuffle, one Spark task per task of the plan."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from nursery.execute import Budget, execute
from nursery.results import TaskResult
from nursery.tasks import Task
from segments.location import StoreLocation
from segments.spark.session import check_alive, check_versions, first_line
from segments.spark.versions import guarded
from segments.store.open import open_store


class JobFailed(Exception):
    """Spark aborted the job: a worker died or ran out of memory. Plan a smaller batch."""


def run(
    spark: SparkSession, budget: Budget, tasks: Sequence[Task], location: StoreLocation
) -> list[TaskResult]:
    """Run all tasks in parallel and return their results in order.

    Raises JobFailed, SparkDied if the session is dead, or SparkUnusable if an executor runs
    another release.
    """
    if not tasks:
        return []
    context = spark.sparkContext
    numbered = context.parallelize(list(enumerate(tasks)), len(tasks))
    try:
        run_partition = guarded(partial(_run_partition, location, budget))
        rows = numbered.mapPartitions(run_partition).collect()
    except Exception as error:
        check_alive(spark)
        check_versions(error)
        raise JobFailed(first_line(error)) from error
    return [result for _, result in sorted(rows, key=lambda row: row[0])]


def _run_partition(
    location: StoreLocation, budget: Budget, tasks: Iterable[tuple[int, Task]]
) -> Iterator[tuple[int, TaskResult]]:
    """Run in an executor: the location is pickled, the store is opened once per process."""
    store = open_store(location)
    for index, task in tasks:
        folder = Path(tempfile.mkdtemp(prefix="segplane-nursery-"))
        try:
            yield index, execute(task, store, budget, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
