"""Datasets that are bound to a schema: their columns, and what is refused."""

import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    StillReferenced,
)
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.bindings import (
    LONG,
    RECORD,
    RESOURCE,
    STRING,
    Column,
    bind,
    create,
    names,
    price,
    promote,
    promoted,
    unbind,
    update,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, get_settings
from tests.support.meta.nursery import NurseryDriver


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


@pytest.fixture
def schema(meta_client: MetaClient) -> str:
    return create(meta_client, "order", Column(name="order_id", type=STRING), price("price"))


def test_every_column_of_a_schema_becomes_a_typed_column(
    meta_client: MetaClient, dataset: str, schema: str, nursery: NurseryDriver
) -> None:
    promote(meta_client, dataset, promoted("mine"))
    settings = bind(
        meta_client,
        dataset,
        schema,
        None,
        pb.BoundAttribute(column="price", scope=RESOURCE, attribute="price.cents"),
    )
    columns = settings.promoted_columns.columns
    assert [(c.name, c.type, c.scope, c.attribute, c.bound) for c in columns] == [
        ("order_id", STRING, RECORD, "order_id", True),
        ("price", LONG, RESOURCE, "price.cents", True),
        ("mine", LONG, RECORD, "mine", False),
    ]
    assert settings.binding.schema_id == schema
    assert settings.binding.version_in_force == 1
    (info,) = [d for d in nursery.poll().datasets if d.id == dataset]
    assert info.promoted_columns == columns
    # A second time changes nothing.
    assert bind(meta_client, dataset, schema, None, *settings.binding.attributes) == settings
    assert names(unbind(meta_client, dataset)) == ["mine"]
    assert not get_settings(meta_client, dataset).HasField("binding")


def test_an_end_of_a_binding_ends_no_other(
    meta_client: MetaClient, catalog: CatalogDriver, schema: str
) -> None:
    datasets = [catalog.dataset(name) for name in ("first", "second", "third")]
    for each in datasets:
        bind(meta_client, each, schema)

    unbind(meta_client, datasets[1])

    are_bound = [get_settings(meta_client, each).HasField("binding") for each in datasets]
    assert are_bound == [True, False, True]


@pytest.mark.parametrize("name", ["Timestamp", "severity", "start_timestamp_nanos", "body"])
def test_a_reserved_name_is_refused(meta_client: MetaClient, dataset: str, name: str) -> None:
    schema = create(meta_client, "reserved", price(name))
    with pytest.raises(InvalidArgument, match=name):
        bind(meta_client, dataset, schema)
    assert not get_settings(meta_client, dataset).HasField("binding")


def test_names_that_differ_in_case_alone_are_refused(meta_client: MetaClient, dataset: str) -> None:
    schema = create(meta_client, "case", price("a"), price("A"))
    with pytest.raises(InvalidArgument, match="A is the name of another column too"):
        bind(meta_client, dataset, schema)


def test_a_promoted_column_of_another_kind_is_in_the_way(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    promote(meta_client, dataset, promoted("price", STRING))
    with pytest.raises(InvalidArgument, match="price is the name of a promoted column too"):
        bind(meta_client, dataset, schema)
    # Segments may have the former column: readers by name would mix the two.
    promote(meta_client, dataset)
    with pytest.raises(InvalidArgument, match="price was a column of type string"):
        bind(meta_client, dataset, schema)


def test_a_promoted_column_with_the_same_definition_becomes_the_schemas(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    promote(meta_client, dataset, promoted("price"))
    field_id = get_settings(meta_client, dataset).promoted_columns.columns[0].field_id
    columns = bind(meta_client, dataset, schema).promoted_columns.columns
    assert [(c.name, c.bound) for c in columns] == [("order_id", True), ("price", True)]
    assert columns[1].field_id == field_id


def test_a_column_does_not_change_its_type_in_two_calls(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    update(meta_client, schema, [], ["price"])
    with pytest.raises(InvalidArgument, match="price was a column of type long"):
        update(meta_client, schema, [Column(name="price", type=STRING)])
    assert names(get_settings(meta_client, dataset)) == ["order_id"]
    update(meta_client, schema, [price("price")])
    assert names(get_settings(meta_client, dataset)) == ["order_id", "price"]


def test_a_schema_that_a_dataset_has_is_not_deleted(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    request = catalog_pb2.DeleteSchemaRequest(id=schema)
    with pytest.raises(StillReferenced, match="datasets") as caught:
        meta_client.catalog.DeleteSchema(request)
    assert "dataset orders" in caught.value.metadata["blockers"]
    # A deleted dataset may be brought back with its schema.
    delete(meta_client, dataset)
    with pytest.raises(StillReferenced):
        meta_client.catalog.DeleteSchema(request)


def test_a_column_that_a_view_reads_stays(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    view = meta_client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="v")).id
    projection = meta_client.catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(name="p", projection="project doubled = price * 2")
    ).id
    meta_client.catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(
            view_id=view, dataset_id=dataset, projection_id=projection
        )
    )
    with pytest.raises(StillReferenced, match="views read"):
        update(meta_client, schema, [], ["price"])
    with pytest.raises(StillReferenced, match="views read"):
        unbind(meta_client, dataset)
    update(meta_client, schema, [], ["order_id"])


def test_an_attribute_of_no_column_is_refused(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    unknown = pb.BoundAttribute(column="cost", scope=RECORD, attribute="cost")
    with pytest.raises(InvalidArgument, match="no column cost"):
        bind(meta_client, dataset, schema, None, unknown)


def test_a_thousand_columns_can_be_bound(
    meta_client: MetaClient, dataset: str, nursery: NurseryDriver
) -> None:
    schema = create(meta_client, "wide", *(price(f"c{n}") for n in range(1_000)))
    attributes = [
        pb.BoundAttribute(column=f"c{n}", scope=RECORD, attribute=f"a{n}") for n in range(1_001)
    ]
    with pytest.raises(InvalidArgument, match="1001 items, more than 1000"):
        bind(meta_client, dataset, schema, None, *attributes)
    assert len(names(bind(meta_client, dataset, schema, None, *attributes[:1_000]))) == 1_000
    (info,) = [d for d in nursery.poll().datasets if d.id == dataset]
    assert len(info.promoted_columns) == 1_000
