"""The nursery's jobs: one for each task of the plan."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TypeAlias

from dataplane.costs.process import charge_task
from dataplane.task_runner import TaskRunner
from meta.costs.accumulator import Work
from meta.costs.spent import Measured, measured
from nursery.execution.execute import Budget, execute
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.errors import TaskFailed
from segments.ids import new_uuid7
from segments.location import Stores
from segments.store.open import open_stores

# A task by its index, with its outcome. After TaskFailed a smaller batch is planned.
TaskOutcome: TypeAlias = tuple[int, TaskResult | TaskFailed]
# The labels of all tasks begin with this.
LABELS = "nursery-"
# Datasets that a description names.
_DATASETS_MAX = 8


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
        function, task_id = partial(measured, partial(run_task, stores, budget)), str(new_uuid7())
        label, description = f"{LABELS}{task_id}", _description(task, task_id)
        done: Measured[TaskResult] = runner.run(function, task, label, description)
    except TaskFailed as error:
        return error
    sizes = {
        dataset.dataset_id: sum(each.facts.compressed_size_bytes for each in dataset.segments)
        for dataset in done.result.datasets
    }
    charge_task(Work.NURSERY, sizes, done.spent)
    return done.result


def _description(task: Task, task_id: str) -> str:
    names = [work.dataset_id for work in task.works]
    more = f" and {len(names) - _DATASETS_MAX} more" if len(names) > _DATASETS_MAX else ""
    datasets = ", ".join(names[:_DATASETS_MAX]) + more
    return f"nursery task {task_id}: dataset {datasets}"


def run_task(stores: Stores, budget: Budget, task: Task) -> TaskResult:
    """Run one task in its process: locations are pickled, a process opens each store once."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-nursery-"))
    try:
        return execute(task, open_stores(stores), budget, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
