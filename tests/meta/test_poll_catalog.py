"""Parts of the catalog in a poll: the datasets of what there is to merge, or pages of all."""

from uuid import UUID

import pytest
from sqlalchemy import text

from dataplane.stream_poll import read_pages, read_unmerged
from meta.v1 import common_pb2, nursery_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.full_server import GRPC_DEFAULT_BYTES, fill_datasets, fill_tokens
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.server import MetaServer

# Two pages of tokens.
TOKENS = 25_000
BABIES, STAMPS = 10, 150


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


def test_a_poll_of_what_is_unmerged_has_the_layouts_of_its_entries_alone(
    meta_server: MetaServer, catalog: CatalogDriver, collector: IngestionDriver, dataset: str
) -> None:
    client = meta_server.client
    collector.register(catalog.token(catalog.dataset()))
    stream_id = collector.register(catalog.token(dataset)).stream_id
    field = common_pb2.ShardingField(field_name="service_name", weight=1)
    catalog.shard(dataset, field)

    idle = read_unmerged(client, 0)
    collector.commit(stream_id, 0, dataset)
    reply = read_unmerged(client, idle.response_seq)

    assert not idle.datasets
    assert not idle.token_routing
    assert [info.id for info in reply.datasets] == [dataset]
    assert list(reply.datasets[0].sharding_fields) == [field]
    assert not reply.token_routing


def test_a_layout_that_changed_comes_with_the_next_poll(
    meta_server: MetaServer, catalog: CatalogDriver, collector: IngestionDriver, dataset: str
) -> None:
    stream_id = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream_id, 0, dataset)
    before = read_unmerged(meta_server.client, 0)
    field = common_pb2.ShardingField(field_name="service_name", weight=1)

    catalog.shard(dataset, field)
    after = read_unmerged(meta_server.client, before.response_seq)

    assert not before.datasets[0].sharding_fields
    assert list(after.datasets[0].sharding_fields) == [field]


@pytest.mark.long
@pytest.mark.parametrize(
    "since", [pytest.param(0, marks=pytest.mark.slow), 1], ids=["all", "changed"]
)
def test_the_routing_of_tokens_comes_in_pages(
    meta_server: MetaServer, dataset: str, since: int
) -> None:
    with meta_server.running.database.write() as tx:
        fill_tokens(tx, TOKENS, dataset)
        tx.execute(text("UPDATE ingest_tokens SET changed_version = 2"))

    request = nursery_pb2.GetIngestStreamsRequest(catalog_since_seq=since)
    pages = list(read_pages(meta_server.client, request))

    token_ids = [token.token_id for page in pages for token in page.token_routing]
    assert len(token_ids) == len(set(token_ids)) == TOKENS
    assert len([page for page in pages if page.token_routing]) > 1
    assert max(page.ByteSize() for page in pages) <= GRPC_DEFAULT_BYTES


def test_the_routing_of_tokens_that_changed_comes_with_the_next_poll_and_no_other(
    meta_server: MetaServer, catalog: CatalogDriver, dataset: str
) -> None:
    _, routed, revoked, _ = (catalog.token(dataset) for _ in range(4))
    (before,) = read_pages(meta_server.client, nursery_pb2.GetIngestStreamsRequest())

    catalog.route(routed, logs=dataset)
    catalog.revoke(revoked)
    request = nursery_pb2.GetIngestStreamsRequest(catalog_since_seq=before.response_seq)
    (after,) = read_pages(meta_server.client, request)

    assert len(before.token_routing) == 4
    routing = {token.token_id: token.logs_dataset_id for token in after.token_routing}
    assert routing == {routed.id: dataset, revoked.id: ""}


@pytest.mark.long
def test_a_stream_with_more_unmerged_entries_than_fit_comes_with_its_first_babies(
    meta_server: MetaServer, catalog: CatalogDriver, collector: IngestionDriver, dataset: str
) -> None:
    """Each entry of 10 baby segments has a layout of 50 promoted columns: 6 MB together."""
    stream_id = collector.register(catalog.token(dataset)).stream_id
    with meta_server.running.database.write() as tx:
        fill_datasets(tx, BABIES * STAMPS)
        tx.execute(
            text(
                "INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
                " changed_version) SELECT :s, id, -1, -1, 0 FROM datasets ON CONFLICT DO NOTHING"
            ),
            {"s": UUID(stream_id)},
        )
        tx.execute(
            text(
                'INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes,'
                " num_records, dataset_ids) SELECT :s, n / :stamps, 1, 2, 3, 4, array_agg(id)"
                " FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM datasets"
                "  WHERE name LIKE :name) d WHERE n / :stamps < :babies GROUP BY n / :stamps"
            ),
            {"s": UUID(stream_id), "babies": BABIES, "stamps": STAMPS, "name": "\U0001f680%"},
        )
        tx.execute(text("UPDATE stream_heads SET committed_offset = 9, is_pending = true"))

    request = nursery_pb2.GetIngestStreamsRequest(omit_merged_entries=True)
    (page,) = read_pages(meta_server.client, request)

    (info,) = page.streams
    assert page.ByteSize() <= GRPC_DEFAULT_BYTES
    assert 1 <= len(info.unmerged_babies) < BABIES
    stamps = {dataset_id for baby in info.unmerged_babies for dataset_id in baby.dataset_ids}
    assert stamps <= {entry.dataset_id for entry in info.datasets}
    assert {known.id for known in page.datasets} == {e.dataset_id for e in info.datasets}
