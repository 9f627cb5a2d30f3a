"""`python -m merge_worker` as a process: what it does, how it ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meta.v1.merge_task_pb2 import CompleteSegmentMergeTaskRequest
from tests.merge_worker.scripted import Stage, scripted_stage

pytestmark = pytest.mark.spark
DEADLINE_SECS = 120.0
Start = Callable[[str], "Process"]


class Process:
    """A running merge worker and what it has logged."""

    def __init__(self, address: str, work_dir: Path) -> None:
        self.lines: list[str] = []
        self._arrived = threading.Condition()
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "merge_worker"],
            env={
                **os.environ,
                "MERGE_WORKER_META_ADDRESS": address,
                "MERGE_WORKER_SPARK_MASTER": "local[2]",
                "MERGE_WORKER_INTERVAL_SECS": "0.1",
                "MERGE_WORKER_WORK_DIR": str(work_dir),
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            with self._arrived:
                self.lines.append(line)
                self._arrived.notify_all()

    def wait_for(self, event: str) -> None:
        with self._arrived:
            assert self._arrived.wait_for(
                lambda: any(event in line for line in self.lines), DEADLINE_SECS
            ), self.lines

    def kill_children(self) -> None:
        path = Path(f"/proc/{self._popen.pid}/task/{self._popen.pid}/children")
        for pid in path.read_text().split():
            os.kill(int(pid), signal.SIGKILL)

    def terminate(self) -> int:
        self._popen.send_signal(signal.SIGTERM)
        return self.exit_code()

    def exit_code(self) -> int:
        return self._popen.wait(DEADLINE_SECS)

    def close(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with scripted_stage(tmp_path) as stage:
        yield stage


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []
    (tmp_path / "work").mkdir()

    def begin(address: str) -> Process:
        running.append(Process(address, tmp_path / "work"))
        return running[-1]

    yield begin
    for process in running:
        process.close()


def test_it_merges_tasks_at_once_and_ends_cleanly(
    stage: Stage, start: Start, tmp_path: Path
) -> None:
    tasks = [stage.task() for _ in range(3)]
    for task in tasks:
        stage.meta.tasks.put(task)

    process = start(stage.address)
    process.wait_for("merge_worker_started")
    reports = [stage.meta.reports.get(timeout=DEADLINE_SECS) for _ in tasks]

    assert {report.task_id for report in reports} == {task.task_id for task in tasks}
    assert all(isinstance(report, CompleteSegmentMergeTaskRequest) for report in reports)
    assert process.terminate() == 0
    process.wait_for("merge_worker_stopped")
    assert list((tmp_path / "work").iterdir()) == []


def test_it_ends_with_an_error_when_its_jvm_dies(stage: Stage, start: Start) -> None:
    process = start(stage.address)
    process.wait_for("merge_worker_started")

    process.kill_children()

    assert process.exit_code() == 1
    process.wait_for("merge_worker_died")


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
