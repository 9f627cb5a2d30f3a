"""The nursery benchmark's contenders; each runs in its own process that stays warm.

All read the same baby segments from the same folder and leave sorted zstd-3 Parquet files there.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.harness.babies import BabySet
from benchmarks.harness.counted_store import CountedStore
from nursery.config import Settings
from nursery.execution import job
from nursery.execution.execute import Budget, execute
from nursery.planning.pending import Limits
from nursery.planning.planner import plan
from nursery.planning.tasks import Task
from nursery.results import TaskResult
from segments.baby import decode_baby
from segments.keys import baby_key
from segments.location import StoreLocation, Stores
from segments.otlp.arrow import make
from segments.otlp.decode import decode
from segments.parquet.schema import wide_columns
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.spark.jobs import SparkJobs
from segments.spark.session import open_session
from segments.spark.settings import SparkSettings
from segments.store.open import open_store

# Name of the rows of one dataset in the JVM's table.
_DATASET = "dataset_id"
_ROWS_PER_BATCH = 10_000
_DEFAULTS = Settings()
_BUDGET = Budget(_DEFAULTS.decode_bytes_max, _DEFAULTS.task_bytes_max)

_session: SparkSession | None = None
_jobs: SparkJobs | None = None


def start_spark(master: str, driver_memory: str, libraries: Path | None) -> None:
    """Open this process's session; `libraries` is where it finds what is not installed here."""
    global _session, _jobs
    if libraries:
        sys.path.append(str(libraries))
        os.environ["PYTHONPATH"] = str(libraries)
    settings = SparkSettings("benchmark of the nursery", master, driver_memory=driver_memory)
    _session = open_session(settings)
    _jobs = SparkJobs(_session, settings)


def stop_spark() -> None:
    """End this process's session."""
    if _session is not None:
        _session.stop()


@dataclass(frozen=True, slots=True)
class NurseryRun:
    """Time and size of one run of the nursery's jobs."""

    seconds: float
    bytes_read: int
    segments: int


@dataclass(frozen=True, slots=True)
class StoreRequests:
    """Requests to the store of one run, and the segments it wrote."""

    gets: int
    puts: int
    segments: int


def merge_in_spark(babies: BabySet, location: StoreLocation, tasks_max: int) -> float:
    """Plan and run the nursery's jobs; seconds."""
    return measure_in_spark(babies, location, tasks_max).seconds


def measure_in_spark(babies: BabySet, location: StoreLocation, tasks_max: int) -> NurseryRun:
    """Plan and run the nursery's jobs."""
    assert _jobs is not None
    began = time.perf_counter()
    outcomes = job.run(_jobs, _BUDGET, _tasks(babies, tasks_max), Stores(location))
    results = [outcome for _, outcome in outcomes if isinstance(outcome, TaskResult)]
    seconds = time.perf_counter() - began
    _check(results, babies)
    segments = sum(len(d.segments) for result in results for d in result.datasets)
    return NurseryRun(seconds, sum(result.bytes_read for result in results), segments)


def merge_alone(
    babies: BabySet, location: StoreLocation, specs: Mapping[str, SegmentSpec] | None = None
) -> float:
    """Plan and run the same tasks in this process; seconds. `specs` are layouts of datasets."""
    began = time.perf_counter()
    results = []
    for task in _tasks(babies, 1, specs):
        with tempfile.TemporaryDirectory(prefix="segplane-nursery-") as folder:
            results.append(execute(task, open_store(location), _BUDGET, Path(folder)))
    seconds = time.perf_counter() - began
    _check(results, babies)
    return seconds


def count_requests(babies: BabySet, location: StoreLocation, tasks_max: int) -> StoreRequests:
    """Run the tasks here, one after the other, over a store that counts."""
    store, results = CountedStore(location), []
    for task in _tasks(babies, tasks_max):
        with tempfile.TemporaryDirectory(prefix="segplane-nursery-") as folder:
            results.append(execute(task, store, _BUDGET, Path(folder)))
    _check(results, babies)
    segments = [segment for r in results for d in r.datasets for segment in d.segments]
    return StoreRequests(store.requests["get"], store.requests["put"], len(segments))


