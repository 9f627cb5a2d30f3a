"""Tasks killed after they wrote everything: each record is there once, in both ways to run them."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from dataplane.task_runner import TaskRunner
from nursery.execution.job import TaskOutcome, run_task
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.errors import TaskFailed
from segments.location import Stores
from tests.support.nursery.drivers import BUDGET, CollectorDriver, nursery, texts

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class DyingOnce:
    """Runs tasks; the process of the first dies once its files are uploaded."""

    runner: TaskRunner
    died: Path

    def run(self, tasks: Sequence[Task], where: Stores) -> Iterator[TaskOutcome]:
        for index, task in enumerate(tasks):
            try:
                yield index, self.runner.run(partial(write_and_die, self.died, where), task)
            except TaskFailed as error:
                yield index, error


def write_and_die(died: Path, where: Stores, task: Task) -> TaskResult:
    result = run_task(where, BUDGET, task)
    if not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def test_a_batch_whose_process_is_killed_is_merged_again_and_once(
    collector: CollectorDriver, runner: TaskRunner, tmp_path: Path
) -> None:
    for number in range(4):
        collector.send(f"record {number}")
    dying = DyingOnce(runner, tmp_path / "died")
    driver = nursery(collector.client, dying.run)

    driver.cycle()
    assert dying.died.exists()
    assert texts(collector) == []
    while driver.cycle():
        pass

    assert texts(collector) == [f"record {number}" for number in range(4)]
    # The files that the killed process wrote are orphans, for the janitor.
    assert len(list(collector.store.list("dataset/"))) > len(collector.merged())
