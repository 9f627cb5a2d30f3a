"""Segments, sorting, views and locks of a column that gets another name."""

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import (
    LayoutChanged,
    Locked,
    StillReferenced,
    UpgradeUnfinished,
)
from meta.services.catalog import link_types
from meta.v1 import catalog_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import PromotedColumn
from tests.meta.test_projection_types import link
from tests.support.events_once import identify
from tests.support.meta.bindings import (
    STRING,
    Column,
    bind,
    create,
    facts_of,
    names,
    price,
    update,
)
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import get_settings
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.schemas import make_projection, make_view
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("orders")


@pytest.fixture
def schema(meta_client: MetaClient) -> str:
    return create(meta_client, "order", Column(name="order_id", type=STRING), price("price"))


def column(client: MetaClient, dataset: str, name: str) -> PromotedColumn:
    (own,) = [c for c in get_settings(client, dataset).promoted_columns.columns if c.name == name]
    return own


def test_segments_by_the_former_name_are_refused_and_layouts_have_the_name_of_the_file(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
    schema: str,
) -> None:
    stream = collector.register(catalog.token(dataset)).stream_id
    for offset in range(2):
        collector.commit(stream, offset, dataset)
    columns = bind(meta_client, dataset, schema).promoted_columns.columns
    old_ids = [own.field_id for own in columns]
    nursery.register(dataset, (stream, -1, 0), segment=facts_of(nursery.segment(dataset), old_ids))
    update(meta_client, schema, renamed={"price": "cost"})

    old = facts_of(nursery.segment(dataset), old_ids)
    with pytest.raises(LayoutChanged, match="lacks 1 columns"):
        nursery.register(dataset, (stream, 0, 1), segment=old)
    (info,) = [d for d in nursery.poll().datasets if d.id == dataset]
    ids = [c.name_id or c.field_id for c in info.promoted_columns]
    nursery.register(dataset, (stream, 0, 1), segment=facts_of(nursery.segment(dataset), ids))

    request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=["orders"])
    page = meta_client.segment_lookup.FindSegments(request)
    layouts = [page.layouts[segment.layout].promoted_columns for segment in page.segments]
    shown = sorted([(c.name, c.field_id) for c in layout] for layout in layouts)
    first, second = old_ids
    assert shown == [
        [("order_id", first), ("cost", second)],
        [("order_id", first), ("price", second)],
    ]


def test_sharding_fields_follow(meta_client: MetaClient, dataset: str, schema: str) -> None:
    bind(meta_client, dataset, schema)
    fields = [
        catalog_pb2.SetShardingFieldsRequest().fields.add(field_name=name, weight=weight)
        for name, weight in (("price", 2.0), ("service_name", 1.0))
    ]
    request = catalog_pb2.SetShardingFieldsRequest(id=dataset, fields=fields)
    meta_client.catalog.SetShardingFields(request)

    update(meta_client, schema, renamed={"price": "cost"})

    read = catalog_pb2.GetShardingFieldsRequest(id=dataset)
    stored = meta_client.catalog.GetShardingFields(read).fields
    assert [(f.field_name, f.weight) for f in stored] == [("cost", 2.0), ("service_name", 1.0)]


def test_the_column_of_deduplication_keys_keeps_its_name(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    identify(meta_client, dataset, "order_id", 3)

    with pytest.raises(StillReferenced, match="order_id is the deduplication key"):
        update(meta_client, schema, renamed={"order_id": "id_of_order"})


@pytest.mark.parametrize(
    ("projection", "refusal"),
    [
        ("project doubled = price * 2", "views read promoted columns"),
        ("where price > 2", "views read promoted columns"),
        ("project order_id, price", "views read promoted columns"),
        ("project-away price", "views read promoted columns"),
        ("where order_id == 'a'", ""),
        ("project order_id", ""),
    ],
)
def test_a_view_that_names_the_column_refuses_and_one_that_passes_it_on_follows(
    meta_client: MetaClient, dataset: str, schema: str, projection: str, refusal: str
) -> None:
    bind(meta_client, dataset, schema)
    view = make_view(meta_client)
    made = make_projection(meta_client, text=projection)
    assert link(meta_client, dataset, view, made)
    if not refusal:
        update(meta_client, schema, renamed={"price": "cost"})
        assert names(get_settings(meta_client, dataset)) == ["order_id", "cost"]
        return
    with pytest.raises(StillReferenced, match=refusal):
        update(meta_client, schema, renamed={"price": "cost"})
    assert names(get_settings(meta_client, dataset)) == ["order_id", "price"]


def test_a_view_with_the_schema_follows_and_one_with_another_refuses(
    meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    view = make_view(meta_client)
    made = make_projection(meta_client, text="where order_id == 'a'")
    assert link(meta_client, dataset, view, made)
    meta_client.catalog.UpdateView(catalog_pb2.UpdateViewRequest(id=view, schema_id=schema))

    update(meta_client, schema, renamed={"price": "cost"})

    other = create(meta_client, "promised", price("cost"))
    meta_client.catalog.UpdateView(catalog_pb2.UpdateViewRequest(id=view, schema_id=other))
    with pytest.raises(StillReferenced, match="views read promoted columns"):
        update(meta_client, schema, renamed={"cost": "total"})
    # The view's own schema promises the new name, which no link yields.
    with pytest.raises(StillReferenced, match="links do not yield columns"):
        update(meta_client, other, renamed={"cost": "total"})


def test_links_that_are_checked_again_are_bounded(
    meta_client: MetaClient,
    dataset: str,
    schema: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_types, "LINKS_MAX", 2)
    bind(meta_client, dataset, schema)
    view = make_view(meta_client)
    for number in range(2):
        made = make_projection(meta_client, name=f"p{number}", text="where order_id == 'a'")
        link(meta_client, dataset, view, made)
    update(meta_client, schema, renamed={"price": "cost"})
    made = make_projection(meta_client, name="p2", text="where order_id == 'a'")
    link(meta_client, dataset, view, made)

    with pytest.raises(StillReferenced, match="more than 2 links"):
        update(meta_client, schema, renamed={"cost": "total"})


@pytest.mark.parametrize("noun", ["dataset", "schema"])
def test_a_lock_refuses_another_name(
    meta_client: MetaClient, dataset: str, schema: str, noun: str
) -> None:
    bind(meta_client, dataset, schema)
    LockDriver(meta_client).lock(noun, {"dataset": dataset, "schema": schema}[noun])

    with pytest.raises(Locked):
        update(meta_client, schema, renamed={"price": "cost"})


def test_no_column_is_renamed_until_the_upgrade_is_finished(
    meta_server: MetaServer, meta_client: MetaClient, dataset: str, schema: str
) -> None:
    bind(meta_client, dataset, schema)
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET least_release = '0.3.0'"))

    with pytest.raises(UpgradeUnfinished, match="a new name of a column"):
        update(meta_client, schema, renamed={"price": "cost"})

    assert names(get_settings(meta_client, dataset)) == ["order_id", "price"]
