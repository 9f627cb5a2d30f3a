"""Datasets that follow a schema while they are deleted."""

import pytest

from meta.client import MetaClient
from tests.support.meta.bindings import STRING, Column, bind, create, names, price, update
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
