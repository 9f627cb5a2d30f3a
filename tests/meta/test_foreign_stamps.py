"""A stamp of a dataset that none of the stream's tokens routes to."""

import pytest

from meta.client import MetaClient
from meta.v1 import operations_pb2
from tests.support.meta.catalog import CatalogDriver, Token
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver

pytestmark = pytest.mark.one_meta


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset()


@pytest.fixture
def token(catalog: CatalogDriver, dataset: str) -> Token:
    return catalog.token(dataset)


@pytest.fixture
def stream(collector: IngestionDriver, token: Token) -> str:
    return collector.register(token).stream_id


@pytest.fixture
def foreign(catalog: CatalogDriver) -> str:
    """A dataset that another token routes to."""
    dataset_id = catalog.dataset()
    catalog.token(dataset_id)
    return dataset_id


def records(client: MetaClient, dataset_id: str) -> int:
    request = operations_pb2.GetUsageRequest(dataset_ids=[dataset_id])
    return client.operations.GetUsage(request).usage[0].records


def entries(nursery: NurseryDriver, stream_id: str) -> set[str]:
    return {entry.dataset_id for entry in nursery.stream(stream_id).datasets}


def test_a_foreign_stamp_is_committed_and_named_also_on_replay(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str, foreign: str
) -> None:
    replies = [collector.commit(stream, 0, dataset, foreign) for _ in range(2)]

    assert [list(reply.foreign_dataset_ids) for reply in replies] == [[foreign]] * 2
    assert not replies[0].deleted_dataset_ids
    assert nursery.stream(stream).committed_offset == 0


def test_a_foreign_stamp_makes_no_entry_and_counts_no_usage(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str, foreign: str
) -> None:
    collector.commit(stream, 0, dataset, foreign)

    assert entries(nursery, stream) == {dataset}
    assert records(collector.client, foreign) == 0
    assert records(collector.client, dataset) > 0


def test_a_foreign_stamp_does_not_block_its_stream(
    collector: IngestionDriver, nursery: NurseryDriver, stream: str, dataset: str, foreign: str
) -> None:
    collector.commit(stream, 0, foreign)
    collector.commit(stream, 1, dataset)

    nursery.merge(dataset, stream, -1, 1)

    assert nursery.merged_offset(stream, dataset) == 1


def test_a_stamp_of_an_entry_that_was_retired_a_moment_ago_makes_it_again(
    collector: IngestionDriver,
    nursery: NurseryDriver,
    catalog: CatalogDriver,
    token: Token,
    stream: str,
    dataset: str,
) -> None:
    elsewhere = catalog.dataset()
    catalog.route(token, logs=elsewhere)
    nursery.remove_entry(stream, dataset, -1)
    assert entries(nursery, stream) == {elsewhere}

    reply = collector.commit(stream, 0, dataset)

    assert not reply.foreign_dataset_ids
    assert entries(nursery, stream) == {dataset, elsewhere}
    assert records(collector.client, dataset) > 0


def test_routing_that_comes_later_begins_above_a_foreign_stamp(
    collector: IngestionDriver,
    nursery: NurseryDriver,
    catalog: CatalogDriver,
    token: Token,
    stream: str,
    dataset: str,
    foreign: str,
) -> None:
    collector.commit(stream, 0, dataset)
    collector.commit(stream, 1, dataset, foreign)

    catalog.route(token, logs=dataset, traces=foreign)

    assert nursery.merged_offset(stream, foreign) == 1
    assert nursery.merged_offset(stream, dataset) == -1
