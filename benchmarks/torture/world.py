"""A `segplane dev` whose processes, itself included, may be killed at any time."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.soak.stack import GRACE, PACE
from meta.client import MetaClient
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.stack.preflight import claim_ports

PROCESSES = ("meta", "collector", "nursery", "merge_worker", "janitor")
SPARK_PROCESSES = ("nursery", "merge_worker")
# Each is a child of the one before it.
SPARK_PARTS = (("jvm", "/java "), ("daemon", "spark.daemon "), ("python", "spark.daemon "))
COMMAND_SECS_MAX = 300.0
STOP_SECS_MAX = 60.0


class TortureFailed(Exception):
    """The run cannot come to an end; the message says why."""


@dataclass(slots=True)
class World:
    """One data folder and the `dev` that runs on it."""

    folder: Path
    meta_address: str
    otlp_url: str
    _arguments: tuple[str, ...]
    # Runs the tasks of nursery and merge worker apart, so that each may be killed.
    _master: str
    _dev: "subprocess.Popen[bytes] | None" = None
    _is_over: threading.Event = field(default_factory=threading.Event)
    # While it is held, `dev` is not started again.
    _hold: threading.Lock = field(default_factory=threading.Lock)

    @property
    def store(self) -> ObjectStore:
        """The object store, a folder."""
        return open_store(StoreLocation.from_url((self.folder / "data" / "objects").as_uri()))

    def client(self) -> MetaClient:
        """A new client of meta."""
        return MetaClient(self.meta_address)

    def pids(self) -> dict[str, int]:
        """The processes that run now, by name.

        Those of Spark stand behind the name of the process that started them: its JVM, the daemon
        that forks Pythons, and one of these.
        """
        dev = self._dev
        if dev is None or dev.poll() is not None:
            return {}
        found = {"dev": dev.pid}
        for pid in _children(dev.pid):
            command = _command(pid)
            for name in PROCESSES:
                if f"-m {name} " in f"{command} ":
                    found[name] = pid
            if "postgres" in command.partition(" ")[0]:
                found["postgres"] = pid
        for name in SPARK_PROCESSES:
            parent = found.get(name)
            for part, program in SPARK_PARTS:
                children = [] if parent is None else _children(parent)
                parent = next((child for child in children if program in _command(child)), None)
                if parent is not None:
                    found[f"{name} {part}"] = parent
        return found

    def num_starts(self, name: str) -> int:
        """Times that a process with Spark has come to run."""
        with suppress(OSError):
            return (
                (self.folder / "data" / "logs" / f"{name}.log").read_text().count(f"{name}_started")
            )
        return 0

    def segplane(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as an operator does: again while meta is unreachable."""
        deadline = time.monotonic() + COMMAND_SECS_MAX
        while True:
            done = subprocess.run(
                [sys.executable, "-m", "segplane", *arguments],
                env={**os.environ, "SEGPLANE_META_ADDRESS": self.meta_address},
                capture_output=True,
                text=True,
                check=False,
            )
            is_passing = done.returncode == 3 or any(
                reason in done.stderr for reason in ("UNAVAILABLE", "DEADLINE", "NOT_DRAINED")
            )
            if not is_passing or time.monotonic() > deadline:
                return done
            time.sleep(1.0)

    def _environment(self) -> dict[str, str]:
        masters = {f"{p}_SPARK_MASTER": self._master for p in ("NURSERY", "MERGE_WORKER")}
        return {**os.environ, **PACE, **GRACE, **masters}

    def keep(self) -> None:
        """Start `dev`, and again whenever it has ended."""
        while not self._is_over.is_set():
            with self._hold, (self.folder / "dev.log").open("ab") as log:
                self._dev = subprocess.Popen(
                    self._arguments, stdout=log, stderr=log, env=self._environment()
                )
            while self._dev.poll() is None:
                if self._is_over.wait(0.2):
                    break
        self._stop()

    @contextmanager
    def stopped(self) -> Iterator[Path]:
        """Stop `dev` as an operator does, until the block ends; gives Postgres' folder."""
        with self._hold:
            self._stop()
            yield self.folder / "data" / "postgres"

    def stop(self) -> None:
        """End it as an operator does."""
        self._is_over.set()

    def _stop(self) -> None:
        assert self._dev is not None
        with suppress(ProcessLookupError):
            self._dev.send_signal(signal.SIGTERM)
        try:
            self._dev.wait(STOP_SECS_MAX)
        except subprocess.TimeoutExpired:
            self._dev.kill()
            self._dev.wait()


@contextmanager
def torture_world(master: str) -> Iterator[World]:
    """Run a `dev` below a temporary folder until the block ends; `master` runs its tasks."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-torture-"))
    # Postgres runs as another user under root.
    folder.chmod(0o711)
    ports = claim_ports({"meta": 0, "grpc": 0, "http": 0})
    arguments = (
        *(sys.executable, "-m", "segplane", "dev", "--data-dir", str(folder / "data")),
        *("--meta-port", str(ports["meta"]), "--otlp-grpc-port", str(ports["grpc"])),
        *("--otlp-http-port", str(ports["http"])),
        *("--gateway-port", "0"),
    )
    world = World(
        folder,
        f"127.0.0.1:{ports['meta']}",
        f"http://127.0.0.1:{ports['http']}/v1/logs",
        arguments,
        master,
    )
    keeper = threading.Thread(target=world.keep, name="keeper")
    keeper.start()
    try:
        yield world
    finally:
        world.stop()
        keeper.join()
        if os.environ.get("TORTURE_KEEP"):
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            children += map(int, path.read_text().split())
    return children


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""
