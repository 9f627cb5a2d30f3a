"""Supervision of several server processes that share their ports.

The parent starts, restarts and stops its children and does nothing else; the kernel distributes
connections among them. The stdin of a child is a pipe from the parent, so that the child drains
even if the parent is killed.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket

import structlog

from meta.process.exits import CONFIG_EXIT_CODE
from meta.process.shutdown import Shutdown

log = structlog.get_logger()
POLL_SECS = 0.2
RESTART_FIRST_SECS = 1.0
RESTART_MAX_SECS = 30.0
# A child that ran for this long is restarted after the first pause again.
STEADY_SECS = 60.0
_STDIN = 0


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """The command line and the environment of one child."""

    arguments: Sequence[str]
    environment: dict[str, str]


class RestartBackoff:
    """Pauses before restarts: they double, whatever the exit code, until a child runs steadily."""

    def __init__(self) -> None:
        self._pause_secs = RESTART_FIRST_SECS

    def next_pause(self, ran_secs: float) -> float:
        """Seconds to wait before the restart of a child that ran for `ran_secs`."""
        if ran_secs >= STEADY_SECS:
            self._pause_secs = RESTART_FIRST_SECS
        pause_secs = self._pause_secs
        self._pause_secs = min(2 * pause_secs, RESTART_MAX_SECS)
        return pause_secs


class SupervisedChild:
    """One child through its restarts."""

    def __init__(self, index: int, command: ChildCommand) -> None:
        self._index = index
        self._command = command
        self._backoff = RestartBackoff()
        self._started = 0.0
        self._restart_at = 0.0
        self.process: subprocess.Popen[bytes] | None = None

    def check(self, now: float) -> int | None:
        """Start the child when it is due; returns the exit code once if it has just ended."""
        if self.process is None:
            if now >= self._restart_at:
                self._start(now)
            return None
        exit_code = self.process.poll()
        if exit_code is not None:
            self.process = None
            pause_secs = self._backoff.next_pause(now - self._started)
            self._restart_at = now + pause_secs
            log.error(
                "process_ended", index=self._index, exit_code=exit_code, restart_secs=pause_secs
            )
        return exit_code

    def _start(self, now: float) -> None:
        self._started = now
        self.process = subprocess.Popen(
            self._command.arguments, env=self._command.environment, stdin=subprocess.PIPE
        )


def supervise(
    commands: Sequence[ChildCommand],
    shutdown: Shutdown,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run one child a command until shutdown, or until one refuses its settings.

    Returns the exit code of the parent: the highest of the children's.
    """
    children = [SupervisedChild(index, command) for index, command in enumerate(commands)]
    exit_codes: list[int] = []
    try:
        while not shutdown.is_requested:
            for child in children:
                if child.check(clock()) == CONFIG_EXIT_CODE:
                    # The child has written the reason.
                    return CONFIG_EXIT_CODE
            shutdown.wait(POLL_SECS)
    finally:
        exit_codes = _stop([child.process for child in children if child.process is not None])
    return max(exit_codes, default=0)


def watch_parent(on_parent_death: Callable[[], None]) -> None:
    """In a child: call `on_parent_death`, in a thread, once the pipe from the parent is closed."""

    def wait() -> None:
        # sys.stdin is avoided: at exit Python aborts over a buffer that a daemon thread holds.
        while os.read(_STDIN, 1):
            pass
        on_parent_death()

    threading.Thread(target=wait, daemon=True).start()


def find_bind_error(host: str, port: int) -> OSError | None:
    """Try to bind a port alone: children bind with SO_REUSEPORT, which would share a taken one."""
    with socket(AF_INET6 if ":" in host else AF_INET) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error
    return None


def _stop(processes: Sequence["subprocess.Popen[bytes]"]) -> list[int]:
    """Send SIGTERM to all and wait; each bounds the time of its drain itself."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.terminate()
    exit_codes = [process.wait() for process in processes]
    # A child that was still starting dies of SIGTERM; it had nothing to drain.
    return [0 if code == -signal.SIGTERM else abs(code) for code in exit_codes]
