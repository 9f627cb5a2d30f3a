"""A Spark standalone cluster on this machine.

A master and workers, each its own JVM, from the pyspark that is installed; `make cluster` runs
it in a terminal. Production clusters are not started by us, so it is not part of the packages.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from dataplane.processes.parent_death import tied_command
from meta.process.shutdown import Shutdown
from tests.support.process_tree import children_of, command_of

HOST = "127.0.0.1"
WORKERS = 2
WORKER_CORES = 1
WORKER_MEMORY = "1g"
START_SECS = 60.0
STOP_SECS = 10.0
POLL_SECS = 0.05
CHECK_EVERY_SECS = 1.0
EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_MASTER_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_REGISTERED = re.compile(r"Successfully registered with master (\S+)")
BANNER = """
Spark master    {url}
                {workers} workers of {cores} core and {memory}; their files are below {folder}

Each process takes its own share of the cluster, so that none starves the other:

  export SEGPLANE_SPARK_MASTER={url} SEGPLANE_SPARK_CORES_MAX=1
  .venv/bin/segplane dev

Ctrl-C ends the cluster.
"""


class ClusterFailed(Exception):
    """The cluster did not start, or a part of it ended; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Node:
    """The master's or a worker's JVM."""

    name: str
    process: subprocess.Popen[bytes]
    log_path: Path

    def await_line(self, wanted: re.Pattern[str]) -> str:
        """Wait until the log has a line; returns the pattern's first group."""
        deadline = time.monotonic() + START_SECS
        while True:
            text = self.log_path.read_text(errors="replace")
            if found := wanted.search(text):
                return found[1]
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join(text.splitlines()[-20:])
                raise ClusterFailed(f"Spark's {self.name} did not start:\n{tail}")
            time.sleep(POLL_SECS)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()


class Cluster:
    """A standalone cluster from enter to exit; its parts die with us, even of SIGKILL.

    Enter it in a thread that outlives it. Each worker has `cores`.
    """

    def __init__(self, folder: Path, workers: int = WORKERS, cores: int = WORKER_CORES) -> None:
        self.folder = folder
        self._cores = cores
        self.master_url = ""
        self.workers: list[Node] = []
        self._wanted_workers = workers
        self._master: Node | None = None
        self._nodes_started = 0

    def __enter__(self) -> Self:
        """Start everything and wait until all workers have registered."""
        try:
            self._master = self._start("Master", "--port", "0")
            self.master_url = self._master.await_line(_MASTER_STARTED)
            started = [self._start_worker() for _ in range(self._wanted_workers)]
            for worker in started:
                worker.await_line(_WORKER_REGISTERED)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything."""
        self.stop()

    @property
    def master_pid(self) -> int:
        """Process id of the master."""
        assert self._master is not None
        return self._master.process.pid

    @property
    def temporary_folder(self) -> Path:
        """Folder of the executors' temporary files, which shows what a task is working on."""
        return self.folder / "tmp"

    def add_worker(self, environment: Mapping[str, str] | None = None) -> Node:
        """Start one more worker and wait until it has registered."""
        worker = self._start_worker(environment)
        worker.await_line(_WORKER_REGISTERED)
        return worker

    def kill_worker(self, worker: Node) -> None:
        """Kill a worker alone: its executors notice and end by themselves."""
        worker.kill()
        self.workers.remove(worker)

    def executors(self) -> list[int]:
        """Process ids of all executors that run."""
        return [pid for worker in self.workers for pid in executors_of(worker)]

    def check(self) -> None:
        """Raise ClusterFailed if a part of it has ended."""
        for node in [self._master, *self.workers]:
            if node is not None and (code := node.process.poll()) is not None:
                raise ClusterFailed(f"Spark's {node.name} ended with code {code}: {node.log_path}")

    def stop(self) -> None:
        """Stop all of it; safe to call twice."""
        for node in [*self.workers, self._master]:
            if node is not None:
                node.process.terminate()
        for node in [*self.workers, self._master]:
            if node is not None:
                _await_end(node.process)
        self.workers.clear()
        self._master = None

    def _start_worker(self, environment: Mapping[str, str] | None = None) -> Node:
        work = self.folder / f"worker-{self._nodes_started}"
        options = ["--cores", str(self._cores), "--memory", WORKER_MEMORY, "--work-dir", str(work)]
        worker = self._start(
            "worker.Worker", "--port", "0", *options, self.master_url, environment=environment
        )
        self.workers.append(worker)
        return worker

    def _start(
        self, name: str, *options: str, environment: Mapping[str, str] | None = None
    ) -> Node:
        name = name if "." in name else f"{name.lower()}.{name}"
        log_path = self.folder / f"{name.partition('.')[0]}-{self._nodes_started}.log"
        self._nodes_started += 1
        self.temporary_folder.mkdir(parents=True, exist_ok=True)
        program = spark_home() / "bin" / "spark-class"
        command: list[str | Path] = [
            program,
            f"org.apache.spark.deploy.{name}",
            "--host",
            HOST,
            "--webui-port",
            "0",
        ]
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                tied_command([*command, *options], signal.SIGKILL),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment() | dict(environment or {}),
                # Ctrl-C in the terminal is for us alone.
                start_new_session=True,
            )
        return Node(name, process, log_path)

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "SPARK_LOCAL_DIRS": str(self.temporary_folder),
            "TMPDIR": str(self.temporary_folder),
        }


def spark_home() -> Path:
    """Folder of Spark in the installed pyspark."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def executors_of(worker: Node) -> list[int]:
    """Process ids of a worker's executors, its child processes."""
    return [pid for pid in children_of(worker.process.pid) if EXECUTOR_CLASS in command_of(pid)]


def _await_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """Run a cluster until Ctrl-C."""
    shutdown = Shutdown().install()
    with tempfile.TemporaryDirectory(prefix="segplane-cluster-") as folder:
        try:
            with Cluster(Path(folder)) as cluster:
                print(
                    BANNER.format(
                        url=cluster.master_url,
                        workers=WORKERS,
                        cores=WORKER_CORES,
                        memory=WORKER_MEMORY,
                        folder=folder,
                    ),
                    flush=True,
                )
                while not shutdown.wait(CHECK_EVERY_SECS):
                    cluster.check()
        except ClusterFailed as error:
            sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
