"""The time adjustment of a dataset, which readers add to times where they are asked to."""

from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from segments.signals import SIGNALS
from segplane.read import OpenDataset, ReadError
from segplane.read.bounds import NANOS_MAX
from segplane.read.spark.options import read_options
from tests.segplane.read.conftest import Open
from tests.segplane.read.test_dataset import promote
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import DAY, EPOCH
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver
from tests.support.time_adjustment import NANOS, TIMES, adjust, nanos_of, written_times

# The last day whose records have times that 64 bits of nanoseconds hold.
LAST_DAY = (NANOS_MAX - EPOCH) // DAY - 1
EACH = {"partitionBytes": 2**20}


@pytest.fixture
def adjusted(segments: SegmentWriter) -> SegmentWriter:
    """Files of both formats, with and without promoted columns."""
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=SIGNALS)
    promote(segments)
    segments.write(day=2, signals=("traces",))
    adjust(segments.client, segments.dataset)
    return segments


def load(spark: SparkSession, server: MetaServer, **options: object) -> DataFrame:
    options = {"metaAddress": server.address, "adjustTime": "true"} | options
    return spark.read.format("segplane").options(**options).load("web")  # type: ignore[arg-type]


def by_time(dataset: OpenDataset) -> pa.Table:
    keys = [("signal", "ascending"), ("timestamp", "ascending"), ("timestamp_nanos", "ascending")]
    return dataset.to_table().sort_by(keys)  # type: ignore[arg-type]


def test_every_time_of_the_format_is_adjusted_and_nothing_else(
    adjusted: SegmentWriter, opened: Open
) -> None:
    stored, moved = by_time(opened()), by_time(opened(adjust_time=True))

    assert moved.schema == stored.schema
    for name in TIMES:
        times = nanos_of(stored, name)
        assert nanos_of(moved, name) == [None if t is None else t + NANOS for t in times]
        assert any(times)
    others = [n for n in stored.schema.names if n not in TIMES and n.removesuffix("_nanos") == n]
    # NaN equals no NaN.
    assert str(moved.select(others).to_pylist()) == str(stored.select(others).to_pylist())


