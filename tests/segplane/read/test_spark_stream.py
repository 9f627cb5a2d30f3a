"""`spark.readStream.format("segplane")`: each record once, over restarts, merges and deletion."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from janitor.footers import read_footers
from meta.config import Settings
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segplane.read.errors import ReadError
from segplane.read.spark.source import SegplaneSource
from tests.segplane.read.conftest import delete_due
from tests.support.foreign_files import ForeignWriter, logs, parquet, tools_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.spark


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


class Stream:
    """A stream of a dataset into Parquet files, with a checkpoint."""

    def __init__(self, spark: SparkSession, meta_server: MetaServer, folder: Path) -> None:
        self.spark = spark
        self.server = meta_server
        self.folder = folder

    def start(self, *, is_bounded: bool = True, **options: Any) -> StreamingQuery:
        options = {"metaAddress": self.server.address} | options
        frame = self.spark.readStream.format("segplane").options(**options).load("web")
        writer = (
            frame.select("signal", "timestamp", "timestamp_nanos")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
        )
        if is_bounded:
            writer = writer.trigger(availableNow=True)
        return writer.start(str(self.folder / "rows"))

    def run(self, **options: Any) -> list[int]:
        """Read what there is; returns the rows of each batch."""
        query = self.start(**options)
        try:
            assert query.awaitTermination(120)
            return [progress.numInputRows for progress in query.recentProgress]
        finally:
            query.stop()

    def rows(self) -> Counter[tuple[str, int]]:
        """Rows that have been read: signal and time in nanoseconds."""
        frame = self.spark.read.parquet(str(self.folder / "rows"))
        return Counter(
            (row["signal"], row["us"] * 1000 + row["timestamp_nanos"])
            for row in frame.selectExpr(
                "signal", "unix_micros(timestamp) us", "timestamp_nanos"
            ).collect()
        )


@pytest.fixture
def stream(spark: SparkSession, meta_server: MetaServer, tmp_path: Path) -> Stream:
    return Stream(spark, meta_server, tmp_path / "stream")


def merge(meta_server: MetaServer) -> None:
    """Merge everything into outputs that nobody can read: there is no object."""
    worker = WorkerDriver(meta_server.client)
    worker.plan()
    assert worker.merge_all()


def pins(meta_server: MetaServer) -> list[pb.Pin]:
    return list(meta_server.client.operations.ListPins(pb.ListPinsRequest()).pins)


@pytest.mark.long
def test_each_record_comes_once_over_restarts_merges_and_deletion(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    for _ in range(5):
        segments.write(signals=("logs", "traces"))

    first = stream.run(maxFilesPerTrigger=2)
    for _ in range(3):
        segments.write()
    merge(meta_server)
    # The pin of the checkpoint holds what was added after it, for longer than the grace.
    assert delete_due(meta_server) <= 5
    segments.write()
    second = stream.run(maxFilesPerTrigger=2)
    third = stream.run()

    assert [rows for rows in first if rows] == [80, 80, 40]
    assert [rows for rows in second if rows] == [40, 40]
    assert sum(third) == 0
    assert stream.rows() == Counter(segments.rows)


@pytest.mark.long
def test_files_of_others_are_streamed_once_and_what_cannot_be_read_is_skipped(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    segments.write(rows=20)
    others = ForeignWriter(meta_server, segments.dataset)
    others.save(parquet(logs(3)), 3)
    others.save(b"rows of somebody", 3)
    stream.run()
    assert stream.rows().total() == 23

    # The janitor reads them, and a merge takes in those that are mapped.
    read_footers(tools_of(meta_server))
    merge(meta_server)
    segments.write(rows=20)
    others.save(b"rows of somebody", 3)
    others.save(parquet(logs(4)), 4)
    stream.run()

    assert stream.rows().total() == 23 + 24


@pytest.mark.long
def test_a_stream_whose_pin_lapsed_says_so_and_skips_nothing(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    segments.write()
    stream.run()
    for pin in pins(meta_server):
        meta_server.client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin.id))
    for _ in range(4):
        segments.write()
    merge(meta_server)
    assert delete_due(meta_server) == 5
    segments.write()

    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="longer than its pin was kept"):
            stream.run()

    assert sum(stream.rows().values()) == 20


@pytest.mark.slow
def test_a_lapsed_pin_is_taken_again_while_nothing_was_deleted(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    segments.write()
    stream.run()
    for pin in pins(meta_server):
        meta_server.client.operations.ReleasePin(pb.ReleasePinRequest(pin_id=pin.id))
    segments.write()

    assert sum(stream.run()) == 20
    assert stream.rows() == Counter(segments.rows)


@pytest.mark.slow
def test_a_stream_begins_where_it_is_told(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream, tmp_path: Path
) -> None:
    segments.write()
    request = pb.ListDatasetChangesRequest(dataset_name="web")
    version = meta_server.client.operations.ListDatasetChanges(request).current_version
    segments.write()
    segments.write()

    with pytest.raises(StreamingQueryException, match="use 'startingVersion'"):
        stream.run(version=version)
    assert sum(stream.run(startingVersion=version + 1)) == 40
    latest = Stream(stream.spark, meta_server, tmp_path / "latest")
    assert sum(latest.run(startingVersion="latest")) == 0
    segments.write()
    assert sum(latest.run(startingVersion="latest")) == 20


@pytest.mark.slow
def test_batches_are_limited_by_bytes(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    for _ in range(3):
        segments.write()

    assert [rows for rows in stream.run(maxBytesPerTrigger=1) if rows] == [20, 20, 20]


@pytest.mark.long
def test_a_running_stream_gets_what_is_added(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    segments.write()
    query = stream.start(is_bounded=False, signal="logs")
    try:
        query.processAllAvailable()
        segments.write(signals=("logs", "metrics"))
        wait_until(lambda: sum(p.numInputRows for p in query.recentProgress) >= 40, "40 rows")
        for _ in range(2):
            segments.write(signals=("traces",))
        merge(meta_server)
        segments.write(signals=("logs",))
        wait_until(lambda: sum(p.numInputRows for p in query.recentProgress) >= 60, "60 rows")
    finally:
        query.stop()

    expected = Counter(row for row in segments.rows if row[0] == "logs")
    assert stream.rows() == expected
    # That of the checkpoint, and perhaps one of a batch that was planned.
    assert 1 <= sum(pin.holds_changes for pin in pins(meta_server)) <= 2


@pytest.mark.slow
def test_a_dataset_that_was_made_again_is_another(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    segments.write()
    stream.run()
    client = meta_server.client
    client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=segments.dataset))
    CatalogDriver(client).dataset("web")

    with pytest.raises(StreamingQueryException, match="deleted and created again"):
        stream.run()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"startingVersion": "first"}, "expected 'latest' or a number from 1"),
        ({"startingVersion": "999999999"}, "version is 999999998, the current version is"),
        ({"maxFilesPerTrigger": "0"}, "expected a number from 1"),
    ],
    ids=str,
)
def test_what_a_stream_cannot_do_is_one_sentence(
    meta_server: MetaServer, segments: SegmentWriter, options: dict[str, str], sentence: str
) -> None:
    source = SegplaneSource({"path": "web", "metaAddress": meta_server.address} | options)

    with pytest.raises(ReadError, match=sentence):
        source.streamReader(source.schema()).initialOffset()


@pytest.mark.long
def test_a_stream_that_cannot_begin_says_why(segments: SegmentWriter, stream: Stream) -> None:
    with pytest.raises(StreamingQueryException, match="'1h' is an age"):
        stream.run(start="1h")
