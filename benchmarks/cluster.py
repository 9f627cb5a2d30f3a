"""Unit costs on a Spark cluster: the standalone one of `make cluster`, on this machine.

A driver runs the nursery's tasks over the same babies on two workers of a core each, on one of two
cores and on one of a core, and jobs that do nothing. Two cores that share an arithmetic unit need
more CPU seconds for the same work than one that is alone, so two workers are judged beside as many
cores of one. Then a worker is killed while a task runs there, and a driver's JVM. CPU is that of
whole process trees.
"""

import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from benchmarks.cost.clocks import PartClocks
from benchmarks.harness.babies import BabySet, BabySpec, write_babies
from benchmarks.harness.processes import tree
from benchmarks.harness.results import Result, compare
from benchmarks.harness.waiting import wait_until
from benchmarks.peers import nursery_contenders
from segments.errors import RunnerDied
from segments.location import StoreLocation
from segments.spark.jobs import SparkJobs
from tests.support.cluster.standalone import Cluster

BABIES = BabySpec(babies=16, datasets=4, streams=4, datasets_per_baby=4, size_bytes=100_000_000)
WARM_UP = BabySpec(babies=2, datasets=2, streams=1, datasets_per_baby=2, size_bytes=2_000_000)
ROUNDS, EMPTY_JOBS, DEATHS = 5, 200, 3
TWO_WORKERS_BAR = 1.05
_SAMPLE_SECS, _DEADLINE_SECS = 0.2, 180.0


def run() -> list[Result]:
    """Measure one worker, two workers, and what dies."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        location = StoreLocation.from_url((folder / "store").as_uri())
        (folder / "store").mkdir()
        babies, small = (write_babies(location, spec) for spec in (BABIES, WARM_UP))
        two, wide, one = (
            _merging(folder, workers, cores, location, babies, small)
            for workers, cores in ((2, 1), (1, 2), (1, 1))
        )
        unit = "s of CPU of the workers a GB of OTLP"
        return [
            compare(
                "cluster_two_workers",
                two,
                wide,
                reference_name="one worker of two cores",
                unit=unit,
                bar=TWO_WORKERS_BAR,
                higher_is_better=False,
            ),
            compare(
                "cluster_one_core",
                two,
                one,
                reference_name="one worker of a core",
                unit=unit,
                higher_is_better=False,
            ),
            *_jobs_and_deaths(folder),
        ]


def _merging(
    folder: Path,
    workers: int,
    cores: int,
    location: StoreLocation,
    babies: BabySet,
    small: BabySet,
) -> float:
    """Return the least CPU seconds of the workers for a GB of the nursery's tasks."""
    name = f"{workers}-{cores}"
    with _cluster(folder / name, workers, cores) as cluster, _driver(cluster) as driver:
        merge = nursery_contenders.merge_in_spark
        driver.submit(merge, small, location, workers * cores).result()
        rounds = []
        with _sampled(cluster, driver) as clocks:
            for _ in range(ROUNDS):
                before = clocks.read()["workers"]
                driver.submit(merge, babies, location, workers * cores).result()
                rounds.append(clocks.read()["workers"] - before)
    return min(rounds) / (babies.size_bytes / 1e9)


def _jobs_and_deaths(folder: Path) -> Iterator[Result]:
    with _cluster(folder / "jobs", 2) as cluster:
        with _driver(cluster) as driver:
            driver.submit(_empty_jobs, EMPTY_JOBS).result()
            with _sampled(cluster, driver) as clocks:
                before = clocks.read()
                driver.submit(_empty_jobs, EMPTY_JOBS).result()
                used = clocks.read()
            for part in ("driver", "master", "workers"):
                millis = (used[part] - before[part]) * 1_000 / EMPTY_JOBS
                yield _told(f"cluster_job_{part}", millis, "ms of CPU a job that does nothing")
            secs = [_after_a_worker(folder, cluster, driver) for _ in range(DEATHS)]
            yield _told("cluster_worker_killed", statistics.median(secs), "s until its task runs")
        secs = [_after_a_driver(cluster) for _ in range(DEATHS)]
        yield _told("cluster_driver_killed", statistics.median(secs), "s until a task runs again")


