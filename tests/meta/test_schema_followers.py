"""Datasets that a change of their schema does not reach: deleted ones, and those of a version."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, StillReferenced
from meta.v1 import operations_pb2 as pb
from tests.support.events_once import identify
from tests.support.meta.bindings import (
    RESOURCE,
    STRING,
    Column,
    bind,
    create,
    names,
    price,
    unbind,
    update,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, get_settings, undelete


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


@pytest.fixture
def schema(meta_client: MetaClient) -> str:
    return create(meta_client, "order", Column(name="order_id", type=STRING), price("price"))


def test_a_deleted_dataset_follows_its_schema_and_comes_back_with_the_newest_columns(
    meta_client: MetaClient, catalog: CatalogDriver, dataset: str, schema: str
) -> None:
    live = catalog.dataset("live")
    bind(meta_client, dataset, schema)
    bind(meta_client, live, schema)
    delete(meta_client, dataset)

    reply = update(meta_client, schema, [price("tax")], ["price"])
    undelete(meta_client, dataset)

    assert reply.number == 2
    for each in (live, dataset):
        assert names(get_settings(meta_client, each)) == ["order_id", "tax"]


def test_a_column_keeps_its_type_while_a_dataset_is_bound_to_a_version_with_it(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    """Else the dataset could never be bound to a later version."""
    bind(meta_client, dataset, schema, 1)
    update(meta_client, schema, [], ["price"])
    text = Column(name="price", type=STRING)

    with pytest.raises(InvalidArgument, match="price has another type at version 1"):
        update(meta_client, schema, [text])

    assert update(meta_client, schema, [price("price")]).number == 3
    assert names(bind(meta_client, dataset, schema)) == ["order_id", "price"]
    unbind(meta_client, dataset)
    update(meta_client, schema, [], ["price"])
    assert update(meta_client, schema, [text]).number == 5


def test_a_column_that_reads_another_attribute_goes_and_comes_back_with_it(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    host = pb.BoundAttribute(column="price", scope=RESOURCE, attribute="price.cents")
    before = bind(meta_client, dataset, schema, None, host)

    update(meta_client, schema, [], ["price"])

    without = get_settings(meta_client, dataset)
    assert names(without) == ["order_id"]
    # The attributes that were read may be written, and nothing else of that kind.
    assert bind(meta_client, dataset, schema, None, *without.binding.attributes) == without
    host.attribute = "cents"
    with pytest.raises(InvalidArgument, match="the schema has no column price"):
        bind(meta_client, dataset, schema, None, host)
    update(meta_client, schema, [price("price")])
    assert get_settings(meta_client, dataset).promoted_columns == before.promoted_columns


def test_the_identity_of_a_deleted_dataset_stays_and_the_refusal_names_the_dataset(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    identify(meta_client, dataset, "order_id", 3)
    delete(meta_client, dataset)

    with pytest.raises(StillReferenced, match="order_id is the deduplication key") as refused:
        update(meta_client, schema, [], ["order_id"])

    assert refused.value.metadata["blockers"] == "dataset orders"
    update(meta_client, schema, [price("tax")], ["price"])
    undelete(meta_client, dataset)
    assert get_settings(meta_client, dataset).deduplication.column == "order_id"
