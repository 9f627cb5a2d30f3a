"""Commits, places of records and ages of segments after the catalog is rebuilt from the bucket."""

from pathlib import Path

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import operations_pb2 as pb
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.parquet.lineage import BatchPart
from segments.token_index import builder
from tests.segplane.test_catalog_rebuild import on, rebuild, running
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery
from tests.support.visible_segments import key_of


def places(client: MetaClient, stream_id: str) -> list[tuple[bool, list[str]]]:
    """Whether each of three babies is merged, and the keys of the segments that hold it."""
    located = [
        client.operations.LocateOffset(pb.LocateOffsetRequest(stream_id=stream_id, offset=offset))
        for offset in range(3)
    ]
    assert all(reply.committed for reply in located)
    return [
        (location.merged, [key_of(segment) for segment in location.segments])
        for reply in located
        for location in reply.locations
    ]


def flushes(client: MetaClient, stream_id: str) -> dict[int, bytes]:
    """The flush id of each commit."""
    request = pb.GetCommittedFlushesRequest(stream_id=stream_id, first_offset=0, last_offset=9)
    reply = client.operations.GetCommittedFlushes(request)
    return {flush.offset: flush.flush_id for flush in reply.flushes}


def test_babies_and_segments_have_their_facts_after_a_rebuild(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        for text in ("first", "second"):
            collector.send(text)
            nursery(client).cycle()
        collector.send("not merged")
        before = places(client, collector.stream_id), flushes(client, collector.stream_id)
    assert [is_merged for is_merged, _ in before[0]] == [True, True, False]
    assert len(before[1]) == 3

    rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    with running(on(meta_settings, empty_database_url)) as client:
        rebuilt = places(client, collector.stream_id), flushes(client, collector.stream_id)
    assert rebuilt == before
    with psycopg.connect(empty_database_url) as connection:
        rows = connection.execute("SELECT created_at FROM segments ORDER BY created_at").fetchall()
    written = sorted(info.modified_at_nanos / 1e9 for info in collector.store.list("dataset/"))
    assert [created_at.timestamp() for (created_at,) in rows] == pytest.approx(written, abs=0.001)


def test_a_token_index_has_its_place_after_a_rebuild(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Small files have one too.
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    with running(meta_settings) as client:
        writer = SegmentWriter(client, CatalogDriver(client).dataset("web"), tmp_path)
        writer.has_token_index, writer.batches = True, (BatchPart("batch", 1, 1),)
        writer.write()
        find = FindSegmentsRequest(dataset_names=["web"])
        (before,) = client.segment_lookup.FindSegments(find).segments
    assert before.written_facts.token_index.length > 0

    rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    with running(on(meta_settings, empty_database_url)) as client:
        find = FindSegmentsRequest()
        (rebuilt,) = client.segment_lookup.FindSegments(find).segments
    assert rebuilt.written_facts.token_index == before.written_facts.token_index
