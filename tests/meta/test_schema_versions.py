"""Versions of schemas, and the columns of bound datasets at versions."""

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    LayoutChanged,
    NotFound,
    QuotaExceeded,
    SchemaFrozen,
)
from meta.services.catalog import dataset_columns
from meta.store.catalog import former_layouts, schema_versions
from meta.v1 import catalog_pb2
from tests.support.meta.bindings import (
    STRING,
    Column,
    bind,
    columns_at,
    create,
    current_version,
    facts_of,
    names,
    price,
    promote,
    promoted,
    settings_at,
    update,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


@pytest.fixture
def schema(meta_client: MetaClient) -> str:
    return create(meta_client, "order", Column(name="order_id", type=STRING), price("price"))


def test_promoted_columns_are_set_beside_those_of_the_schema(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    settings = bind(meta_client, dataset, schema)
    read = settings.promoted_columns.columns
    assert promote(meta_client, dataset, *read, promoted("mine")) == ["order_id", "price", "mine"]
    assert promote(meta_client, dataset) == ["order_id", "price"]
    with pytest.raises(InvalidArgument, match="Price is a column of the schema"):
        promote(meta_client, dataset, promoted("Price"))


def test_a_dataset_follows_the_newest_version_or_stays_at_one(
    meta_client: MetaClient, catalog: CatalogDriver, dataset: str, schema: str
) -> None:
    fixed = catalog.dataset("fixed")
    bind(meta_client, dataset, schema)
    bind(meta_client, fixed, schema, 1)
    reply = update(meta_client, schema, [price("tax")], ["price"])
    assert reply.number == 2
    assert names(get_settings(meta_client, dataset)) == ["order_id", "tax"]
    assert names(get_settings(meta_client, fixed)) == ["order_id", "price"]
    assert get_settings(meta_client, dataset).binding.version_in_force == 2
    assert names(bind(meta_client, fixed, schema, 2)) == ["order_id", "tax"]
    with pytest.raises(NotFound, match="no version 3"):
        bind(meta_client, fixed, schema, 3)
    first = meta_client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(id=schema, number=1))
    assert [column.name for column in first.columns] == ["order_id", "price"]
    assert (first.number, first.frozen) == (1, False)


def test_a_reader_at_an_old_version_gets_the_columns_of_its_time(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    before = current_version(meta_client)
    bind(meta_client, dataset, schema)
    bound = current_version(meta_client)
    promote(meta_client, dataset, promoted("mine"))
    update(meta_client, schema, [], ["price"])
    # A promoted column is computed from the attributes of any version.
    assert columns_at(meta_client, dataset, before) == ["mine"]
    assert columns_at(meta_client, dataset, bound) == ["order_id", "price", "mine"]
    assert columns_at(meta_client, dataset, bound + 1) == ["order_id", "price", "mine"]
    assert columns_at(meta_client, dataset, current_version(meta_client)) == ["order_id", "mine"]


def test_a_column_that_was_computed_before_it_was_bound_is_computed_at_that_version(
    meta_client: MetaClient, dataset: str
) -> None:
    """Else values that a reader saw at a version become null there later."""
    promote(meta_client, dataset, promoted("price"))
    computed = current_version(meta_client)
    promote(meta_client, dataset)
    schema = create(meta_client, "priced", Column(name="price", type=promoted("price").type))
    bind(meta_client, dataset, schema)

    columns = [
        settings_at(meta_client, dataset, at).promoted_columns.columns
        for at in (computed, current_version(meta_client))
    ]

    assert [[(c.name, c.bound) for c in each] for each in columns] == [
        [("price", False)],
        [("price", True)],
    ]


def test_a_frozen_schema_takes_revisions_only(meta_client: MetaClient, schema: str) -> None:
    update(meta_client, schema, freeze=True)
    # Again, as after an answer that was lost.
    update(meta_client, schema, freeze=True)
    with pytest.raises(SchemaFrozen):
        update(meta_client, schema, [price("tax")])
    reply = update(meta_client, schema, [price("tax")], is_revision=True)
    assert reply.number == 2
    stored = meta_client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(id=schema))
    assert (stored.number, stored.frozen) == (2, True)


@pytest.mark.long
def test_a_schema_is_followed_by_a_bounded_number_of_datasets(
    meta_client: MetaClient, catalog: CatalogDriver, schema: str
) -> None:
    followers = [catalog.dataset(f"d{n}") for n in range(dataset_columns.FOLLOWERS_MAX + 1)]
    for follower in followers[:-1]:
        bind(meta_client, follower, schema)
    with pytest.raises(QuotaExceeded, match="bind this one to a version"):
        bind(meta_client, followers[-1], schema)
    bind(meta_client, followers[0], schema)
    bind(meta_client, followers[-1], schema, 1)
    update(meta_client, schema, [price("tax")])
    for follower in (followers[0], followers[-2]):
        assert names(get_settings(meta_client, follower)) == ["order_id", "price", "tax"]


def test_a_schema_has_a_bounded_number_of_versions(
    meta_server: MetaServer, meta_client: MetaClient, schema: str
) -> None:
    with meta_server.running.database.write() as tx:
        most = schema_versions.VERSIONS_MAX
        tx.execute(text("UPDATE schemas SET version = :version"), {"version": most - 1})
    assert update(meta_client, schema, [price("tax")]).number == most
    with pytest.raises(QuotaExceeded, match="1000 versions"):
        update(meta_client, schema, [price("more")])


def test_former_layouts_are_kept_in_a_bounded_number(
    meta_client: MetaClient, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former_layouts, "LAYOUTS_MAX", 2)
    versions = []
    for n in range(5):
        promote(meta_client, dataset, promoted(f"c{n}"))
        versions.append(current_version(meta_client))
    kept = [columns_at(meta_client, dataset, version) for version in versions]
    # The first layouts are gone: their versions show the columns of the oldest that is kept.
    assert kept == [["c2", "c4"], ["c2", "c4"], ["c2", "c4"], ["c3", "c4"], ["c4"]]


def test_segments_that_lack_a_bound_column_are_not_registered(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
    schema: str,
) -> None:
    stream = collector.register(catalog.token(dataset)).stream_id
    collector.commit(stream, 0, dataset)
    span = (stream, -1, 0)
    old = facts_of(nursery.segment(dataset), [])
    columns = bind(meta_client, dataset, schema).promoted_columns.columns
    with pytest.raises(LayoutChanged, match="lacks 2 columns"):
        nursery.register(dataset, span, segment=old)
    assert nursery.merged_offset(stream, dataset) == -1
    new = facts_of(nursery.segment(dataset), [column.field_id for column in columns])
    nursery.register(dataset, span, segment=new)
    # A registration of before stays one that is known.
    update(meta_client, schema, [price("tax")])
    nursery.register(dataset, span, segment=new)
    assert nursery.merged_offset(stream, dataset) == 0


def test_a_merge_of_an_older_layout_is_done_again(
    meta_client: MetaClient, writer: Writer, worker: WorkerDriver, dataset: str, schema: str
) -> None:
    writer.save_many(dataset, 10)
    worker.plan()
    task = worker.poll()
    columns = bind(meta_client, dataset, schema).promoted_columns.columns
    reply = worker.complete(task.task_id, facts_of(worker.output(task), []))
    assert reply.error.reason == "LAYOUT_CHANGED"
    output = facts_of(worker.output(task), [column.field_id for column in columns])
    assert not worker.complete(task.task_id, output).HasField("error")


def test_columns_are_put_in_another_order(meta_client: MetaClient, schema: str) -> None:
    reply = update(meta_client, schema, [price("tax")], order=["tax", "order_id", "price"])
    assert [column.name for column in reply.columns] == ["tax", "order_id", "price"]
    assert reply.number == 2
    for order in (["tax", "order_id"], ["tax", "order_id", "price", "cost"], ["tax", "tax"]):
        with pytest.raises(InvalidArgument):
            update(meta_client, schema, order=order)
    reply = update(meta_client, schema, [price("more")], ["tax"])
    assert [column.name for column in reply.columns] == ["order_id", "price", "more"]
