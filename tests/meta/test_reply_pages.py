"""Pages of polls and offsets: filters, malformed pages, removals, and limits of the settings."""

from uuid import UUID

import pytest
from sqlalchemy import text

from dataplane.stream_poll import read_streams, read_unmerged
from meta.errors import CursorInvalid, InvalidArgument, ReplyTooLarge, VersionExpired
from meta.store.catalog import datasets as dataset_rows
from meta.store.versions import versions
from meta.v1 import (
    nursery_pb2,
    operations_pb2,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.full_server import (
    CONTRACT_DATASETS,
    CONTRACT_TOKENS,
    GRPC_DEFAULT_BYTES,
    fill_datasets,
    fill_streams,
    fill_tokens,
)
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def full(meta_server: MetaServer, dataset: str) -> MetaServer:
    """A server with as much as a client of the contract reads: datasets, their columns, tokens."""
    with meta_server.running.database.write() as tx:
        fill_datasets(tx, CONTRACT_DATASETS - dataset_rows.count_live(tx))
        fill_tokens(tx, CONTRACT_TOKENS, dataset)
    return meta_server


@pytest.mark.long
def test_a_page_of_another_filter_is_refused(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 12_000, dataset)
    request = nursery_pb2.GetIngestStreamsRequest(paged=True)
    cursor = full.client.nursery.GetIngestStreamsForNursery(request).next_page_cursor

    for changed in (
        nursery_pb2.GetIngestStreamsRequest(shard_count=2),
        nursery_pb2.GetIngestStreamsRequest(catalog_since_seq=1),
        nursery_pb2.GetIngestStreamsRequest(waiting_dataset_ids=[dataset]),
    ):
        changed.paged = True
        changed.page_cursor = cursor
        with pytest.raises(CursorInvalid):
            full.client.nursery.GetIngestStreamsForNursery(changed)


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "request_",
    [
        nursery_pb2.GetIngestStreamsRequest(paged=True, since_seq=2**40),
        nursery_pb2.GetIngestStreamsRequest(paged=True, catalog_since_seq=2**40),
        nursery_pb2.GetIngestStreamsRequest(paged=True, page_cursor="nonsense"),
        nursery_pb2.GetIngestStreamsRequest(paged=True, waiting_dataset_ids=["no id"]),
        nursery_pb2.GetIngestStreamsRequest(
            paged=True, waiting_dataset_ids=[str(UUID(int=n)) for n in range(1_001)]
        ),
    ],
    ids=["since", "catalog since", "cursor", "waiting id", "too many waiting"],
)
def test_malformed_pages_are_refused(
    meta_server: MetaServer, request_: nursery_pb2.GetIngestStreamsRequest
) -> None:
    with pytest.raises(InvalidArgument):
        meta_server.client.nursery.GetIngestStreamsForNursery(request_)


def test_a_stream_of_many_stamps_comes_with_its_first_babies(
    meta_server: MetaServer, collector: IngestionDriver, catalog: CatalogDriver, dataset: str
) -> None:
    stream_id = collector.register(catalog.token(dataset)).stream_id
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
                " num_records, dataset_ids) SELECT :s, o, 1, 2, 3, 4,"
                " ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 1000))"
                " FROM generate_series(0, 299) o"
            ),
            {"s": UUID(stream_id)},
        )
        tx.execute(text("UPDATE stream_heads SET committed_offset = 299, is_pending = true"))

    (info,) = read_streams(meta_server.client)

    assert info.ByteSize() <= GRPC_DEFAULT_BYTES
    offsets = [baby.offset for baby in info.unmerged_babies]
    assert offsets == list(range(len(offsets)))
    assert 10 <= len(offsets) < 299


def test_babies_behind_a_waiting_dataset_are_sent_for_the_others(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
) -> None:
    waiting = catalog.dataset()
    collector.register(catalog.token(waiting))
    stream_id = collector.register(catalog.token(dataset)).stream_id
    for offset in range(4):
        collector.commit(stream_id, offset, dataset, waiting)
    nursery.merge(dataset, stream_id, -1, 2)
    request = nursery_pb2.GetIngestStreamsRequest(paged=True, waiting_dataset_ids=[waiting])

    (info,) = meta_server.client.nursery.GetIngestStreamsForNursery(request).streams

    assert [baby.offset for baby in info.unmerged_babies] == [3]


def test_more_removals_than_fit_are_forgotten(
    meta_server: MetaServer, nursery: NurseryDriver
) -> None:
    seen = nursery.poll().response_seq
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "INSERT INTO stream_removals (stream_id, dataset_id, version, shard_hash)"
                " SELECT gen_random_uuid(), gen_random_uuid(), :v, 0"
                " FROM generate_series(1, 10001)"
            ),
            {"v": versions.allocate(tx)},
        )

    with pytest.raises(VersionExpired):
        nursery.poll(since_seq=seen)
    assert read_unmerged(meta_server.client, 0).response_seq > seen


@pytest.mark.long
def test_offsets_at_a_version_come_in_pages(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 60_001, dataset)
    request = operations_pb2.GetOffsetsAtRequest(dataset_id=dataset)
    with pytest.raises(ReplyTooLarge):
        full.client.operations.GetOffsetsAt(request)
    request.paged = True
    first = full.client.operations.GetOffsetsAt(request)
    request.page_cursor = first.next_page_cursor
    last = full.client.operations.GetOffsetsAt(request)

    assert (len(first.offsets), len(last.offsets)) == (60_000, 1)
    assert first.ByteSize() <= GRPC_DEFAULT_BYTES
    assert not last.next_page_cursor
    assert first.version == last.version
    assert len({o.stream_id for reply in (first, last) for o in reply.offsets}) == 60_001


@pytest.mark.long
def test_offsets_at_the_limit_come_in_one_reply(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 60_000, dataset)

    reply = full.client.operations.GetOffsetsAt(
        operations_pb2.GetOffsetsAtRequest(dataset_id=dataset)
    )

    assert len(reply.offsets) == 60_000
    assert reply.ByteSize() <= GRPC_DEFAULT_BYTES
