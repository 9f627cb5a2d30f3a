"""Merge 24 sorted segments of 3 M rows as two merge tasks of 12, in Spark on two cores.

Every contender reads the same files and writes two sorted zstd-1 files; the rounds are interleaved
and the medians compared. Sessions and libraries are started, and the JVMs warm, before the clock
runs; while one contender takes its turn, the JVMs of other systems are stopped. Memory is sampled
in its own round, which is not timed. Bars are on CPU time: in wall time one contender's rounds
differ by half where processes share the machine's memory with others. Peers take part where `make
bench-peers` installed them.
"""

import statistics
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.harness.merged_segments import repeat_rows, write_segments
from benchmarks.harness.processes import stopped
from benchmarks.harness.results import Result, compare
from benchmarks.peers.merge_contenders import (
    Contender,
    Round,
    copy_ours,
    jvm_peers,
    library_peers,
    merge_ours,
)
from benchmarks.peers.merge_libraries import LIBRARIES, THREADS
from merge_worker.job import TaskMerger
from segments.spark.jobs import SparkJobs
from segments.spark.session import open_session
from segments.spark.settings import SparkSettings

SEGMENTS = 24
ROUNDS = 3
TIMES = 10
OURS = "ours"
ONE_CORE = "ours, one core"
COPY = "no merge"
NAMES = {ONE_CORE: "merge_1_to_2_cores", COPY: "merge_against_no_merge"}
JVM_BARS = {"iceberg": 4.0, "spark": 4.0}


def run() -> list[Result]:
    """Measure all contenders."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        inputs, peers, larger = folder / "in", folder / "peers", folder / "larger"
        for made in (inputs, peers, larger):
            made.mkdir()
        paths = write_segments(inputs, SEGMENTS)
        megabytes = sum(path.stat().st_size for path in paths) / 1e6
        print(f"  {len(paths)} segments, {megabytes:.0f} MB", flush=True)
        settings = SparkSettings("benchmark of merges", f"local[{THREADS}]")
        spark = open_session(settings)
        try:
            gateway = spark.sparkContext._gateway
            assert gateway is not None
            merger, jvm = TaskMerger(SparkJobs(spark, settings)), gateway.proc.pid
            merge_ours(merger, jvm, paths[:2], THREADS)  # Starts the Python workers.
            with jvm_peers(peers, paths) as contenders:
                contenders[:0] = [
                    *_ours(spark, merger, jvm, paths),
                    *library_peers(peers, paths),
                ]
                rounds = _rounds(contenders, megabytes)
            many = repeat_rows(paths, larger, TIMES)
            large = merge_ours(merger, jvm, many, THREADS, is_sampled=True)
            print(f"  {TIMES} x the rows: {large.seconds:.1f} s, {large.peak_bytes / 1e6:.0f} MB")
        finally:
            spark.stop()
    timed = {
        name: [done for done in found if not done.peak_bytes] for name, found in rounds.items()
    }
    rates = {
        name: megabytes / statistics.median(done.seconds for done in found)
        for name, found in timed.items()
    }
    costs = {
        name: statistics.median(done.cpu_secs for done in found) / megabytes * 1e3
        for name, found in timed.items()
    }
    peaks = {name: max(r.peak_bytes for r in found) / 1e6 for name, found in rounds.items()}
    return _speeds(rates) + _cpu(costs) + _memory(peaks, large.peak_bytes / 1e6)


def _ours(spark: SparkSession, merger: TaskMerger, jvm: int, paths: list[Path]) -> list[Contender]:
    def merge(at_once: int, is_sampled: bool) -> Round:
        return merge_ours(merger, jvm, paths, at_once, is_sampled=is_sampled)

    # Without their process: stopping our own JVM would halt us at the next call to it.
    return [
        Contender(OURS, lambda is_sampled: merge(THREADS, is_sampled)),
        Contender(ONE_CORE, lambda is_sampled: merge(1, is_sampled)),
        Contender(COPY, lambda is_sampled: copy_ours(spark, jvm, paths, is_sampled=is_sampled)),
    ]


def _rounds(contenders: list[Contender], megabytes: float) -> dict[str, list[Round]]:
    """Let the contenders take turns: timed rounds, and a last one that samples their memory."""
    found: dict[str, list[Round]] = {contender.name: [] for contender in contenders}
    pids = {contender.pid for contender in contenders if contender.pid is not None}
    for number in range(ROUNDS + 1):
        for contender in contenders:
            with stopped(pids - {contender.pid}):
                done = contender.run(number == ROUNDS)
            found[contender.name].append(done)
            print(
                f"  round {number + 1}: {contender.name:15} {megabytes / done.seconds:6.1f} MB/s"
                f" {done.cpu_secs:6.1f} s of CPU {done.peak_bytes / 1e6:6.0f} MB in memory"
                f" {done.output_bytes / 1e6:4.0f} MB out",
                flush=True,
            )
    return found


def _speeds(rates: dict[str, float]) -> list[Result]:
    return [
        compare(
            NAMES.get(name, f"merge_against_{name}"),
            rates[OURS],
            rates[name],
            reference_name=_reference(name),
            unit="MB/s",
        )
        for name in (*NAMES, *JVM_BARS, *LIBRARIES)
        if name in rates
    ]


def _cpu(costs: dict[str, float]) -> list[Result]:
    """CPU a GB; two tasks at once take as much more than one as they spend less than twice."""
    found = [
        compare(
            "merge_1_to_2_cores_by_cpu",
            THREADS / costs[OURS],
            1 / costs[ONE_CORE],
            reference_name=_reference(ONE_CORE),
            unit="GB/s on their own cores, by the CPU a GB",
            bar=1.7,
        )
    ]
    libraries = {name: costs[name] for name in LIBRARIES if name in costs}
    best = {min(libraries, key=lambda name: libraries[name]): 1.0} if libraries else {}
    for name, bar in {**JVM_BARS, **dict.fromkeys(libraries, 0.0), **best}.items():
        if name in costs:
            found.append(
                compare(
                    f"merge_cpu_against_{name}",
                    1 / costs[OURS],
                    1 / costs[name],
                    reference_name=_reference(name),
                    unit="GB a second of CPU",
                    bar=bar,
                )
            )
    return found


def _reference(name: str) -> str:
    names = {
        ONE_CORE: "ourselves, the same two tasks one after the other",
        COPY: "the same files only read, written, uploaded and verified, two jobs on two cores",
        "iceberg": "Iceberg's rewrite_data_files, sort, a warm session",
        "spark": "Spark's own sort of the same two files, a warm session",
    }
    return names.get(name, f"{name} sorting the same two files on two cores")


def _memory(peaks: dict[str, float], larger: float) -> list[Result]:
    found = [
        compare(
            f"merge_peak_memory_{TIMES}_x_rows",
            larger,
            peaks[OURS],
            reference_name="ourselves with the rows once",
            unit="MB resident, JVM and Python",
            bar=1.3,
            higher_is_better=False,
        )
    ]
    if "polars" in peaks:
        found.append(
            compare(
                "merge_peak_memory_against_polars",
                peaks[OURS],
                peaks["polars"],
                reference_name="polars sorting the same two files",
                unit="MB resident, JVM and Python",
                bar=0.5,
                higher_is_better=False,
            )
        )
    return found
