"""Locations of records: offsets at a version, one baby through its merges, usage."""

from uuid import uuid4

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.v1 import operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def stream(catalog: CatalogDriver, collector: IngestionDriver, dataset: str) -> str:
    """Give a stream with ten committed babies."""
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(10):
        collector.commit(stream_id, offset, dataset)
    return stream_id


def offsets_at(client: MetaClient, dataset_id: str, version: int = 0) -> dict[str, int]:
    request = operations_pb2.GetOffsetsAtRequest(dataset_id=dataset_id, version=version)
    return {o.stream_id: o.stream_offset for o in client.operations.GetOffsetsAt(request).offsets}


def locate(client: MetaClient, stream_id: str, offset: int) -> operations_pb2.LocateOffsetResponse:
    return client.operations.LocateOffset(
        operations_pb2.LocateOffsetRequest(stream_id=stream_id, offset=offset)
    )


def test_offsets_at_every_version_are_what_they_were_then(
    meta_server: MetaServer,
    meta_client: MetaClient,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    first = nursery.merge(dataset, stream, -1, 3)
    second = nursery.register(dataset, (stream, 3, 5)).segment_version
    third = nursery.merge(dataset, stream, 5, 9)
    with meta_server.running.database.write() as tx:
        tx.execute(text("DELETE FROM offset_checkpoints"))

    assert offsets_at(meta_client, dataset, first - 1) == {stream: -1}
    assert offsets_at(meta_client, dataset, first) == {stream: 3}
    assert offsets_at(meta_client, dataset, second) == {stream: 5}
    assert offsets_at(meta_client, dataset, third) == {stream: 9}
    assert offsets_at(meta_client, dataset) == {stream: 9}


def test_offsets_at_expired_or_future_versions_are_refused(
    meta_server: MetaServer, meta_client: MetaClient, stream: str, dataset: str
) -> None:
    with pytest.raises(InvalidArgument):
        offsets_at(meta_client, dataset, 10**6)
    with pytest.raises(NotFound):
        offsets_at(meta_client, str(uuid4()))
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE datasets SET deletion_horizon = (SELECT version FROM meta_state)"))
    with pytest.raises(VersionExpired):
        offsets_at(meta_client, dataset, 1)


def test_a_baby_is_found_in_the_segment_that_was_made_of_it(
    meta_client: MetaClient, nursery: NurseryDriver, stream: str, dataset: str
) -> None:
    waiting = locate(meta_client, stream, 2)
    assert (waiting.committed, waiting.reaped) == (True, False)
    assert waiting.baby.offset == 2
    assert [(p.dataset_id, p.merged, len(p.segments)) for p in waiting.locations] == [
        (dataset, False, 0)
    ]

    segment, more = nursery.segment(dataset), nursery.segment(dataset)
    nursery.register(dataset, (stream, -1, 3), segment=segment, more=[more])

    place = locate(meta_client, stream, 2).locations[0]
    assert place.merged
    assert {s.cloud_object_key.key for s in place.segments} == {
        segment.cloud_object_key.key,
        more.cloud_object_key.key,
    }


def test_a_baby_of_two_datasets_is_in_the_segments_of_each(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
) -> None:
    other = catalog.dataset("other")
    token = catalog.token(dataset)
    catalog.route(token, logs=dataset, traces=other)
    stream = collector.register(token).stream_id
    collector.commit(stream, 0, dataset, other)

    keys = {}
    for each in (dataset, other):
        segment = nursery.segment(each)
        nursery.register(each, (stream, -1, 0), segment=segment)
        keys[each] = [segment.cloud_object_key.key]

    places = locate(meta_client, stream, 0).locations
    assert {p.dataset_id: [s.cloud_object_key.key for s in p.segments] for p in places} == keys


def test_a_baby_is_followed_through_merges(
    meta_server: MetaServer,
    meta_client: MetaClient,
    nursery: NurseryDriver,
    stream: str,
    dataset: str,
) -> None:
    nursery.merge(dataset, stream, -1, 3)
    nursery.merge(dataset, stream, 3, 6)
    old = locate(meta_client, stream, 2).locations[0].segments[0].id
    new = locate(meta_client, stream, 5).locations[0].segments[0].id
    with meta_server.running.database.write() as tx:
        tx.execute(
            text("INSERT INTO segment_lineage (input_id, output_id) VALUES (:old, :new)"),
            {"old": old, "new": new},
        )
        tx.execute(
            text(
                "UPDATE segments SET tombstone_version = 10^9, tombstone_at = now() WHERE id = :o"
            ),
            {"o": old},
        )

    place = locate(meta_client, stream, 2).locations[0]

    assert [s.id for s in place.segments] == [new]


def test_offsets_beyond_the_committed_one_are_not_committed(
    meta_client: MetaClient, stream: str
) -> None:
    found = locate(meta_client, stream, 10)

    assert not found.committed
    assert not found.HasField("baby")
    with pytest.raises(NotFound):
        locate(meta_client, str(uuid4()), 0)


def test_offsets_up_to_the_deleted_one_are_reaped(
    meta_server: MetaServer, meta_client: MetaClient, stream: str
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(
            text("UPDATE ingest_streams SET deleted_offset = 3 WHERE id = :id"), {"id": stream}
        )

    assert [locate(meta_client, stream, offset).reaped for offset in (3, 4)] == [True, False]


@pytest.mark.one_meta(False)
def test_usage_counts_the_records_of_stamped_babies(
    meta_client: MetaClient, catalog: CatalogDriver, stream: str, dataset: str
) -> None:
    other = catalog.dataset()
    usage = meta_client.operations.GetUsage(
        operations_pb2.GetUsageRequest(dataset_ids=[dataset, other])
    ).usage

    assert [(u.dataset_id, u.records, u.limit) for u in usage] == [
        (dataset, 100, -1),
        (other, 0, -1),
    ]
    assert len(usage[0].month) == 7
    with pytest.raises(NotFound):
        meta_client.operations.GetUsage(operations_pb2.GetUsageRequest(dataset_ids=[str(uuid4())]))
    assert len(meta_client.operations.GetUsage(operations_pb2.GetUsageRequest()).usage) == 3
