"""`python -m nursery` as a process: what it says, how it ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.spark
DEADLINE_SECS = 120.0


class Process:
    """A running nursery whose meta is away, and what it has logged."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._arrived = threading.Condition()
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "nursery"],
            env={
                **os.environ,
                "NURSERY_META_ADDRESS": "127.0.0.1:9",
                "NURSERY_SPARK_MASTER": "local[1]",
                "NURSERY_INTERVAL_SECS": "0.1",
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

    def children(self) -> list[int]:
        path = f"/proc/{self._popen.pid}/task/{self._popen.pid}/children"
        with open(path) as file:
            return [int(pid) for pid in file.read().split()]

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
def start() -> Iterator[Callable[[], Process]]:
    running: list[Process] = []

    def begin() -> Process:
        running.append(Process())
        return running[-1]

    yield begin
    for process in running:
        process.close()


def test_it_waits_for_a_meta_that_is_away_and_ends_cleanly(start: Callable[[], Process]) -> None:
    process = start()
    process.wait_for("nursery_started")
    process.wait_for("cycle_failed")

    assert process.terminate() == 0
    process.wait_for("nursery_stopped")


def test_it_ends_with_an_error_when_its_jvm_dies(start: Callable[[], Process]) -> None:
    process = start()
    process.wait_for("nursery_started")

    for pid in process.children():
        os.kill(pid, signal.SIGKILL)

    assert process.exit_code() == 1
    process.wait_for("spark_died")


def test_a_malformed_setting_is_named_in_one_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "nursery"],
        env={**os.environ, "NURSERY_SHARD_INDEX": "3"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 2
    assert ended.stderr == ("error: NURSERY_SHARD_INDEX is 3, not below NURSERY_SHARD_COUNT 1\n")
