"""`spark.read.format("segplane")`: every row of one version, and no more files than needed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructType, TimestampType

from janitor.footers import read_footers
from meta.config import Settings
from meta.v1 import operations_pb2 as pb
from segments.signals import SIGNALS
from segplane.read.errors import ReadError
from segplane.read.files.left_out import SegmentsLeftOut
from segplane.read.spark.options import read_options
from segplane.read.spark.source import SegplaneSource
from tests.segplane.read.conftest import Open, delete_due
from tests.segplane.read.test_dataset import STATUS, USER, promote
from tests.support.foreign_files import ForeignWriter, logs, parquet, tools_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery
from tests.support.reading import rows_as_read, rows_as_written

pytestmark = pytest.mark.spark
START = datetime.fromtimestamp(EPOCH // 10**9, UTC)
# A partition for each file, so that their number is that of the files read.
EACH = {"partitionBytes": 2**20}


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


def load(spark: SparkSession, meta_server: MetaServer, **options: object) -> DataFrame:
    options = {"metaAddress": meta_server.address} | options
    return spark.read.format("segplane").options(**options).load("web")  # type: ignore[arg-type]


def files_read(frame: DataFrame) -> int:
    return frame.rdd.getNumPartitions()


@pytest.mark.long
def test_files_of_every_kind_read_as_they_were_written(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter, opened: Open
) -> None:
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=("logs",), format_version=1, is_known=False)
    segments.write(day=2, signals=("metrics", "traces"))
    promote(segments)
    segments.write(day=3, signals=SIGNALS)
    expected = rows_as_written(segments.sections, (STATUS, USER))

    frame = load(spark, meta_server)

    assert frame.schema["timestamp"].dataType == TimestampType()
    assert frame.columns == opened().schema.names
    assert rows_as_read(frame.toArrow().cast(opened().schema)) == expected
    assert rows_as_read(opened().spark(spark).toArrow().cast(opened().schema)) == expected


def test_ids_and_times_of_receipt_are_those_of_the_other_readers(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter, opened: Open
) -> None:
    collector = CollectorDriver(meta_server.client, segments.dataset)
    collector.send("from before")
    nursery(meta_server.client).cycle()
    set_settings(meta_server.client, collector.dataset_id, pb.DatasetSettings(record_ids=True))
    collector.send("a", "b")
    nursery(meta_server.client).cycle()
    names = ["body", "id", "ingested_at"]

    rows = load(spark, meta_server).select(*names).toArrow().to_pylist()
    expected = opened(columns=names).to_table().to_pylist()
    assert sorted(rows, key=str) == sorted(expected, key=str)
    assert sorted(row["id"] is None for row in rows) == [False, False, True]


@pytest.mark.long
def test_files_of_others_are_read_or_skipped_with_a_warning(
    spark: SparkSession,
    meta_server: MetaServer,
    segments: SegmentWriter,
    opened: Open,
) -> None:
    segments.write(rows=20)
    others = ForeignWriter(meta_server, segments.dataset)
    others.save(parquet(logs(3)), 3)
    broken = others.save(b"rows of somebody", 3)
    with pytest.warns(SegmentsLeftOut, match=broken):
        web = opened()
    expected = rows_as_read(web.to_table())
    assert web.to_table().num_rows == 23

    for is_read_by_janitor in (False, True):
        if is_read_by_janitor:
            read_footers(tools_of(meta_server))
        frame = load(spark, meta_server)
        assert rows_as_read(frame.toArrow().cast(web.schema)) == expected
        # By Spark's own reader for the segment, and by ours for the other file.
        assert rows_as_read(web.spark(spark).toArrow().cast(web.schema)) == expected


@pytest.mark.long
def test_options_read_only_files_that_can_hold_such_rows(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    for day in range(4):
        segments.write(day=day, signals=("logs",) if day % 2 else ("traces",))

    def since(day: int, **options: str) -> DataFrame:
        start = (START + timedelta(days=day)).isoformat()
        return load(spark, meta_server, **EACH, start=start, **options)

    days = [since(day) for day in (0, 1, 3)]
    late_logs = since(2, signal="logs")

    assert [files_read(frame) for frame in days] == [4, 3, 1]
    assert [frame.count() for frame in days] == [80, 60, 20]
    assert (files_read(late_logs), late_logs.count()) == (1, 20)


@pytest.mark.long
def test_the_option_to_push_filters_warns_and_has_no_effect(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write(signals=SIGNALS)
    with pytest.warns(UserWarning, match="pushFilters has no effect"):
        read_options({"dataset": "web", "pushFilters": "true"})
    frame = load(spark, meta_server, pushFilters="true")

    parts = [frame.where(f"signal = '{signal}'") for signal in SIGNALS]

    assert parts[0].unionAll(parts[1]).unionAll(parts[2]).count() == 60


@pytest.mark.long
def test_a_frame_may_be_filtered_in_several_ways(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write(signals=SIGNALS)
    frame = load(spark, meta_server)

    parts = [frame.where(f"signal = '{signal}'") for signal in SIGNALS]

    assert parts[0].unionAll(parts[1]).unionAll(parts[2]).count() == 60
    assert [part.count() for part in parts] == [20, 20, 20]
    assert frame.count() == 60


def test_a_data_frame_keeps_its_version(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write()
    frame = load(spark, meta_server)
    segments.write()

    joined = frame.alias("a").join(frame.alias("b"), "timestamp")

    assert frame.count() == 20
    assert joined.count() == 20
    assert load(spark, meta_server).count() == 40
    assert load(spark, meta_server, version=_version(meta_server)).count() == 40


def _version(meta_server: MetaServer) -> int:
    request = pb.ListDatasetChangesRequest(dataset_name="web")
    return int(meta_server.client.operations.ListDatasetChanges(request).current_version)


def test_a_pinned_version_outlasts_merges_and_a_lost_pin_is_one_sentence(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    for _ in range(4):
        segments.write()
    writer, worker = Writer(meta_server.client), WorkerDriver(meta_server.client)
    frame = load(spark, meta_server)
    worker.plan()
    assert worker.merge_all() == 1
    assert writer.due() == []

    assert frame.count() == 80

    for pin in meta_server.client.operations.ListPins(pb.ListPinsRequest()).pins:
        meta_server.client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin.id))
    assert delete_due(meta_server) == 4
    with pytest.raises(PySparkException, match=r"is no longer kept at version \d+.*load it again"):
        frame.count()


def test_columns_are_named_by_an_option_or_a_schema(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write()

    option = load(spark, meta_server, columns="service_name, timestamp")
    schema = StructType().add("body", "string").add("timestamp", "timestamp")
    source = spark.read.schema(schema).format("segplane").option("dataset", "web")
    named = source.option("metaAddress", meta_server.address).load()

    assert option.columns == ["service_name", "timestamp"]
    assert option.count() == 20
    assert [field.dataType for field in named.schema] == [StringType(), TimestampType()]
    assert named.count() == 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"signal": "log"}, "signal is 'log', expected one of"),
        ({"columns": "bodi"}, "there is no column 'bodi': did you mean 'body'?"),
        ({"version": "latest"}, "option 'version' is 'latest', expected a number"),
        ({"dataset": "nobody"}, "there is no dataset 'nobody'"),
        ({"metaAddress": "127.0.0.1:1"}, "meta does not answer at 127.0.0.1:1"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_option_is_one_sentence(
    meta_server: MetaServer, segments: SegmentWriter, options: dict[str, str], sentence: str
) -> None:
    given = {"dataset": "web", "metaAddress": meta_server.address} | options

    with pytest.raises(ReadError) as refused:
        SegplaneSource(given).schema()

    assert sentence in str(refused.value)


def test_spark_says_what_is_wrong_with_an_option(
    spark: SparkSession, meta_server: MetaServer
) -> None:
    with pytest.raises(PySparkException) as refused:
        load(spark, meta_server, signals="logs")

    assert "there is no option 'signals': did you mean 'signal'?" in str(refused.value)


def test_a_schema_of_other_types_is_refused(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write()
    source = spark.read.format("segplane").option("metaAddress", meta_server.address)

    frame = source.schema(StructType().add("timestamp", LongType())).load("web")

    with pytest.raises(PySparkException, match="column 'timestamp' is timestamp"):
        frame.count()


@pytest.mark.long
def test_large_files_are_divided_by_row_groups(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segments.write(signals=SIGNALS, rows=500)

    divided = load(spark, meta_server, partitionBytes=2_000)

    assert files_read(divided) > 1
    assert divided.count() == 1_500


def test_the_fast_path_is_spark_s_own_reader(
    spark: SparkSession, meta_server: MetaServer, segments: SegmentWriter, opened: Open
) -> None:
    for day in range(2):
        segments.write(day=day, signals=SIGNALS)

    web = opened(signal="logs", start=EPOCH + DAY, columns=["service_name"])
    frame = web.spark(spark)

    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "FileScan parquet" in plan
    assert "Python" not in plan
    assert frame.columns == ["service_name"]
    assert frame.count() == 20
