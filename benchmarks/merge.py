"""Merge 24 sorted segments of 3 M rows as two merge tasks of 12, in Spark on two cores.

Every contender reads the same files and writes two sorted zstd-3 files; the rounds are interleaved
and the medians compared. Polars and DataFusion take part where they are installed.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from benchmarks._merge_peers import PEERS
from benchmarks._segments import DATASET_ID, write_segments
from benchmarks.results import Result, compare
from merge_worker.job import SparkMerger
from merge_worker.tasks import Merged, MergeTask
from segments.keys import StoreLocation, attempt_prefix
from segments.merge import MergeInput
from segments.reader import SegmentFile
from segments.schema import SegmentSpec
from segments.spark import open_session
from segments.spark_settings import SparkSettings

SEGMENTS = 24
TASKS = 2
ROUNDS = 3
BUFFER_BYTES = 128 * 1024 * 1024


def run() -> list[Result]:
    """Measure all contenders."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        paths = write_segments(folder, SEGMENTS)
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
        print(f"  {len(paths)} segments, {megabytes:.0f} MB")
        spark = open_session(SparkSettings("benchmark of merges", f"local[{TASKS}]"))
        try:
            seconds = _rounds(_contenders(SparkMerger(spark), folder, paths))
        finally:
            spark.stop()
    rates = {name: megabytes / statistics.median(found) for name, found in seconds.items()}
    for name, rate in rates.items():
        print(f"  {name:20} {rate:6.1f} MB/s")
    return _results(rates)


def _contenders(
    merger: SparkMerger, folder: Path, paths: list[Path]
) -> dict[str, Callable[[], None]]:
    half = len(paths) // TASKS
    tasks = [_task(folder, paths[i * half : (i + 1) * half]) for i in range(TASKS)]
    _merge(merger, [_task(folder, paths[:1])] * TASKS)  # Starts the Python workers.
    contenders: dict[str, Callable[[], None]] = {
        "ours": lambda: _merge(merger, tasks),
        "ours, one core": lambda: _merge(merger, tasks, at_once=1),
    }
    for peer in PEERS:
        if importlib.util.find_spec(peer):
            contenders[peer] = _peer(peer, paths)
    return contenders


def _rounds(contenders: dict[str, Callable[[], None]]) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            began = time.perf_counter()
            contender()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def _results(rates: dict[str, float]) -> list[Result]:
    ours = rates["ours"]
    found = [
        compare(
            "merge: 1 -> 2 cores",
            ours,
            rates["ours, one core"],
            reference_name="ourselves on one core",
            unit="MB/s",
            bar=1.7,
        )
    ]
    found += [
        compare(
            f"merge: against {peer}",
            ours,
            rates[peer],
            reference_name=f"{peer} sorting the same two files on two cores",
            unit="MB/s",
            bar=1.0,
        )
        for peer in PEERS
        if peer in rates
    ]
    return found


def _merge(merger: SparkMerger, tasks: list[MergeTask], at_once: int = TASKS) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        for outcome in pool.map(merger.run, tasks):
            assert isinstance(outcome, Merged), outcome


def _task(folder: Path, paths: list[Path]) -> MergeTask:
    task_id = str(uuid4())
    inputs: list[MergeInput] = []
    for path in paths:
        with SegmentFile(path) as segment:
            stored = segment.stored
        inputs.append(
            MergeInput(path.name, path.name, stored.rows, stored.start_time, stored.end_time)
        )
    return MergeTask(
        task_id,
        1,
        DATASET_ID,
        tuple(inputs),
        SegmentSpec(),
        StoreLocation.from_url(folder.as_uri()),
        attempt_prefix(DATASET_ID, task_id, 1),
        "benchmark",
        folder,
        BUFFER_BYTES,
    )


def _peer(peer: str, paths: list[Path]) -> Callable[[], None]:
    """Run a peer in a process of its own, so that no memory or thread of it is left to the next."""
    half = len(paths) // TASKS
    groups = [",".join(map(str, paths[i * half : (i + 1) * half])) for i in range(TASKS)]

    def sort() -> None:
        out = paths[0].parent / "peer"
        command = [sys.executable, "-m", "benchmarks._merge_peers", peer, str(out), *groups]
        subprocess.run(command, check=True, env={**os.environ, "POLARS_MAX_THREADS": str(TASKS)})

    return sort
