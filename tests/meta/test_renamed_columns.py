"""Columns of schemas that get other names: ids and attributes stay, and older versions."""

import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    SchemaFrozen,
)
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import PromotedColumn
from tests.support.meta.bindings import (
    RESOURCE,
    STRING,
    Column,
    bind,
    columns_at,
    create,
    current_version,
    names,
    price,
    promote,
    promoted,
    settings_at,
    unbind,
    update,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


@pytest.fixture
def schema(meta_client: MetaClient) -> str:
    return create(meta_client, "order", Column(name="order_id", type=STRING), price("price"))


def column(client: MetaClient, dataset: str, name: str) -> PromotedColumn:
    (own,) = [c for c in get_settings(client, dataset).promoted_columns.columns if c.name == name]
    return own


def test_a_renamed_column_keeps_its_field_id_and_attribute_and_older_versions_its_name(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    before, version = column(meta_client, dataset, "price"), current_version(meta_client)

    reply = update(meta_client, schema, renamed={"price": "cost"})

    assert [c.name for c in reply.columns] == ["order_id", "cost"]
    assert reply.number == 2
    after = column(meta_client, dataset, "cost")
    expected = PromotedColumn()
    expected.CopyFrom(before)
    expected.name, expected.name_id = "cost", after.name_id
    assert after == expected
    assert (after.attribute, after.field_id) == ("price", before.field_id)
    assert after.name_id not in (0, before.field_id)
    assert columns_at(meta_client, dataset, version) == ["order_id", "price"]
    assert columns_at(meta_client, dataset, current_version(meta_client)) == ["order_id", "cost"]
    (then,) = settings_at(meta_client, dataset, version).promoted_columns.columns[1:]
    assert then == before
    first = meta_client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(id=schema, number=1))
    assert [c.name for c in first.columns] == ["order_id", "price"]


def test_a_column_gets_its_former_name_back(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    before = column(meta_client, dataset, "price")

    for name, new_name in (
        ("price", "cost"),
        ("cost", "PRICE"),
        ("PRICE", "total"),
        ("total", "price"),
    ):
        update(meta_client, schema, renamed={name: new_name})
        assert column(meta_client, dataset, new_name).field_id == before.field_id

    assert column(meta_client, dataset, "price") == before


def test_renaming_goes_with_other_changes_and_with_revisions_of_a_frozen_schema(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    reply = update(
        meta_client,
        schema,
        [price("tax")],
        ["order_id"],
        renamed={"price": "cost"},
        order=["tax", "cost"],
        freeze=True,
    )
    assert [c.name for c in reply.columns] == ["tax", "cost"]
    with pytest.raises(SchemaFrozen):
        update(meta_client, schema, renamed={"cost": "total"})
    update(meta_client, schema, renamed={"cost": "total"}, is_revision=True)
    assert names(get_settings(meta_client, dataset)) == ["tax", "total"]


@pytest.mark.parametrize(
    ("renamed", "why"),
    [
        ({"none": "cost"}, "no column 'none' stays"),
        ({"price": "order_id"}, "'order_id' exists already"),
        ({"price": "price"}, "'price' exists already"),
        ({"price": "order_id", "order_id": "price"}, "exists already"),
        ({"price": "cost", "order_id": "cost"}, "has a duplicate"),
        ({"price": ""}, "new_name must not be empty"),
        ({"price": "body"}, "body is a column of the format"),
        ({"price": "timestamp_nanos"}, "timestamp_nanos is a column that the format adds"),
        ({"price": "severity"}, "severity is a column"),
        ({"price": "Mine"}, "mine was another column"),
        ({"price": "Order_ID"}, "order_id was another column"),
        ({"price": "gone"}, "gone was another column"),
        ({"price": "twin"}, "twin was another column"),
    ],
)
def test_a_name_that_cannot_be_is_refused(
    meta_client: MetaClient, dataset: str, schema: str, renamed: dict[str, str], why: str
) -> None:
    twin = promoted("price")
    twin.name = "twin"
    promote(meta_client, dataset, promoted("gone", STRING), twin)
    promote(meta_client, dataset, promoted("mine"))
    bind(meta_client, dataset, schema)
    before = get_settings(meta_client, dataset)

    with pytest.raises(InvalidArgument, match=f"(?i){why}"):
        update(meta_client, schema, renamed=renamed)

    assert get_settings(meta_client, dataset) == before


def test_a_column_is_not_renamed_and_removed_and_no_other_gets_its_new_name(
    meta_client: MetaClient, schema: str
) -> None:
    with pytest.raises(InvalidArgument, match="no column 'price' stays"):
        update(meta_client, schema, [], ["price"], renamed={"price": "cost"})
    with pytest.raises(InvalidArgument, match="'cost' exists already"):
        update(meta_client, schema, [price("cost")], renamed={"price": "cost"})


def test_no_other_column_of_a_dataset_gets_the_former_name(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    update(meta_client, schema, renamed={"price": "cost"})

    for type_ in (price("price").type, STRING):
        with pytest.raises(InvalidArgument, match="price"):
            update(meta_client, schema, [Column(name="price", type=type_)])
    with pytest.raises(InvalidArgument, match="price and cost are names of one column"):
        promote(meta_client, dataset, promoted("price"))
    assert names(get_settings(meta_client, dataset)) == ["order_id", "cost"]


def test_a_renamed_column_that_was_removed_comes_back_as_the_same(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    update(meta_client, schema, renamed={"price": "cost"})
    before = column(meta_client, dataset, "cost")
    update(meta_client, schema, [], ["cost"])
    update(meta_client, schema, [price("cost")])
    assert column(meta_client, dataset, "cost") == before
    # So it does for a dataset that is bound again.
    unbind(meta_client, dataset)
    bind(meta_client, dataset, schema)
    assert column(meta_client, dataset, "cost") == before


def test_a_dataset_at_a_fixed_version_renames_its_column_once_it_is_bound_to_a_later_one(
    meta_client: MetaClient, catalog: CatalogDriver, dataset: str, schema: str
) -> None:
    other = catalog.dataset("other")
    bind(meta_client, dataset, schema, 1)
    before = column(meta_client, dataset, "price")
    update(meta_client, schema, renamed={"price": "cost"})
    update(meta_client, schema, [price("tax")])
    update(meta_client, schema, renamed={"cost": "total"})
    assert names(get_settings(meta_client, dataset)) == ["order_id", "price"]

    for version, name in ((3, "cost"), (4, "total"), (1, "price"), (None, "total"), (2, "cost")):
        bind(meta_client, dataset, schema, version)
        own = column(meta_client, dataset, name)
        assert (own.field_id, own.attribute) == (before.field_id, "price")

    # A dataset without a column of the former name reads the attribute of the new one.
    bind(meta_client, other, schema)
    assert column(meta_client, other, "total").attribute == "total"


def test_a_later_column_of_the_former_name_is_another_one(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema, 1)
    before = column(meta_client, dataset, "price")
    update(meta_client, schema, renamed={"price": "cost"})
    update(meta_client, schema, [price("price")])
    update(meta_client, schema, renamed={"price": "list_price"})

    for version, name in ((4, "cost"), (1, "price"), (None, "cost")):
        bind(meta_client, dataset, schema, version)
        assert column(meta_client, dataset, name).field_id == before.field_id
    other = column(meta_client, dataset, "list_price")
    assert (other.attribute, other.field_id != before.field_id) == ("list_price", True)


def test_a_column_that_was_removed_is_not_the_later_one_of_its_name(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema, 1)
    before = column(meta_client, dataset, "price")
    update(meta_client, schema, renamed={"price": "cost"})
    update(meta_client, schema, [price("net")], ["cost"])
    update(meta_client, schema, renamed={"net": "cost"})

    bind(meta_client, dataset, schema)
    other = column(meta_client, dataset, "cost")
    assert (other.attribute, other.field_id != before.field_id) == ("cost", True)
    bind(meta_client, dataset, schema, 1)
    assert column(meta_client, dataset, "price") == before


def test_an_attribute_that_was_chosen_stays(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    host = pb.BoundAttribute(column="price", scope=RESOURCE, attribute="price.cents")
    bind(meta_client, dataset, schema, None, host)

    update(meta_client, schema, renamed={"price": "cost"})

    own = column(meta_client, dataset, "cost")
    assert (own.scope, own.attribute) == (RESOURCE, "price.cents")
    host.column = "cost"
    settings = get_settings(meta_client, dataset)
    assert list(settings.binding.attributes) == [host]
    assert bind(meta_client, dataset, schema, None, host) == settings


def test_a_repeated_change_of_names_is_in_effect(meta_client: MetaClient, schema: str) -> None:
    read = catalog_pb2.GetSchemaRequest(id=schema)
    request = catalog_pb2.UpdateSchemaRequest(
        id=schema, expected_version=meta_client.catalog.GetSchema(read).version
    )
    request.rename_columns.add(name="price", new_name="cost")

    first = meta_client.catalog.UpdateSchema(request)

    assert meta_client.catalog.UpdateSchema(request) == first
