"""Replies fit gRPC's default of 4 MiB at every documented limit, in one piece or in pages."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import grpc
import pytest
from sqlalchemy import text

from meta import config
from meta.errors import CursorInvalid, InvalidArgument, QuotaExceeded, ReplyTooLarge, VersionExpired
from meta.process import Environment
from meta.store import datasets as dataset_rows
from meta.store import versions
from meta.store.engine import Transaction
from meta.v1 import (
    catalog_pb2,
    common_pb2,
    ingest_token_pb2,
    ingest_token_pb2_grpc,
    ingestion_pb2,
    ingestion_pb2_grpc,
    nursery_pb2,
    nursery_pb2_grpc,
    operations_pb2,
)
from segplane.dataplane.stream_poll import StreamPoll, read_pages, read_streams
from tests.support.meta.catalog import Catalog
from tests.support.meta.ingestion import Collector
from tests.support.meta.nursery import Nursery
from tests.support.meta.server import MetaServer

GRPC_DEFAULT_BYTES = 4 * 1024 * 1024
# The longest name there may be on the wire.
LONGEST_NAME = "\U0001f680" * 247
PROMOTED_COLUMNS = 50


def fill_datasets(tx: Transaction, count: int) -> None:
    """Add datasets with the longest names, each with promoted columns."""
    tx.execute(
        text(
            "WITH made AS (INSERT INTO datasets (id, name, changed_version)"
            " SELECT gen_random_uuid(), :name || lpad(n::text, 8, '0'), 1"
            " FROM generate_series(1, :count) n RETURNING id)"
            " INSERT INTO promoted_columns (dataset_id, position, name, type, scope, attribute)"
            " SELECT id, p, 'a_promoted_column_' || p, 4, 1, 'http.request.header.number.' || p"
            " FROM made, generate_series(1, :columns) p"
        ),
        {"name": LONGEST_NAME, "count": count, "columns": PROMOTED_COLUMNS},
    )


def fill_tokens(tx: Transaction, count: int, dataset_id: str) -> None:
    """Add tokens with the longest names; they are known from the first version on."""
    tx.execute(
        text(
            "INSERT INTO ingest_tokens (id, name, digest, hint, logs_dataset_id,"
            " traces_dataset_id, metrics_dataset_id, changed_version)"
            " SELECT gen_random_uuid(), :name || lpad(n::text, 8, '0'),"
            " decode(md5(n::text) || md5(n::text), 'hex'), 'abcd', :d, :d, :d, 1"
            " FROM generate_series(1, :count) n"
        ),
        {"name": LONGEST_NAME, "count": count, "d": UUID(dataset_id)},
    )


def fill_streams(tx: Transaction, count: int, dataset_id: str) -> None:
    """Add streams, each with one entry and nothing committed."""
    tx.execute(
        text(
            "WITH s AS (INSERT INTO ingest_streams (id, collector_id, collector_string,"
            " shard_hash) SELECT gen_random_uuid(), 'bulk-' || n, '', n"
            " FROM generate_series(1, :count) n RETURNING id),"
            " h AS (INSERT INTO stream_heads (stream_id) SELECT id FROM s)"
            " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
            " changed_version) SELECT id, :d, -1, -1, 0 FROM s"
        ),
        {"count": count, "d": UUID(dataset_id)},
    )


@pytest.fixture
def dataset(catalog: Catalog) -> str:
    return catalog.dataset()


@pytest.fixture
def full(meta_server: MetaServer, dataset: str) -> MetaServer:
    """A server at its limits: datasets, their promoted columns, tokens."""
    with meta_server.running.database.write() as tx:
        fill_datasets(tx, config.DATASETS_MAX - dataset_rows.count_live(tx))
        fill_tokens(tx, config.TOKENS_MAX, dataset)
    return meta_server


@pytest.fixture
def foreign(full: MetaServer) -> Iterator[grpc.Channel]:
    """A channel of a client with gRPC's defaults."""
    with grpc.insecure_channel(full.address) as channel:
        yield channel


