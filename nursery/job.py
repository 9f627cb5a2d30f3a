"""The nursery's Spark jobs: one for each task of the plan, with one stage and no shuffle."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from nursery.execute import Budget, execute
from nursery.results import TaskResult
from nursery.tasks import Task
from segments.named_stores import Stores
from segments.spark.session import check_alive, check_versions, first_line
from segments.spark.versions import guarded
from segments.store.several import open_stores


class JobFailed(Exception):
    """Spark aborted the job: a worker died or ran out of memory. Plan a smaller batch."""


# A task by its index, and what came of it.
TaskOutcome: TypeAlias = tuple[int, TaskResult | JobFailed]


def run(
    spark: SparkSession, budget: Budget, tasks: Sequence[Task], stores: Stores
) -> Iterator[TaskOutcome]:
    """Run all tasks in parallel and yield their outcomes as they finish.

    Each is a job of its own: in a shared one, a slow task would hold up the others' results, and a
    failing one would end them. Raises SparkDied if the session is dead, or SparkUnusable if an
    executor runs another release.
    """
    if not tasks:
        return
    run_task = guarded(partial(_run_partition, stores, budget))
    with ThreadPoolExecutor(len(tasks)) as pool:
        jobs = {pool.submit(_run_job, spark, run_task, task): i for i, task in enumerate(tasks)}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def _run_job(
    spark: SparkSession,
    run_task: Callable[[Iterable[Task]], Iterator[TaskResult]],
    task: Task,
) -> TaskResult | JobFailed:
    try:
        (result,) = spark.sparkContext.parallelize([task], 1).mapPartitions(run_task).collect()
    except Exception as error:  # noqa: BLE001 - whatever Spark raises is the task's outcome
        check_alive(spark)
        check_versions(error)
        return JobFailed(first_line(error))
    return result


def _run_partition(stores: Stores, budget: Budget, tasks: Iterable[Task]) -> Iterator[TaskResult]:
    """Run in an executor: the locations are pickled, each store is opened once per process."""
    store = open_stores(stores)
    for task in tasks:
        folder = Path(tempfile.mkdtemp(prefix="segplane-nursery-"))
        try:
            yield execute(task, store, budget, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
