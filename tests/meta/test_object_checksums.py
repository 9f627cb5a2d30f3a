"""CRC-32C of objects: kept as the writer sent it, and never what tells two calls apart."""

import psycopg

from meta.v1.common_pb2 import CreateSegment
from meta.v1.ingestion_pb2 import CommitOffsetRequest
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of

CRC = 0xFFFF_FFFF


def with_crc(segment: CreateSegment, crc32c: int) -> CreateSegment:
    segment.crc32c = crc32c
    return segment


def test_a_segment_shows_the_checksum_that_its_writer_sent(
    writer: Writer, catalog: CatalogDriver
) -> None:
    dataset = catalog.dataset("web")

    told, zero, untold = writer.save(
        with_crc(segment_of(dataset), CRC), with_crc(segment_of(dataset), 0), segment_of(dataset)
    )

    found = {segment.id: segment for segment in writer.find("web").segments}
    assert found[told].crc32c == CRC
    assert found[zero].HasField("crc32c")
    assert found[zero].crc32c == 0
    assert not found[untold].HasField("crc32c")


def test_a_registration_is_repeated_whatever_it_says_of_the_checksum(
    writer: Writer, nursery: NurseryDriver, collector: IngestionDriver, catalog: CatalogDriver
) -> None:
    """Workers of two releases may repeat each other's calls: one of them knows no checksums."""
    dataset = catalog.dataset("web")
    stream = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream, 0, dataset)
    segment = with_crc(nursery.segment(dataset), CRC)
    first = nursery.register(dataset, (stream, -1, 0), segment=segment).segment_version
    segment.ClearField("crc32c")

    again = nursery.register(dataset, (stream, -1, 0), segment=segment).segment_version

    assert again == first
    (stored,) = writer.find("web").segments
    assert stored.crc32c == CRC


def test_a_merge_output_keeps_its_checksum(
    writer: Writer, worker: WorkerDriver, catalog: CatalogDriver
) -> None:
    dataset = catalog.dataset("web")
    writer.save_many(dataset, 8)
    worker.plan(min_age_secs=0, dataset_name="web")
    task = worker.poll()
    output = with_crc(worker.output(task, key="merged.parquet"), CRC)

    worker.complete(task.task_id, output)
    output.crc32c = 1
    worker.complete(task.task_id, output)

    assert [segment.crc32c for segment in writer.find("web").segments] == [CRC]


def test_a_commit_is_repeated_whatever_it_says_of_the_checksum(
    collector: IngestionDriver, catalog: CatalogDriver, database_url: str
) -> None:
    dataset = catalog.dataset("web")
    stream = collector.register(catalog.token(dataset)).stream_id
    told = CommitOffsetRequest(stream_id=stream, committed_offset=0, size_bytes=9, crc32c=CRC)
    untold = CommitOffsetRequest(stream_id=stream, committed_offset=1, size_bytes=9)
    commit = collector.client.ingestion.CommitOffset
    commit(told)
    commit(untold)

    told.ClearField("crc32c")
    untold.crc32c = CRC
    commit(told)
    commit(untold)

    with psycopg.connect(database_url) as connection:
        rows = connection.execute('SELECT crc32c FROM baby_segments ORDER BY "offset"').fetchall()
    assert rows == [(CRC,), (None,)]