def test_one_dataset_beyond_the_limit_is_refused(full: MetaServer) -> None:
    with pytest.raises(QuotaExceeded):
        full.client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="one more"))


def test_one_token_beyond_the_limit_is_refused(full: MetaServer) -> None:
    with pytest.raises(QuotaExceeded):
        full.client.ingest_token.CreateIngestToken(
            ingest_token_pb2.CreateIngestTokenRequest(name="one more", dataset_name="default")
        )


@pytest.mark.parametrize(
    ("name", "field", "most"),
    [
        ("META_DATASETS_MAX", "datasets_max", config.DATASETS_MAX),
        ("META_TOKENS_MAX", "tokens_max", config.TOKENS_MAX),
    ],
)
def test_a_setting_above_the_limit_counts_as_the_limit(name: str, field: str, most: int) -> None:
    def read(value: int) -> int:
        values = {"META_DATABASE_URL": "postgresql://host/name", name: str(value)}
        return int(getattr(config.load(Environment("META_", values)), field))

    assert [read(value) for value in (1, most, most + 1, 10_000)] == [1, most, most, most]


def test_a_client_of_the_contract_alone_polls_at_the_limits(foreign: grpc.Channel) -> None:
    stub = nursery_pb2_grpc.NurseryServiceStub(foreign)

    reply = stub.GetIngestStreamsForNursery(nursery_pb2.GetIngestStreamsRequest())

    assert len(reply.datasets) == config.DATASETS_MAX
    assert len(reply.token_routing) == config.TOKENS_MAX
    assert not any(dataset.promoted_columns for dataset in reply.datasets)


def test_a_client_of_the_contract_alone_lists_the_tokens_at_the_limit(
    foreign: grpc.Channel,
) -> None:
    stub = ingest_token_pb2_grpc.IngestTokenServiceStub(foreign)

    reply = stub.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())

    assert len(reply.tokens) == config.TOKENS_MAX


def test_a_client_of_the_contract_alone_downloads_the_configuration_at_the_limit(
    foreign: grpc.Channel,
) -> None:
    stub = ingestion_pb2_grpc.IngestionServiceStub(foreign)

    reply = stub.DownloadConfig(ingestion_pb2.DownloadConfigRequest())

    assert len(reply.other_datasets) == config.DATASETS_MAX - 1
    assert len(reply.config_version) == 64


def test_tokens_are_listed_page_by_page(full: MetaServer) -> None:
    request = ingest_token_pb2.ListIngestTokensRequest(
        pagination=catalog_pb2.PaginationRequest(limit=1_000)
    )
    seen: list[str] = []
    while True:
        reply = full.client.ingest_token.ListIngestTokens(request)
        assert reply.ByteSize() <= GRPC_DEFAULT_BYTES
        assert reply.pagination.total == config.TOKENS_MAX
        seen += [token.id for token in reply.tokens]
        if not reply.pagination.next_cursor:
            break
        request.pagination.after = reply.pagination.next_cursor

    assert len(seen) == len(set(seen)) == config.TOKENS_MAX
    assert seen == sorted(seen)


def test_more_tokens_than_fit_are_listed_in_pages_alone(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        tx.execute(text("UPDATE ingest_tokens SET name = 'old ' || name, digest = digest || '!'"))
        fill_tokens(tx, 1_000, dataset)

    with pytest.raises(ReplyTooLarge):
        full.client.ingest_token.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())


def test_pages_of_a_poll_hold_everything_once_and_each_fits(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 12_000, dataset)

    pages = list(read_pages(full.client, nursery_pb2.GetIngestStreamsRequest()))

    assert len(pages) > 2
    assert max(page.ByteSize() for page in pages) <= GRPC_DEFAULT_BYTES
    assert len({page.response_seq for page in pages}) == 1
    stream_ids = [stream.stream_id for page in pages for stream in page.streams]
    assert len(stream_ids) == len(set(stream_ids)) == 12_000
    infos = [info for page in pages for info in page.datasets]
    assert len({info.id for info in infos}) == len(infos) == config.DATASETS_MAX
    assert sum(len(info.promoted_columns) for info in infos) >= 990 * PROMOTED_COLUMNS
    token_ids = {token.token_id for page in pages for token in page.token_routing}
    assert len(token_ids) == config.TOKENS_MAX


