"""A worker as its own process: what it logs, how it ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.process_tree import kill_starting_jvm

DEADLINE_SECS = 120.0
# Both ways to run tasks on this machine, with one task at once.
MASTERS = ("processes[1]", "local[1]")


class WorkerProcess:
    """`python -m <module>`, running from the start on; close it at the end."""

    def __init__(
        self, module: str, environment: Mapping[str, str], arguments: Sequence[str] = ()
    ) -> None:
        # Imports of this process set variables that the worker has to set itself.
        inherited = {name: os.environ[name] for name in os.environ if not name.startswith("GRPC_")}
        self.lines: list[str] = []
        self._arrived = threading.Condition()
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            env={**inherited, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, event: str) -> None:
        """Wait until it has logged this."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self.has_logged(event), DEADLINE_SECS), self.lines

    def has_logged(self, event: str) -> bool:
        """Whether it has logged this so far."""
        return any(event in line for line in self.lines)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    def kill_starting_jvm(self) -> None:
        """Kill the JVM as soon as it runs, long before Spark has started in it."""
        kill_starting_jvm(self.pid)

    def kill_children(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to what it has started: its JVM."""
        path = Path(f"/proc/{self._popen.pid}/task/{self._popen.pid}/children")
        for pid in path.read_text().split():
            os.kill(int(pid), number)

    def ask_to_end(self) -> None:
        """Send SIGTERM and do not wait."""
        self._popen.send_signal(signal.SIGTERM)

    def terminate(self) -> int:
        """Send SIGTERM and wait; returns the exit code."""
        self.ask_to_end()
        return self.exit_code()

    def exit_code(self, within_secs: float = DEADLINE_SECS) -> int:
        """Wait until it has ended."""
        return self._popen.wait(within_secs)

    def close(self) -> None:
        """Kill it if it still runs."""
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.wait()

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            with self._arrived:
                self.lines.append(line)
                self._arrived.notify_all()