def _told(name: str, value: float, unit: str) -> Result:
    return compare(name, value, 1.0, reference_name="no bar", unit=unit, higher_is_better=False)


def _after_a_worker(folder: Path, cluster: Cluster, driver: ProcessPoolExecutor) -> float:
    """Kill the worker whose executor has a task; returns the time until the task runs elsewhere."""
    log, go = folder / "began", folder / "go"
    for path in (log, go):
        path.unlink(missing_ok=True)
    running = driver.submit(_run_task, str(log), str(go))
    wait_until(lambda: len(_starts(log)) == 1, "the task runs", seconds=_DEADLINE_SECS)
    (pid, _) = _starts(log)[0]
    worker = next(w for w in cluster.workers if pid in tree(w.process.pid))
    killed = time.time()
    cluster.kill_worker(worker)
    wait_until(lambda: len(_starts(log)) == 2, "it runs elsewhere", seconds=_DEADLINE_SECS)
    go.touch()
    running.result()
    cluster.add_worker()
    return _starts(log)[1][1] - killed


def _after_a_driver(cluster: Cluster) -> float:
    """Kill a driver's JVM; returns the time until a driver started anew has run a task."""
    with _process() as driver:
        _start(driver, cluster)
        pids = tree(driver.submit(os.getpid).result())
        (jvm,) = (
            pid for pid in pids if b"SparkSubmit" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        killed = time.time()
        os.kill(jvm, signal.SIGKILL)
        try:
            driver.submit(_empty_jobs, 1).result()
        except RunnerDied:
            pass
        else:
            raise AssertionError("a task ran without the JVM")
    with _driver(cluster) as driver:
        driver.submit(_empty_jobs, 1).result()
        return time.time() - killed


def _run_task(log: str, go: str) -> None:
    _jobs().run(_wait_for, (log, go))


def _empty_jobs(count: int) -> None:
    for number in range(count):
        _jobs().run(abs, -number)


def _jobs() -> SparkJobs:
    assert nursery_contenders._jobs is not None
    return nursery_contenders._jobs


def _wait_for(paths: tuple[str, str]) -> int:
    """Note that the task began, and end once the second path is a file; runs in an executor."""
    log, go = map(Path, paths)
    with log.open("a") as file:
        file.write(f"{os.getppid()} {time.time()}\n")
    wait_until(go.exists, "the end", seconds=_DEADLINE_SECS)
    return 0


def _starts(log: Path) -> list[tuple[int, float]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(pid), float(at)) for pid, at in (line.split() for line in lines)]


@contextmanager
def _cluster(folder: Path, workers: int, cores: int = 1) -> Iterator[Cluster]:
    folder.mkdir()
    with Cluster(folder, workers, cores) as cluster:
        yield cluster


@contextmanager
def _driver(cluster: Cluster) -> Iterator[ProcessPoolExecutor]:
    with _process() as driver:
        _start(driver, cluster)
        try:
            yield driver
        finally:
            driver.submit(nursery_contenders.stop_spark).result()


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


def _start(driver: ProcessPoolExecutor, cluster: Cluster) -> None:
    driver.submit(nursery_contenders.start_spark, cluster.master_url, "768m", None).result()


class _Clocks:
    """CPU seconds of driver, master and workers, with the executors that have ended."""

    def __init__(self, cluster: Cluster, driver: ProcessPoolExecutor) -> None:
        roots = {"driver": driver.submit(os.getpid).result(), "master": cluster.master_pid}
        self._workers = [f"worker {number}" for number in range(len(cluster.workers))]
        pids = [worker.process.pid for worker in cluster.workers]
        self._clocks = PartClocks(roots | dict(zip(self._workers, pids, strict=True)))
        self._lock = threading.Lock()

    def read(self) -> dict[str, float]:
        """Return the seconds so far by part; `workers` are all of them."""
        with self._lock:
            used = self._clocks.read()
        return used | {"workers": sum(used[name] for name in self._workers)}


@contextmanager
def _sampled(cluster: Cluster, driver: ProcessPoolExecutor) -> Iterator[_Clocks]:
    """Read the clocks several times a second, since executors end and take their time along."""
    clocks, ended = _Clocks(cluster, driver), threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECS):
            clocks.read()

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield clocks
    finally:
        ended.set()
        thread.join()