def test_a_poll_of_our_client_is_whole_at_the_limits(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 12_000, dataset)
    poll = StreamPoll(full.client)

    first = poll.read(0)
    later = poll.read(first.response_seq)

    assert len(first.streams) == len(read_streams(full.client)) == 12_000
    assert not later.streams
    for reply in (first, later):
        assert len(reply.datasets) == config.DATASETS_MAX
        assert len(reply.token_routing) == config.TOKENS_MAX


def test_only_what_changed_of_the_catalog_is_sent_again(full: MetaServer, dataset: str) -> None:
    seen = full.client.nursery.GetIngestStreamsForNursery(
        nursery_pb2.GetIngestStreamsRequest(paged=True)
    ).response_seq
    full.client.catalog.SetShardingFields(
        catalog_pb2.SetShardingFieldsRequest(
            id=dataset, fields=[common_pb2.ShardingField(field_name="service_name", weight=1)]
        )
    )
    listed = full.client.ingest_token.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())
    token_id = listed.tokens[7].id
    full.client.ingest_token.RevokeIngestToken(
        ingest_token_pb2.RevokeIngestTokenRequest(token_id=token_id)
    )

    reply = full.client.nursery.GetIngestStreamsForNursery(
        nursery_pb2.GetIngestStreamsRequest(paged=True, catalog_since_seq=seen)
    )

    assert [info.id for info in reply.datasets] == [dataset]
    assert [field.field_name for field in reply.datasets[0].sharding_fields] == ["service_name"]
    assert [token.token_id for token in reply.token_routing] == [token_id]
    assert not reply.token_routing[0].logs_dataset_id


def test_a_dataset_that_was_created_since_comes_with_its_layout(
    meta_server: MetaServer, catalog: Catalog
) -> None:
    poll = StreamPoll(meta_server.client)
    seen = poll.read(0).response_seq
    created = catalog.dataset()
    meta_server.client.operations.SetDatasetSettings(
        operations_pb2.SetDatasetSettingsRequest(
            dataset_id=created,
            settings=operations_pb2.DatasetSettings(
                promoted_columns=operations_pb2.PromotedColumns(
                    columns=[
                        common_pb2.PromotedColumn(
                            name="status",
                            type=common_pb2.KQL_TYPE_LONG,
                            scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
                            attribute="status",
                        )
                    ]
                )
            ),
        )
    )

    (info,) = [info for info in poll.read(seen).datasets if info.id == created]

    assert [column.name for column in info.promoted_columns] == ["status"]


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
    meta_server: MetaServer, collector: Collector, catalog: Catalog, dataset: str
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
    catalog: Catalog,
    collector: Collector,
    nursery: Nursery,
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


def test_more_removals_than_fit_are_forgotten(meta_server: MetaServer, nursery: Nursery) -> None:
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
    assert StreamPoll(meta_server.client).read(0).response_seq > seen


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


def test_offsets_at_the_limit_come_in_one_reply(full: MetaServer, dataset: str) -> None:
    with full.running.database.write() as tx:
        fill_streams(tx, 60_000, dataset)

    reply = full.client.operations.GetOffsetsAt(
        operations_pb2.GetOffsetsAtRequest(dataset_id=dataset)
    )

    assert len(reply.offsets) == 60_000
    assert reply.ByteSize() <= GRPC_DEFAULT_BYTES


def test_limits_are_those_of_the_settings(meta_settings: config.Settings) -> None:
    assert replace(meta_settings).datasets_max <= config.DATASETS_MAX
    assert replace(meta_settings).tokens_max <= config.TOKENS_MAX
