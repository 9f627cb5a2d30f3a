"""Replies fit gRPC's default of 4 MiB at every documented limit, in one piece or in pages."""

from collections.abc import Iterator

import grpc
import pytest
from sqlalchemy import text

from meta import config
from meta.errors import QuotaExceeded, ReplyTooLarge
from meta.process import Environment
from meta.store.catalog import datasets as dataset_rows
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
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.full_server import (
    GRPC_DEFAULT_BYTES,
    PROMOTED_COLUMNS,
    fill_datasets,
    fill_streams,
    fill_tokens,
)
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
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
    meta_server: MetaServer, catalog: CatalogDriver
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
