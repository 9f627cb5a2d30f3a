"""Replies fit gRPC's default of 4 MiB at every documented limit, in one piece or in pages."""

import re
from collections.abc import Callable, Iterator

import grpc
import pytest

from dataplane.stream_poll import read_pages
from meta.errors import ReplyTooLarge
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
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.full_server import (
    CONTRACT_DATASETS,
    CONTRACT_TOKENS,
    GRPC_DEFAULT_BYTES,
    PROMOTED_COLUMNS,
    fill_bare_datasets,
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
    """A server with as much as a client of the contract reads: datasets, their columns, tokens."""
    return filled(meta_server, dataset)


@pytest.fixture(scope="module")
def only_read(module_meta: MetaServer) -> MetaServer:
    """A full server for the tests that change nothing."""
    return filled(module_meta, CatalogDriver(module_meta.client).dataset())


def filled(server: MetaServer, dataset: str) -> MetaServer:
    with server.running.database.write() as tx:
        fill_datasets(tx, CONTRACT_DATASETS - dataset_rows.count_live(tx))
        fill_tokens(tx, CONTRACT_TOKENS, dataset)
    return server


@pytest.fixture
def foreign(only_read: MetaServer) -> Iterator[grpc.Channel]:
    """A channel of a client with gRPC's defaults."""
    with grpc.insecure_channel(only_read.address) as channel:
        yield channel


@pytest.mark.long
def test_a_client_of_the_contract_alone_polls_a_full_server(foreign: grpc.Channel) -> None:
    stub = nursery_pb2_grpc.NurseryServiceStub(foreign)

    reply = stub.GetIngestStreamsForNursery(nursery_pb2.GetIngestStreamsRequest())

    assert len(reply.datasets) == CONTRACT_DATASETS
    assert len(reply.token_routing) == CONTRACT_TOKENS
    assert not any(dataset.promoted_columns for dataset in reply.datasets)


def test_a_client_of_the_contract_alone_lists_the_tokens(
    foreign: grpc.Channel,
) -> None:
    stub = ingest_token_pb2_grpc.IngestTokenServiceStub(foreign)

    reply = stub.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())

    assert len(reply.tokens) == CONTRACT_TOKENS


def test_a_client_of_the_contract_alone_downloads_the_configuration(
    foreign: grpc.Channel,
) -> None:
    stub = ingestion_pb2_grpc.IngestionServiceStub(foreign)

    reply = stub.DownloadConfig(ingestion_pb2.DownloadConfigRequest())

    assert len(reply.other_datasets) == CONTRACT_DATASETS - 1
    assert len(reply.config_version) == 64


def test_tokens_are_listed_page_by_page(only_read: MetaServer) -> None:
    request = ingest_token_pb2.ListIngestTokensRequest(
        pagination=catalog_pb2.PaginationRequest(limit=1_000)
    )
    seen: list[str] = []
    while True:
        reply = only_read.client.ingest_token.ListIngestTokens(request)
        assert reply.ByteSize() <= GRPC_DEFAULT_BYTES
        assert reply.pagination.total == CONTRACT_TOKENS
        seen += [token.id for token in reply.tokens]
        if not reply.pagination.next_cursor:
            break
        request.pagination.after = reply.pagination.next_cursor

    assert len(seen) == len(set(seen)) == CONTRACT_TOKENS
    assert seen == sorted(seen)


# A little more than fits by its size, and so many that they are not read at all.
@pytest.mark.parametrize("count", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_more_than_fits_into_a_reply_is_refused_with_what_to_call_instead(
    meta_server: MetaServer, dataset: str, count: int
) -> None:
    with meta_server.running.database.write() as tx:
        fill_bare_datasets(tx, count)
        fill_tokens(tx, count, dataset)
    client = meta_server.client

    calls: dict[str, Callable[[], object]] = {
        "ListIngestTokens with pagination": lambda: client.ingest_token.ListIngestTokens(
            ingest_token_pb2.ListIngestTokensRequest()
        ),
        "DownloadConfig with omit_datasets": lambda: client.ingestion.DownloadConfig(
            ingestion_pb2.DownloadConfigRequest()
        ),
        "GetUsage.dataset_ids": lambda: client.operations.GetUsage(
            operations_pb2.GetUsageRequest()
        ),
        "GetIngestStreamsForNursery with paged": lambda: client.nursery.GetIngestStreamsForNursery(
            nursery_pb2.GetIngestStreamsRequest()
        ),
    }
    for instead, call in calls.items():
        with pytest.raises(ReplyTooLarge, match=re.escape(instead)):
            call()


@pytest.mark.long
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
    assert len({info.id for info in infos}) == len(infos) == CONTRACT_DATASETS
    assert sum(len(info.promoted_columns) for info in infos) >= 990 * PROMOTED_COLUMNS
    token_ids = {token.token_id for page in pages for token in page.token_routing}
    assert len(token_ids) == CONTRACT_TOKENS


@pytest.mark.long
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
