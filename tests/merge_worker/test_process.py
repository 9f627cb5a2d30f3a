"""`python -m merge_worker` as a process: what it does, how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meta.v1.merge_task_pb2 import CompleteSegmentMergeTaskRequest
from tests.support.merge_worker.scripted import ScriptedStage, scripted_stage
from tests.support.worker_process import DEADLINE_SECS, WorkerProcess

pytestmark = pytest.mark.spark
Start = Callable[[str, str], WorkerProcess]
ON_SPARK = "local[1]"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ScriptedStage]:
    with scripted_stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[WorkerProcess] = []
    (tmp_path / "work").mkdir()

    def begin(address: str, master: str) -> WorkerProcess:
        environment = {
            "MERGE_WORKER_META_ADDRESS": address,
            "MERGE_WORKER_SPARK_MASTER": master,
            "MERGE_WORKER_INTERVAL_SECS": "0.1",
            "MERGE_WORKER_WORK_DIR": str(tmp_path / "work"),
        }
        running.append(WorkerProcess("merge_worker", environment))
        return running[-1]

    yield begin
    for process in running:
        process.close()


@pytest.mark.parametrize("master", ["processes[2]", "local[2]"])
def test_it_merges_tasks_at_once_and_ends_cleanly(
    stage: ScriptedStage, start: Start, tmp_path: Path, master: str
) -> None:
    tasks = [stage.task() for _ in range(3)]
    for task in tasks:
        stage.meta.tasks.put(task)

    process = start(stage.address, master)
    process.wait_for("merge_worker_started")
    reports = [stage.meta.reports.get(timeout=DEADLINE_SECS) for _ in tasks]

    assert {report.task_id for report in reports} == {task.task_id for task in tasks}
    assert all(isinstance(report, CompleteSegmentMergeTaskRequest) for report in reports)
    assert process.terminate() == 0
    process.wait_for("merge_worker_stopped")
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_an_error_when_its_jvm_dies(
    stage: ScriptedStage, start: Start, number: signal.Signals
) -> None:
    process = start(stage.address, ON_SPARK)
    process.wait_for("merge_worker_started")

    process.kill_children(number)

    assert process.exit_code() == 1
    process.wait_for("merge_worker_died")


@pytest.mark.slow
def test_a_jvm_that_is_killed_while_it_starts_asks_for_another_start(
    stage: ScriptedStage, start: Start
) -> None:
    process = start(stage.address, ON_SPARK)

    process.kill_starting_jvm()

    assert process.exit_code() == 1
    process.wait_for("SIGKILL ended the Spark JVM while it started")


def test_a_malformed_setting_is_named_in_one_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "merge_worker"],
        env={**os.environ, "MERGE_WORKER_WORK_DIR": "/no/such/folder"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr == (
        "error: MERGE_WORKER_WORK_DIR /no/such/folder is not a writable, absolute folder\n"
    )
