"""The nursery's jobs: one for each task of the plan."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TypeAlias

from dataplane.task_runner import TaskRunner
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.errors import TaskFailed
from segments.named_stores import Stores
from segments.store.several import open_stores

# A task by its index, with its outcome. After TaskFailed a smaller batch is planned.
TaskOutcome: TypeAlias = tuple[int, TaskResult | TaskFailed]


def run(
    runner: TaskRunner, budget: Budget, tasks: Sequence[Task], stores: Stores
) -> Iterator[TaskOutcome]:
    """Run all tasks in parallel and yield their outcomes as they finish.

    Raises RunnerDied, or RunnerUnusable if an operator has to act.
    """
    if not tasks:
        return
    with ThreadPoolExecutor(len(tasks)) as pool:
        jobs = {pool.submit(_run, runner, budget, stores, task): i for i, task in enumerate(tasks)}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def _run(runner: TaskRunner, budget: Budget, stores: Stores, task: Task) -> TaskResult | TaskFailed:
    try:
        return runner.run(partial(run_task, stores, budget), task)
    except TaskFailed as error:
        return error


def run_task(stores: Stores, budget: Budget, task: Task) -> TaskResult:
    """Run one task in its process: locations are pickled, a process opens each store once."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-nursery-"))
    try:
        return execute(task, open_stores(stores), budget, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
