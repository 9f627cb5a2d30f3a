"""Child processes: started in their own session, supervised, restarted, stopped in order.

The kernel sends a child SIGTERM if its parent is killed. Its output goes to a log file.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from dataplane.processes.parent_death import tied_command

CONFIG_EXIT_CODE = 2
BACKOFF_FIRST_SECS = 1.0
BACKOFF_MAX_SECS = 30.0
# After this uptime the count of consecutive crashes starts again.
STEADY_SECS = 60.0
CRASHES_MAX = 5
LOG_BYTES_MAX = 64 << 20
LOG_TAIL_LINES = 12
LOG_TAIL_BYTES = 16 << 10
_PRIVATE_UMASK = 0o077


class ChildFailed(Exception):
    """A child cannot run; the message is one line, `log_tail` the end of its log."""

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.log_tail = log_tail


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """Module to run, its environment and its readiness check."""

    name: str
    module: str
    environment: Mapping[str, str]
    is_ready: Callable[["Child"], bool]
    stop_secs: float = 30.0


class Child:
    """One child process through all its restarts."""

    def __init__(self, spec: ChildSpec, log_path: Path) -> None:
        self.spec = spec
        self.log_path = log_path
        self.restarts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._crashes = 0
        self._next_start = 0.0
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        """Start it; must be called from a thread that outlives it."""
        self._rotate_log()
        command = tied_command([sys.executable, "-P", "-m", self.spec.module], signal.SIGTERM)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        log_file = os.open(self.log_path, flags, 0o600)
        self._log_start = os.fstat(log_file).st_size
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                env=dict(self.spec.environment),
                # Ctrl-C in the terminal reaches the parent only, which stops the children in order.
                start_new_session=True,
                # Objects and spilled rows are records, which other users must not read.
                umask=_PRIVATE_UMASK,
            )
        finally:
            os.close(log_file)
        self._started = time.monotonic()

    def check(self) -> str | None:
        """Restart it if it died and its back-off is over; return the event, if any.

        Raises ChildFailed if its settings are wrong or it dies again and again.
        """
        process, now = self._process, time.monotonic()
        self._rotate_log()
        if process is None:
            if now >= self._next_start:
                self.start()
                self.restarts += 1
            return None
        if (code := process.poll()) is None:
            return None
        self._process = None
        if now - self._started > STEADY_SECS:
            self._crashes = 0
        self._crashes += 1
        why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if code == CONFIG_EXIT_CODE:
            raise ChildFailed(f"{self.spec.name}: {self._last_line() or why}")
        if self._crashes > CRASHES_MAX:
            raise ChildFailed(
                f"{self.spec.name} died {self._crashes} times in a row ({why}); "
                f"its log is {self.log_path}",
                self.log_tail(),
            )
        pause = min(BACKOFF_FIRST_SECS * 2 ** (self._crashes - 1), BACKOFF_MAX_SECS)
        self._next_start = now + pause
        return f"{self.spec.name} died ({why}), starting it again in {pause:.0f} s"

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> None:
        """Send it a signal; does not wait."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signum)

    def wait_stopped(self, deadline: float) -> bool:
        """Wait until it has ended, kill it at the deadline; false if it had to be killed."""
        process, self._process = self._process, None
        if process is None:
            return True
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
        return True

    def has_logged(self, text: str) -> bool:
        """True once this run of the child has written the text to its log."""
        return text.encode() in self._log_bytes(self._log_start)

    def logged_fields(self, event: str) -> Mapping[str, object] | None:
        """Fields of the last event of this name in the log of this run; None without one."""
        name = f'"event": "{event}"'.encode()
        lines = (line for line in reversed(self._log_bytes(self._log_start).splitlines()))
        line = next((line for line in lines if name in line), None)
        return None if line is None else cast("dict[str, object]", json.loads(line))

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        lines = self._log_bytes(None).decode(errors="replace").strip().splitlines()
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def _last_line(self) -> str:
        tail = self.log_tail()
        return tail.splitlines()[-1].removeprefix("error: ") if tail else ""

    def _log_bytes(self, start: int | None) -> bytes:
        with contextlib.suppress(OSError), self.log_path.open("rb") as log_file:
            size = os.fstat(log_file.fileno()).st_size
            log_file.seek(max(0, size - LOG_TAIL_BYTES) if start is None else min(start, size))
            return log_file.read()
        return b""

    def _rotate_log(self) -> None:
        """Keep one old log. The child appends, so it continues at the start of the emptied file."""
        with contextlib.suppress(OSError):
            if self.log_path.stat().st_size > LOG_BYTES_MAX:
                old = self.log_path.with_suffix(".log.1")
                old.write_bytes(self.log_path.read_bytes())
                os.truncate(self.log_path, 0)
                self._log_start = 0
