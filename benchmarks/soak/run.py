"""A load, its markers and its samples over a running stack; then the drain."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benchmarks.harness.waiting import wait_until
from benchmarks.soak.load import Progress, SoakLoad
from benchmarks.soak.markers import Freshness, Markers
from benchmarks.soak.probe import read_backlog
from benchmarks.soak.stack import Cycle, SoakStack
from dataplane.processes.parent_death import tied_command
from meta.client import MetaClient

POLL_SECS = 0.2
DRAIN_SECS_MAX = 600.0
LOAD_STOP_SECS_MAX = 180.0


class SoakFailed(Exception):
    """The run cannot go on, or did not end as it must; the message says why."""


@dataclass(frozen=True, slots=True)
class Freshened:
    """Freshness, and its reference: settings and the nursery's own figures of the same run."""

    freshness: Freshness
    flush_secs: float
    wait_secs: float
    interval_secs: float
    cycle: Cycle

    @property
    def reference_secs(self) -> float:
        """Flush timeout and one nursery cycle: its wait, the pause between polls, and its work."""
        work = self.cycle.mean_job_secs + self.cycle.mean_register_secs
        return self.flush_secs + self.wait_secs + self.interval_secs + work


def describe(freshened: Freshened) -> str:
    """The figures and what they are made of, in one line."""
    fresh, cycle = freshened.freshness, freshened.cycle
    return (
        f"freshness of {fresh.seen} markers: p50 {fresh.p50_secs:.2f} s, "
        f"p99 {fresh.p99_secs:.2f} s, worst {fresh.worst_secs:.2f} s; "
        f"flush timeout {freshened.flush_secs:g} s, nursery waits {freshened.wait_secs:g} s, "
        f"polls every {freshened.interval_secs:g} s, "
        f"works {cycle.mean_job_secs:.2f} s and registers {cycle.mean_register_secs:.2f} s"
    )


class LoadProcess:
    """The sender's process; `progress` is what it said last."""

    def __init__(self, load: SoakLoad) -> None:
        command = tied_command([sys.executable, "-m", "benchmarks.soak.load"], signal.SIGTERM)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(load)) + "\n")
        self._process.stdin.close()
        self.progress = Progress()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def is_running(self) -> bool:
        """False once it has said its last word; raises SoakFailed if it died before that."""
        if self._reader.is_alive():
            return True
        if not self.progress.is_done:
            raise SoakFailed(f"the sender ended with code {self._process.wait()}")
        return False

    def stop(self) -> None:
        """End it at once if it still runs."""
        self._process.terminate()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.progress = Progress(**json.loads(line))


@contextmanager
def running_load(load: SoakLoad) -> Iterator[LoadProcess]:
    """Send from enter on; ended at exit."""
    process = LoadProcess(load)
    try:
        yield process
    finally:
        process.stop()


def send(
    soak: SoakStack, load: SoakLoad, tick: Callable[[Progress], None] = lambda _: None
) -> Progress:
    """Send all of a load and wait for its answers; `tick` is called several times a second."""
    with running_load(load) as process:

        def watch() -> None:
            soak.stack.check()
            tick(process.progress)

        seconds = load.seconds + LOAD_STOP_SECS_MAX
        _wait_until(lambda: not process.is_running(), "the sender to end", seconds, watch)
        return process.progress


def run_load(
    soak: SoakStack, load: SoakLoad, markers: Markers, tick: Callable[[Progress], None]
) -> tuple[Progress, Freshened]:
    """Send a load, and markers for as long; the freshness is of this time alone."""
    before = soak.cycle()
    progress = send(soak, load, tick)
    markers.stop_sending()
    _wait_until(
        markers.is_all_seen, "the last marker to be visible", DRAIN_SECS_MAX, soak.stack.check
    )
    nursery = soak.nursery
    return progress, Freshened(
        markers.result(),
        soak.flush_secs,
        nursery.wait_secs,
        nursery.interval_secs,
        soak.cycle().since(before),
    )


def drain(soak: SoakStack, client: MetaClient) -> float:
    """Wait until everything is merged and no merge task is open; returns the seconds it took."""
    began = time.monotonic()
    check = soak.stack.check
    _wait_until(
        lambda: read_backlog(client).babies == 0, "babies to be merged", DRAIN_SECS_MAX, check
    )
    _wait_until(
        lambda: read_backlog(client).tasks == 0, "merge tasks to end", DRAIN_SECS_MAX, check
    )
    return time.monotonic() - began


def _wait_until(
    happened: Callable[[], bool], what: str, seconds: float, tick: Callable[[], object]
) -> None:
    try:
        wait_until(happened, what, seconds=seconds, tick=tick, poll_secs=POLL_SECS)
    except TimeoutError as error:
        raise SoakFailed(str(error)) from error
