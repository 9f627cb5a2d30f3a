"""Tasks in processes of this machine: what fails, what is cancelled, how processes end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dataplane.processes import task_process, task_processes
from dataplane.processes.task_processes import TaskProcesses
from segments.errors import ReleaseChanged, TaskFailed
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until

# Starts two tasks that wait for ever, says their process ids, and waits as well.
_PARENT = """
import sys, threading
from dataplane.processes.task_processes import TaskProcesses
from tests.dataplane.processes.test_task_processes import wait_for_ever
processes = TaskProcesses(1)
threading.Thread(target=processes.run, args=(wait_for_ever, sys.argv[1])).start()
"""


@pytest.fixture
def processes() -> Iterator[TaskProcesses]:
    processes = TaskProcesses(2)
    yield processes
    processes.close()


def process_id(_: object) -> int:
    return os.getpid()


def kill_itself(number: signal.Signals) -> int:
    os.kill(os.getpid(), number)
    return os.getpid()


def fail(text: str) -> None:
    raise ValueError(text)


def wait_for_ever(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    threading.Event().wait()


def wait_for_file(path: str) -> int:
    deadline = time.monotonic() + 60.0
    while not Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return os.getpid()


def test_the_next_task_runs_in_the_same_process(processes: TaskProcesses) -> None:
    assert processes.run(process_id, None) == processes.run(process_id, None) != os.getpid()


def test_an_error_fails_its_task_and_not_the_process(processes: TaskProcesses) -> None:
    pid = processes.run(process_id, None)

    with pytest.raises(TaskFailed, match=r"^ValueError: no such day$"):
        processes.run(fail, "no such day")

    assert processes.run(process_id, None) == pid


def test_a_killed_process_fails_its_task_and_another_is_started(processes: TaskProcesses) -> None:
    pid = processes.run(process_id, None)

    with pytest.raises(TaskFailed, match="process ended: SIGKILL"):
        processes.run(kill_itself, signal.SIGKILL)

    assert processes.run(process_id, None) != pid


def test_a_process_killed_between_two_tasks_fails_none(processes: TaskProcesses) -> None:
    pid = processes.run(process_id, None)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), "it is dead")

    assert processes.run(process_id, None) != pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_group_leaves_the_end_to_the_parent(
    processes: TaskProcesses, number: signal.Signals
) -> None:
    assert processes.run(kill_itself, number) == processes.run(process_id, None)


def test_a_task_is_cancelled_by_its_label_alone(processes: TaskProcesses, tmp_path: Path) -> None:
    released, hanging = tmp_path / "released", tmp_path / "hanging"
    with ThreadPoolExecutor(2) as pool:
        cancelled = pool.submit(processes.run, wait_for_ever, str(hanging), "a")
        kept = pool.submit(processes.run, wait_for_file, str(released), "b")
        wait_until(lambda: hanging.exists() and hanging.read_text() != "", "the task runs")

        processes.cancel("a")

        with pytest.raises(TaskFailed, match="SIGKILL"):
            cancelled.result(60.0)
        released.touch()
        assert kept.result(60.0) == processes.run(process_id, None)


def test_a_task_that_waits_for_a_process_is_cancelled(tmp_path: Path) -> None:
    processes, released = TaskProcesses(1), tmp_path / "released"
    began = tmp_path / "began"
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(processes.run, wait_for_file, str(released), "a")
        wait_until(lambda: len(processes._tasks) == 1, "the first task is there")
        waiting = pool.submit(processes.run, wait_for_ever, str(began), "b")
        wait_until(lambda: len(processes._tasks) == 2, "the second one waits")

        processes.cancel("b")
        released.touch()

        with pytest.raises(TaskFailed, match="cancelled before it began"):
            waiting.result(60.0)
        assert not began.exists()
        assert running.result(60.0) == processes.run(process_id, None)
    processes.close()


def test_no_task_begins_after_the_end(processes: TaskProcesses) -> None:
    pid = processes.run(process_id, None)
    processes.close()

    with pytest.raises(TaskFailed, match="cancelled before it began"):
        processes.run(process_id, None)
    assert not is_alive(pid)
    assert not processes._idle


def test_a_process_whose_answer_was_not_read_gets_no_further_task(
    processes: TaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = processes.run(process_id, None)

    def fail_to_read(_: object) -> object:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(task_processes._TaskProcess, "receive", fail_to_read)
        with pytest.raises(MemoryError):
            processes.run(process_id, None)

    assert not is_alive(pid)
    assert processes.run(process_id, None) != pid


def test_no_more_tasks_run_at_once_than_allowed(processes: TaskProcesses) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: processes.run(process_id, None), range(40)))) <= 2


def test_processes_without_a_task_end_after_a_while(
    processes: TaskProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = processes.run(process_id, None)
    processes.check()
    assert is_alive(pid)

    monkeypatch.setattr(task_processes, "IDLE_SECS", 0.0)
    processes.check()

    assert not is_alive(pid)


def test_a_task_ends_with_its_killed_parent(tmp_path: Path) -> None:
    said = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(said)])
    wait_until(lambda: said.exists() and said.read_text() != "", "the task runs", seconds=60)
    pid = int(said.read_text())

    parent.kill()
    parent.wait()

    wait_until(lambda: not is_alive(pid), "the task's process has ended")


def test_a_process_of_another_release_gets_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_processes, "installed_versions", lambda: ("3.11", "9.9", "26.0"))
    processes = TaskProcesses(1)
    assert task_process.installed_versions() != ("3.11", "9.9", "26.0")

    with pytest.raises(ReleaseChanged, match="start this process again"):
        processes.run(process_id, None)
