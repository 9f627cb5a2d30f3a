"""Processes of this machine that run tasks, one after the other, with their imports warm.

A task is a function and its argument, both pickled, as Spark sends them. A process is started for
a task that finds none free, and is kept for the next.
"""

import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from dataplane.processes.child_process import ChildProcess, receive_value, send_value
from dataplane.processes.task_process import installed_versions
from segments.errors import ReleaseChanged, TaskFailed
from segments.self_checks import SelfFinding

T = TypeVar("T")
R = TypeVar("R")
# Importing takes a second of CPU, and an idle process holds about 100 MB.
IDLE_SECS = 600.0
_MODULE = f"{__package__}.task_process"


@dataclass(slots=True, eq=False)
class _TaskProcess:
    """One process."""

    child: ChildProcess
    # False from the sending of a task to its whole answer: its next message would be that.
    is_ready: bool = True
    idle_since: float = field(default_factory=time.monotonic)

    def call(self, function: object, item: object) -> object:
        """Run a task and wait for its result; raises TaskFailed if it fails or the process ends."""
        self.is_ready = False
        try:
            send_value(self.child.socket, (function, item))
        except OSError as error:
            raise TaskFailed(f"the task's process ended: {self.end()}") from error
        is_done, result = cast("tuple[bool, object]", self.receive())
        self.is_ready = True
        if not is_done:
            raise TaskFailed(str(result))
        return result

    def receive(self) -> object:
        """Wait for the next message; raises TaskFailed if the process ends."""
        try:
            return receive_value(self.child.socket)
        except (EOFError, OSError) as error:
            raise TaskFailed(f"the task's process ended: {self.end()}") from error

    def end(self) -> str:
        """Kill it if it runs; returns what ended it."""
        code = self.child.end()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@dataclass(slots=True, eq=False)
class _Task:
    """A task that waits for a process, or runs in one."""

    label: str
    process: _TaskProcess | None = None
    is_cancelled: bool = False

    def cancel(self) -> None:
        """Kill its process, or have it begin with none."""
        self.is_cancelled = True
        if self.process is not None:
            self.process.child.kill()


class TaskProcesses:
    """Runs at most `tasks_max` tasks at once, each in a process; safe to share between threads."""

    def __init__(self, tasks_max: int) -> None:
        self.tasks_max = tasks_max
        self.application_id = ""
        self._free = threading.Semaphore(tasks_max)
        # Held for moments only, never while a task runs.
        self._lock = threading.Lock()
        self._idle: list[_TaskProcess] = []
        self._tasks: set[_Task] = set()
        self._is_closed = False
        self._versions = installed_versions()

    def run(
        self,
        function: Callable[[T], R],
        item: T,
        label: str = "",
        description: str = "",  # noqa: ARG002 - of a Spark job
    ) -> R:
        """Run one task and return its result; `cancel` finds it by its label.

        Raises TaskFailed if the function does or its process ends, ReleaseChanged if another
        release is installed since this process started.
        """
        task = _Task(label)
        with self._lock:
            self._tasks.add(task)
        try:
            with self._free:
                process = self._take(task)
                try:
                    return cast("R", process.call(function, item))
                finally:
                    self._give_back(task, process)
        finally:
            with self._lock:
                self._tasks.remove(task)

    def check(self) -> None:
        """End processes that had no task for IDLE_SECS; call it often."""
        with self._lock:
            due = time.monotonic() - IDLE_SECS
            ended = [process for process in self._idle if process.idle_since <= due]
            self._idle = [process for process in self._idle if process.idle_since > due]
        for process in ended:
            process.end()

    def findings(self) -> Sequence[SelfFinding]:
        """Return nothing: a process that ends is started again."""
        return ()

    def cancel(self, label: str) -> None:
        """Kill the processes of tasks with this label; their `run` raises TaskFailed.

        A task that still waits for a process does not begin.
        """
        with self._lock:
            for task in self._tasks:
                if task.label == label:
                    task.cancel()

    def cancel_all(self, prefix: str = "") -> None:
        """Kill the processes of all tasks whose labels begin with a prefix."""
        with self._lock:
            for task in self._tasks:
                if task.label.startswith(prefix):
                    task.cancel()

    def close(self) -> None:
        """End all processes; no task begins afterwards."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        self.cancel_all()
        for process in idle:
            process.end()

    def _take(self, task: _Task) -> _TaskProcess:
        process = self._take_idle() or self._start()
        with self._lock:
            is_wanted = not (task.is_cancelled or self._is_closed)
            if is_wanted:
                task.process = process
        if not is_wanted:
            self._give_back(task, process)
            raise TaskFailed("the task was cancelled before it began")
        return process

    def _take_idle(self) -> _TaskProcess | None:
        with self._lock:
            # The one used last: others become idle long enough to be ended.
            while self._idle:
                process = self._idle.pop()
                if process.child.is_alive():
                    return process
                process.end()
        return None

    def _start(self) -> _TaskProcess:
        try:
            process = _TaskProcess(ChildProcess(_MODULE))
        except OSError as error:
            raise TaskFailed(f"no process can be started: {error}") from error
        if process.receive() != self._versions:
            process.end()
            raise ReleaseChanged
        return process

    def _give_back(self, task: _Task, process: _TaskProcess) -> None:
        with self._lock:
            was_killed = task.is_cancelled and task.process is process
            task.process = None
            is_usable = process.is_ready and process.child.is_alive()
            is_kept = is_usable and not (was_killed or self._is_closed)
            if is_kept:
                process.idle_since = time.monotonic()
                self._idle.append(process)
        if not is_kept:
            process.end()
