"""Processes of a release or of today's tree, seen through their logs and ports."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.releases.release import Release

# Spark takes most of it, on a busy machine.
DEADLINE_SECS = 120.0
# What a process takes from the caller: no setting of ours is among them.
_INHERITED = ("PATH", "HOME", "JAVA_HOME", "TMPDIR", "LANG")


class ReleaseProcess:
    """`python -m <module>` in an environment, running from the start on."""

    def __init__(
        self, python: Path, module: str, settings: Mapping[str, str], folder: Path
    ) -> None:
        self.module = module
        self.lines: list[str] = []
        self._is_over = False
        self._arrived = threading.Condition()
        self._popen = subprocess.Popen(
            [python, "-P", "-m", module],
            cwd=folder,
            env=_environment(settings),
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, event: str) -> dict[str, Any]:
        """Wait until it has logged an event; returns its fields."""
        with self._arrived:
            self._arrived.wait_for(lambda: self._is_over or self._events(event), DEADLINE_SECS)
            events = self._events(event)
            assert events, f"{self.module} has not logged {event}: {self.lines}"
        return events[-1]

    @property
    def port(self) -> int:
        """Port of the server that it is."""
        port: int = self.wait_for(f"{self.module.rpartition('.')[2]}_started")["port"]
        return port

    def signal(self, number: signal.Signals) -> None:
        """Send a signal and do not wait."""
        self._popen.send_signal(number)

    def stop(self) -> None:
        """Send SIGTERM and wait for a clean end."""
        self._popen.terminate()
        assert self._popen.wait(DEADLINE_SECS) == 0, self.lines
        self._reader.join(DEADLINE_SECS)

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self._popen.kill()
        self._popen.wait(DEADLINE_SECS)

    def _events(self, name: str) -> list[dict[str, Any]]:
        events = (json.loads(line) for line in self.lines if line.startswith("{"))
        return [event for event in events if event["event"] == name]

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            with self._arrived:
                self.lines.append(line)
                self._arrived.notify_all()
            # Pytest shows it beside a test that fails.
            sys.stderr.write(f"{self.module}: {line}")
        with self._arrived:
            self._is_over = True
            self._arrived.notify_all()


@contextmanager
def running(python: Path, module: str, folder: Path, **settings: str) -> Iterator[ReleaseProcess]:
    """Run a process by its environment's interpreter; if it still runs at the end, it is killed."""
    process = ReleaseProcess(python, module, settings, folder)
    try:
        yield process
    finally:
        process.kill()


def run_command(release: Release, *arguments: str, **settings: str) -> str:
    """Run `segplane` of a release until it ends with success; returns what it printed."""
    done = subprocess.run(
        [release.python.with_name("segplane"), *arguments],
        cwd="/",
        env=_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"segplane {arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    # Without it gRPC aborts the JVM of a merge worker of 0.3.0 (docs/operations.md, Upgrading).
    return {**inherited, "GRPC_ENABLE_FORK_SUPPORT": "0", **settings}
