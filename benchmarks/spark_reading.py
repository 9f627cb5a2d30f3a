"""Spark over a dataset against `spark.read.parquet` of the same files.

Fast path and data source count and group 16 files, 2,000,000 rows; a session of two cores. CPU time
of the driver and all that it started: the JVM, its Python workers, and meta with its Postgres. The
readers take turns, the least round counts. The data source takes the signal to count as an
option; with a filter alone, which is not pushed down, it is reported beside.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness.merged_segments import HOUR_NANOS, HOUR_START, ROWS, write_segments
from benchmarks.harness.processes import TreeClock
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.harness.timing import least_cpu
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, ingestion_pb2
from segments.keys import new_merged_key
from segments.parquet.footer import FORMAT_VERSION
from segments.signals import SIGNALS, TRAITS
from segments.spark.session import open_session
from segments.spark.settings import SparkSettings
from segplane.read import OpenDataset, open_dataset
from segplane.read.spark import register

SEGMENTS = 16
ROUNDS = 10
NAME = "bench"
COLUMNS = "signal,service_name,timestamp,timestamp_nanos"
NATIVE_BAR, SOURCE_BAR = 1.3, 4.0
# Frames by name, each with its bar.
Readers = Mapping[str, tuple[Callable[[], DataFrame], float]]


def run() -> list[Result]:
    """Count and group by each reader."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name, _session() as spark:
        store = Path(name, "store")
        with bench_postgres() as postgres, bench_server(
            postgres.url, {"META_OBJECT_STORE_URL": store.as_uri()}
        ) as server, server.client() as client:  # fmt: skip
            _fill(client, store)
            with open_dataset(NAME, meta_address=server.address) as dataset:
                return _measure(spark, dataset, server)


@contextmanager
def _session() -> Iterator[SparkSession]:
    session = open_session(SparkSettings("benchmark of reading", "local[2]"))
    session.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        register(session)
        yield session
    finally:
        session.stop()


def _measure(spark: SparkSession, dataset: OpenDataset, server: BenchServer) -> list[Result]:
    paths = [file.url for file in dataset.files()]
    schema = dataset.spark(spark).schema

    def plain() -> DataFrame:
        return spark.read.schema(schema).parquet(*paths)

    def source(**more: str) -> DataFrame:
        options = {"metaAddress": server.address, "columns": COLUMNS, **more}
        return spark.read.format("segplane").options(**options).load(NAME)

    def native() -> DataFrame:
        return dataset.spark(spark)

    counts: Readers = {
        "native_count": (native, NATIVE_BAR),
        "source_count": (partial(source, signal="logs"), SOURCE_BAR),
        "source_count_filtered": (source, 0.0),
    }
    groupings: Readers = {
        "native_grouping": (native, NATIVE_BAR),
        "source_grouping": (source, SOURCE_BAR),
    }
    return [*_compare(plain, counts, _count), *_compare(plain, groupings, _group)]


def _compare(
    plain: Callable[[], DataFrame],
    readers: Readers,
    answer: Callable[[DataFrame], object],
) -> Iterator[Result]:
    """Let each reader answer in turn; yields a result for each with its bar."""
    frames = [plain, *(frame for frame, _ in readers.values())]
    assert len({answer(frame()) for frame in frames}) == 1
    calls = [lambda f=frame: answer(f()) for frame in frames]
    reference, *figures = least_cpu(calls, ROUNDS, TreeClock(os.getpid()))
    for (name, (_, bar)), figure in zip(readers.items(), figures, strict=True):
        yield compare(
            f"spark_{name}",
            figure,
            reference,
            reference_name="spark.read.parquet",
            unit="ms of CPU",
            bar=bar,
            higher_is_better=False,
        )


def _count(frame: DataFrame) -> object:
    return frame.where("signal = 'logs'").count()


def _group(frame: DataFrame) -> object:
    rows = frame.groupBy("signal", "service_name").count().collect()
    return tuple(sorted(tuple(row) for row in rows))


def _fill(client: MetaClient, store: Path) -> None:
    """Put files of one hour into a dataset."""
    created = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=NAME))
    request = ingestion_pb2.DownloadConfigRequest(worker_id="benchmark", omit_datasets=True)
    bucket = client.ingestion.DownloadConfig(request).cloud_object_prefix.bucket
    with tempfile.TemporaryDirectory() as made:
        for path in write_segments(Path(made), SEGMENTS):
            key = new_merged_key(created.id)
            target = store / key
            target.parent.mkdir(parents=True, exist_ok=True)
            size = path.stat().st_size
            shutil.move(path, target)
            segment = _segment(created.id, bucket, key, size)
            client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=[segment]))


def _segment(
    dataset_id: str, bucket: common_pb2.CloudBucket, key: str, size: int
) -> common_pb2.CreateSegment:
    hour = common_pb2.TimeRange(start_time=HOUR_START, end_time=HOUR_START + HOUR_NANOS)
    prefix, _, name = key.rpartition("/")
    facts = [
        common_pb2.SignalFacts(
            signal=common_pb2.Signal.ValueType(TRAITS[signal].kind),
            number_of_events=ROWS[signal],
            time_range=hour,
        )
        for signal in sorted(SIGNALS, key=lambda one: TRAITS[one].kind)
    ]
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=hour,
        size_bytes=size,
        compressed_size_bytes=size,
        number_of_events=sum(ROWS.values()),
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(bucket=bucket, prefix=prefix), key=name
        ),
        facts=common_pb2.SegmentFacts(format_version=FORMAT_VERSION, signals=facts),
    )
