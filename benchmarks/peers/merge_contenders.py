"""Contenders of the merge benchmark, and how a round of each is run and measured."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.harness.memory import PeakMemory
from benchmarks.harness.merged_segments import DATASET_ID
from benchmarks.harness.processes import cpu_seconds
from benchmarks.peers.merge_libraries import LIBRARIES, THREADS
from merge_worker.job import TaskMerger
from merge_worker.scratch import scratch_folder
from merge_worker.tasks import ClaimedTask, Merged
from segments.keys import attempt_prefix, join_key
from segments.location import StoreLocation, Stores
from segments.merging.inputs import MergeInput
from segments.merging.merge import BATCH_ROWS_MAX
from segments.parquet.footer import SegmentFacts
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import SegmentSpec
from segments.parquet.upload import upload_segment
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS
from segments.store.open import open_store

PEERS = Path("build/bench")
BUFFER_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Round:
    """Time and output of one round; `peak_bytes` is 0 where memory was not sampled.

    CPU time, user and system, and memory are those of all processes that took part.
    """

    seconds: float
    cpu_secs: float
    peak_bytes: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Contender:
    """`run` merges all groups once, and samples memory if it is told to.

    `pid` is a process that runs from round to round and is stopped while others take their turns.
    """

    name: str
    run: Callable[[bool], Round]
    pid: int | None = None


def groups_of(paths: list[Path]) -> list[list[Path]]:
    """Deal the files to two merge tasks."""
    half = len(paths) // THREADS
    return [paths[:half], paths[half:]]


def merge_ours(
    merger: TaskMerger, jvm: int, paths: list[Path], at_once: int, *, is_sampled: bool = False
) -> Round:
    """Run one merge task a group, so many at once; their outputs are removed again."""
    tasks = [_task(group) for group in groups_of(paths)]
    with _sampling(jvm, is_sampled) as memory, ThreadPoolExecutor(at_once) as pool:
        began, cpu_began = perf_counter(), cpu_seconds(jvm)
        outcomes = list(pool.map(merger.run, tasks))
        seconds, cpu_secs = perf_counter() - began, cpu_seconds(jvm) - cpu_began
    written = 0
    for outcome in outcomes:
        assert isinstance(outcome, Merged), outcome
        (output,) = outcome.outputs
        written += output.facts.compressed_size_bytes
        (paths[0].parent / output.key).unlink()
    return Round(seconds, cpu_secs, _peak(memory), written)


def copy_ours(spark: SparkSession, jvm: int, paths: list[Path], *, is_sampled: bool) -> Round:
    """Only read the files and write their rows, group by group, in jobs like those of a merge.

    The file is uploaded and verified as a merge's output is. No merge with this format on these
    libraries can be faster.
    """
    folder = paths[0].parent

    def copy(group: list[Path]) -> tuple[str, int]:
        (copied,) = spark.sparkContext.parallelize([(folder, group)], 1).map(_copy).collect()
        key, written = copied
        return key, written

    with _sampling(jvm, is_sampled) as memory, ThreadPoolExecutor(THREADS) as pool:
        began, cpu_began = perf_counter(), cpu_seconds(jvm)
        copies = list(pool.map(copy, groups_of(paths)))
        seconds, cpu_secs = perf_counter() - began, cpu_seconds(jvm) - cpu_began
    for key, _ in copies:
        (folder / key).unlink()
    return Round(seconds, cpu_secs, _peak(memory), sum(written for _, written in copies))


def _sampling(pid: int, is_sampled: bool) -> AbstractContextManager[PeakMemory | None]:
    """Sample memory or not: it walks /proc, which takes time from whoever has most processes."""
    return PeakMemory(pid) if is_sampled else nullcontext()


def _peak(memory: PeakMemory | None) -> int:
    return memory.peak_bytes if memory else 0


def _copy(work: tuple[Path, list[Path]]) -> tuple[str, int]:
    """Write the rows of a group as one object of the folder; gives its key and size."""
    folder, paths = work
    task_id = str(uuid4())
    key = join_key(attempt_prefix(DATASET_ID, task_id, 1), f"{uuid4()}.parquet")
    with scratch_folder(folder, "benchmark") as scratch:
        target = scratch / "merged.parquet"
        facts = _write_rows(paths, target)
        upload_segment(open_store(StoreLocation.from_url(folder.as_uri())), key, target, facts)
    return key, facts.compressed_size_bytes


def _write_rows(paths: list[Path], target: Path) -> SegmentFacts:
    with ExitStack() as stack:
        segments = [stack.enter_context(SegmentFile(path)) for path in paths]
        writer = stack.enter_context(
            SegmentWriter(target, SIGNALS, SegmentSpec(), segments[0].stored.footer)
        )
        for signal in SIGNALS:
            for segment in segments:
                for batch in segment.batches(signal, BATCH_ROWS_MAX):
                    writer.write(signal, pa.Table.from_batches([batch]))
        return writer.close()


@contextmanager
def jvm_peers(folder: Path, paths: list[Path]) -> Iterator[list[Contender]]:
    """Start Spark's own sort and, where it is installed, Iceberg's; all warm up side by side."""
    interpreters = {"spark": (sys.executable, "")}
    python, jar = PEERS / "iceberg/bin/python", PEERS / "iceberg.jar"
    if python.exists() and jar.exists():
        interpreters["iceberg"] = (str(python), str(jar.resolve()))
    else:
        print("  iceberg is not installed: make bench-peers", flush=True)
    with ExitStack() as stack:
        started = {}
        for name, (interpreter, jar_path) in interpreters.items():
            (folder / name).mkdir()
            script = str(Path(__file__).parent / "spark.py")
            process = subprocess.Popen(
                [interpreter, script, name, str(folder / name), jar_path, *_arguments(paths)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
            # Leaving closes its input, which ends it, and waits for that.
            stack.enter_context(process)
            started[name] = process
        for name, process in started.items():
            answer = _line(process)
            assert answer == "ready", f"{name} said {answer!r}"
        yield [
            Contender(name, _jvm_round(process), process.pid) for name, process in started.items()
        ]


def library_peers(folder: Path, paths: list[Path]) -> list[Contender]:
    """Return the libraries, where they are installed."""
    python = PEERS / "libraries/bin/python"
    if not python.exists():
        print("  the libraries are not installed: make bench-peers", flush=True)
        return []
    return [Contender(name, _library(name, python, folder, paths)) for name in LIBRARIES]


def _library(name: str, python: Path, folder: Path, paths: list[Path]) -> Callable[[bool], Round]:
    script = str(Path(__file__).parent / "merge_libraries.py")
    command = [str(python), script, name, str(folder / name), *_arguments(paths)]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(THREADS)}

    def run(is_sampled: bool) -> Round:
        with (
            subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=environment
            ) as process,
            _sampling(process.pid, is_sampled) as memory,
        ):
            seconds, cpu_secs, written = _line(process).split()
        return Round(float(seconds), float(cpu_secs), _peak(memory), int(written))

    return run


def _jvm_round(process: subprocess.Popen[str]) -> Callable[[bool], Round]:
    def run(is_sampled: bool) -> Round:
        assert process.stdin
        with _sampling(process.pid, is_sampled) as memory:
            cpu_began = cpu_seconds(process.pid)
            process.stdin.write("\n")
            seconds, written = _line(process).split()
            cpu_secs = cpu_seconds(process.pid) - cpu_began
        return Round(float(seconds), cpu_secs, _peak(memory), int(written))

    return run


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def _arguments(paths: list[Path]) -> list[str]:
    return [",".join(map(str, group)) for group in groups_of(paths)]


def _task(paths: list[Path]) -> ClaimedTask:
    task_id, folder = str(uuid4()), paths[0].parent
    inputs: list[MergeInput] = []
    for path in paths:
        with SegmentFile(path) as segment:
            stored = segment.stored
        inputs.append(
            MergeInput(path.name, path.name, stored.rows, stored.start_time, stored.end_time)
        )
    return ClaimedTask(
        task_id,
        1,
        DATASET_ID,
        tuple(inputs),
        SegmentSpec(),
        Stores(StoreLocation.from_url(folder.as_uri())),
        attempt_prefix(DATASET_ID, task_id, 1),
        "benchmark",
        folder,
        BUFFER_BYTES,
    )