def rows_through_jvm(babies: BabySet, location: StoreLocation, folder: Path) -> float:
    """Decode in Python, let Spark bring rows together, sort and write them; seconds."""
    assert _session is not None
    out = Path(tempfile.mkdtemp(dir=folder)) / "rows"
    began = time.perf_counter()
    keys = [
        (baby_key(stream.stream_id, baby.offset),)
        for stream in babies.streams
        for baby in stream.babies
    ]
    rows = (
        _session.createDataFrame(keys, "key string")
        .repartition(_session.sparkContext.defaultParallelism)
        .mapInArrow(_RowsOf(location), _spark_schema())
    )
    ordered = rows.repartition(_DATASET).sortWithinPartitions(
        _DATASET, "signal", "service_name", "timestamp"
    )
    ordered.write.partitionBy(_DATASET).option("compression", "zstd").parquet(str(out))
    seconds = time.perf_counter() - began
    found = _session.read.parquet(str(out)).count()
    assert found == babies.records, f"{found} rows of {babies.records}"
    shutil.rmtree(out)
    return seconds


def _tasks(
    babies: BabySet, tasks_max: int, specs: Mapping[str, SegmentSpec] | None = None
) -> list[Task]:
    limits = Limits(_DEFAULTS.batch_bytes_max, _DEFAULTS.batch_babies_max, tasks_max)
    found = plan(babies.streams, specs or {}, limits, time.time_ns())
    assert not found.is_cut
    return list(found.tasks)


def _check(results: Sequence[TaskResult], babies: BabySet) -> None:
    datasets = [one for result in results for one in result.datasets]
    assert not any(one.error for one in datasets), datasets
    rows = sum(segment.facts.rows for one in datasets for segment in one.segments)
    assert rows == babies.records, f"{rows} rows of {babies.records}"


class _RowsOf:
    """Decodes baby segments with our decoder, and gives their rows to the JVM."""

    def __init__(self, location: StoreLocation) -> None:
        self._location = location

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pending: dict[Signal, list[tuple[str, bytes, int]]] = {}
        pending_bytes = 0
        store = open_store(self._location)
        for key in (str(key) for batch in batches for key in batch.column(0).to_pylist()):
            baby = decode_baby(store.get(key))
            for part in baby.parts:
                dataset_id = part.dataset_id or ""
                for index, body in enumerate(part.slices):
                    slice_ = (dataset_id, body, part.export(index, baby.received_at).received_at)
                    pending.setdefault(part.signal, []).append(slice_)
                    pending_bytes += len(body)
            if pending_bytes >= _BUDGET.decode_bytes_max:
                yield from _decoded(pending)
                pending, pending_bytes = {}, 0
        yield from _decoded(pending)


def _decoded(pending: dict[Signal, list[tuple[str, bytes, int]]]) -> Iterator[pa.RecordBatch]:
    for signal, slices in pending.items():
        dataset_ids = make.array([dataset_id for dataset_id, _, _ in slices], pa.string())
        found = decode(signal, [s[1] for s in slices], [s[2] for s in slices])
        assert found.table is not None
        owners: Any = [dataset_ids.take(one) for one in found.slices]
        columns = {name: found.table[name] for name in found.table.schema.names}
        columns[_DATASET] = pa.chunked_array(owners)
        rows = found.table.num_rows
        wide = pa.table(
            [
                columns[f.name].cast(f.type) if f.name in columns else pa.nulls(rows, f.type)
                for f in _plain_schema()
            ],
            schema=_plain_schema(),
        )
        yield from wide.to_batches(max_chunksize=_ROWS_PER_BATCH)


def _plain_schema() -> pa.Schema:
    """The columns of all signals as the JVM takes them: no dictionaries, times as numbers."""
    fields = [pa.field(_DATASET, pa.string())]
    return pa.schema(fields + [pa.field(c.name, _plain(c.type)) for c in wide_columns(SIGNALS)])


def _plain(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return pa.string()
    return pa.int64() if pa.types.is_timestamp(type_) else type_


def _spark_schema() -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(_plain_schema())