def test_each_library_filters_by_adjusted_times(adjusted: SegmentWriter, opened: Open) -> None:
    times = written_times(adjusted)
    since = datetime.fromtimestamp((times[60] // 1_000) / 10**6, UTC) + timedelta(microseconds=1)
    expected = [t for t in times if t // 1_000 >= int(since.timestamp() * 10**6)]
    web = opened(adjust_time=True)
    columns = ["timestamp", "timestamp_nanos"]

    frame = web.polars().filter(pl.col("timestamp") >= since).select(columns).collect()
    relation = web.duckdb(duckdb.connect()).filter(f"timestamp >= '{since.isoformat()}'")
    alone = opened(adjust_time=True, columns=["timestamp"]).to_table()

    assert 0 < len(expected) < len(times)
    assert sorted(map(str, nanos_of(frame.to_arrow()))) == sorted(map(str, expected))
    arrow = relation.select("timestamp, timestamp_nanos").to_arrow_table()
    assert sorted(map(str, nanos_of(arrow))) == sorted(map(str, expected))
    micros = alone["timestamp"].cast(pa.int64()).sort()
    assert micros.to_pylist() == [t // 1_000 for t in times]
    assert web.to_reader().read_all().num_rows == len(times)
    assert len(web.pandas()) == len(times)
    assert nanos_of(web.newest(1)) == times[-1:]


def test_bounds_are_of_adjusted_times_and_leave_out_files(
    adjusted: SegmentWriter, opened: Open
) -> None:
    times = sorted(time for signal, time in adjusted.rows if signal == "traces")
    start, end = times[3] + NANOS, times[7] + NANOS

    first = opened(adjust_time=True, signal="traces", start=start, end=end)
    last = opened(adjust_time=True, start=EPOCH + 2 * DAY + NANOS)
    none = opened(adjust_time=True, start=times[-1] + NANOS + 1)

    assert sorted(filter(None, nanos_of(first.to_table()))) == [t + NANOS for t in times[3:7]]
    assert len(first.files()) == len(last.files()) == 1
    assert last.to_table().num_rows == 20
    assert none.to_table().num_rows == 0


def test_fresh_records_and_searched_bodies_are_adjusted(
    segments: SegmentWriter, opened: Open
) -> None:
    segments.write(rows=3)
    collector = CollectorDriver(segments.client, segments.dataset)
    collector.send("needle", "hay")
    adjust(segments.client, segments.dataset)

    plain, moved = (opened(fresh=True, adjust_time=flag) for flag in (False, True))
    searched = [each.body_has("needle").to_table() for each in (plain, moved)]

    assert nanos_of(by_time(moved)) == [t + NANOS for t in nanos_of(by_time(plain)) if t]
    assert [table.num_rows for table in searched] == [1, 1]
    assert nanos_of(searched[1]) == [t + NANOS for t in nanos_of(searched[0]) if t]


def test_times_beyond_64_bits_are_refused_and_those_at_the_end_read(
    segments: SegmentWriter, opened: Open
) -> None:
    segments.write(rows=2)
    segments.write(day=LAST_DAY, rows=2)
    last = max(time for _, time in segments.rows)

    adjust(segments.client, segments.dataset, NANOS_MAX - last)
    at_the_end = opened(adjust_time=True).to_table()
    adjust(segments.client, segments.dataset, NANOS_MAX - last + 1)
    with pytest.raises(ReadError, match="beyond 64 bits of nanoseconds"):
        opened(adjust_time=True)

    assert max(filter(None, nanos_of(at_the_end))) == NANOS_MAX
    assert opened().to_table().num_rows == 4
    assert opened(adjust_time=True, end=EPOCH + 2 * DAY).to_table().num_rows == 2


def test_the_name_of_the_dataset_is_a_column_beside_adjusted_times(
    adjusted: SegmentWriter, opened: Open
) -> None:
    names = ["dataset", "timestamp", "dataset_id"]
    table = opened(adjust_time=True, columns=names).to_table()

    assert table.column_names == names
    assert set(table["dataset"].to_pylist()) == {"web"}
    assert set(table["dataset_id"].to_pylist()) == {adjusted.dataset}
    times = [time // 1_000 for time in written_times(adjusted)]
    assert table["timestamp"].cast(pa.int64()).sort().to_pylist() == times


@pytest.mark.parametrize("name", TIMES)
def test_nanoseconds_are_adjusted_without_the_column_of_their_time(
    adjusted: SegmentWriter, opened: Open, name: str
) -> None:
    remainder = f"{name}_nanos"

    alone = opened(adjust_time=True, columns=[remainder, "body"]).to_table()
    both = opened(adjust_time=True).to_table()

    assert alone.column_names == [remainder, "body"]
    values = [sorted(table[remainder].to_pylist(), key=str) for table in (alone, both)]
    assert values[0] == values[1]


@pytest.mark.long
@pytest.mark.spark
def test_spark_adjusts_times_and_reads_only_files_that_can_hold_such_rows(
    spark: SparkSession, meta_server: MetaServer, adjusted: SegmentWriter, opened: Open
) -> None:
    times = written_times(adjusted)
    whole = load(spark, meta_server)
    start = datetime.fromtimestamp(EPOCH // 10**9, UTC)
    since = start + timedelta(days=2, microseconds=NANOS // 1_000)
    last = load(spark, meta_server).where(f.col("timestamp") >= since)
    by_options = load(spark, meta_server, start=since.isoformat(), columns="timestamp", **EACH)
    web = opened(adjust_time=True, start=EPOCH + DAY + NANOS)

    assert sorted(map(str, nanos_of(whole.toArrow()))) == sorted(map(str, times))
    assert last.count() == by_options.count() == 20
    assert by_options.rdd.getNumPartitions() == 1
    assert web.spark(spark).count() == web.to_table().num_rows
    assert sorted(nanos_of(web.spark(spark).toArrow()), key=str) == sorted(
        nanos_of(web.to_table()), key=str
    )


@pytest.mark.long
@pytest.mark.spark
def test_spark_refuses_what_it_cannot_adjust(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write(day=LAST_DAY, rows=2)
    adjust(segments.client, segments.dataset, 400 * DAY)

    def count(**options: object) -> int:
        return load(spark, meta_server, **options).count()

    def stream() -> None:
        reader = spark.readStream.format("segplane").option("metaAddress", meta_server.address)
        frame = reader.option("adjustTime", "true").load("web")
        frame.writeStream.format("noop").start().awaitTermination(60)

    with pytest.raises(PySparkException, match="beyond 64 bits of nanoseconds"):
        count()
    with pytest.raises(PySparkException, match="expected true or false"):
        count(adjustTime="yes")
    with pytest.raises(PySparkException, match="times as they are stored"):
        stream()
    assert count(adjustTime="false") == 2
    with pytest.raises(ReadError, match="adjustTime is of datasets"):
        read_options({"view": "v", "adjustTime": "true"})
