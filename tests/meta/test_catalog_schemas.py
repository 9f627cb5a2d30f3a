"""Schemas, views, projections, links and data sources over the real server."""

from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import CursorInvalid, InvalidArgument, NameTaken, NotFound, StillReferenced
from meta.v1 import catalog_pb2 as pb
from meta.v1.common_pb2 import KQL_TYPE_BOOL, KQL_TYPE_LONG, KQL_TYPE_STRING, Column
from tests.support.meta.catalog import Catalog

UNKNOWN = "0190b5a0-0000-7000-8000-000000000000"
A = Column(name="a", type=KQL_TYPE_LONG)
B = Column(name="b", type=KQL_TYPE_STRING)
C = Column(name="c")


def make_schema(client: MetaClient, name: str = "s", *columns: Column) -> str:
    request = pb.CreateSchemaRequest(name=name, columns=columns or (A, B))
    return client.catalog.CreateSchema(request).id


def make_view(client: MetaClient, name: str = "v", **fields: str) -> str:
    return client.catalog.CreateView(pb.CreateViewRequest(name=name, **fields)).id


def make_projection(client: MetaClient, name: str = "p", text: str = "where x", **f: str) -> str:
    request = pb.CreateProjectionRequest(name=name, projection=text, **f)
    return client.catalog.CreateProjection(request).id


def columns_of(client: MetaClient, schema: str) -> list[tuple[str, int]]:
    found = client.catalog.GetSchema(pb.GetSchemaRequest(id=schema))
    return [(column.name, column.type) for column in found.columns]


def test_a_schema_keeps_its_columns_in_order_and_an_omitted_type_is_bool(
    meta_client: MetaClient,
) -> None:
    schema = make_schema(meta_client, "s", B, A, C)

    assert columns_of(meta_client, schema) == [
        ("b", KQL_TYPE_STRING),
        ("a", KQL_TYPE_LONG),
        ("c", KQL_TYPE_BOOL),
    ]


def test_creating_again_is_the_same_thing_with_equal_content_and_refused_with_other(
    meta_client: MetaClient,
) -> None:
    schema = make_schema(meta_client)
    view = make_view(meta_client, description="d", schema_id=schema)
    projection = make_projection(meta_client, schema_id=schema)

    assert make_schema(meta_client) == schema
    assert make_view(meta_client, description="d", schema_id=schema) == view
    assert make_projection(meta_client, schema_id=schema) == projection
    with pytest.raises(NameTaken):
        make_schema(meta_client, "s", B, A)
    with pytest.raises(NameTaken):
        make_view(meta_client, description="other", schema_id=schema)
    with pytest.raises(NameTaken):
        make_projection(meta_client, text="where y", schema_id=schema)


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ([], "columns"),
        ([A, A], "columns"),
        ([Column(name="")], "columns[0].name"),
        ([A, Column(name="x", type=99)], "columns[1].type"),  # type: ignore[arg-type]
    ],
    ids=["none", "twice", "no name", "no type"],
)
def test_bad_columns_are_refused_by_field(
    meta_client: MetaClient, columns: list[Column], field: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        meta_client.catalog.CreateSchema(pb.CreateSchemaRequest(name="s", columns=columns))

    assert refused.value.field == field


def test_updating_a_schema_adds_removes_and_renames_at_once(meta_client: MetaClient) -> None:
    schema = make_schema(meta_client, "s", A, B)

    changed = meta_client.catalog.UpdateSchema(
        pb.UpdateSchemaRequest(name="s", new_name="t", add_columns=[C], remove_columns=["a"])
    )

    assert (changed.id, changed.name) == (schema, "t")
    assert columns_of(meta_client, schema) == [("b", KQL_TYPE_STRING), ("c", KQL_TYPE_BOOL)]


@pytest.mark.parametrize(
    "change",
    [
        pb.UpdateSchemaRequest(name="s", add_columns=[C], remove_columns=["c"]),
        pb.UpdateSchemaRequest(name="s", add_columns=[C, C]),
        pb.UpdateSchemaRequest(name="s", add_columns=[C, A]),
        pb.UpdateSchemaRequest(name="s", add_columns=[C], remove_columns=["z"]),
        pb.UpdateSchemaRequest(name="s", remove_columns=["a", "b"]),
        pb.UpdateSchemaRequest(name="s", remove_columns=["a", "a"]),
        pb.UpdateSchemaRequest(name="s", new_name="", add_columns=[C]),
    ],
    ids=["both", "add twice", "add existing", "remove missing", "none left", "twice", "no name"],
)
def test_a_schema_change_that_does_not_fit_changes_nothing(
    meta_client: MetaClient, change: pb.UpdateSchemaRequest
) -> None:
    schema = make_schema(meta_client, "s", A, B)

    with pytest.raises(InvalidArgument):
        meta_client.catalog.UpdateSchema(change)

    assert columns_of(meta_client, schema) == [("a", KQL_TYPE_LONG), ("b", KQL_TYPE_STRING)]


def test_renaming_to_a_taken_name_is_refused_and_changes_nothing(meta_client: MetaClient) -> None:
    schema = make_schema(meta_client, "s")
    make_schema(meta_client, "t")

    with pytest.raises(NameTaken):
        meta_client.catalog.UpdateSchema(
            pb.UpdateSchemaRequest(id=schema, new_name="t", add_columns=[C])
        )

    assert len(columns_of(meta_client, schema)) == 2


def test_a_schema_in_use_is_not_deleted_and_names_its_users(meta_client: MetaClient) -> None:
    schema = make_schema(meta_client)
    view = make_view(meta_client, schema_id=schema)
    projection = make_projection(meta_client, schema_id=schema)

    with pytest.raises(StillReferenced) as refused:
        meta_client.catalog.DeleteSchema(pb.DeleteSchemaRequest(id=schema))
    assert refused.value.metadata["blockers"] == "projection p, view v"

    meta_client.catalog.DeleteProjection(pb.DeleteProjectionRequest(id=projection))
    meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=""))
    assert meta_client.catalog.DeleteSchema(pb.DeleteSchemaRequest(id=schema)).success
    assert not meta_client.catalog.DeleteSchema(pb.DeleteSchemaRequest(id=schema)).success
    assert not meta_client.catalog.DeleteSchema(pb.DeleteSchemaRequest(name="s")).success


def test_what_refers_to_an_unknown_schema_is_not_created(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        make_view(meta_client, schema_id=UNKNOWN)
    with pytest.raises(NotFound):
        make_projection(meta_client, schema_id=UNKNOWN)
    with pytest.raises(InvalidArgument):
        make_view(meta_client, schema_id="x")
    with pytest.raises(InvalidArgument):
        make_projection(meta_client, text="")


def test_an_absent_part_of_a_view_stays_and_an_empty_one_is_cleared(
    meta_client: MetaClient,
) -> None:
    schema = make_schema(meta_client)
    view = make_view(meta_client, description="two\nlines", schema_id=schema)

    renamed = meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, new_name="w"))
    cleared = meta_client.catalog.UpdateView(pb.UpdateViewRequest(name="w", description=""))

    assert (renamed.name, renamed.description, renamed.schema_id) == ("w", "two\nlines", schema)
    assert not cleared.HasField("description")
    assert cleared.schema_id == schema
    assert cleared.created_at == renamed.created_at
    assert cleared.created_at.endswith("Z")
    with pytest.raises(InvalidArgument):
        meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, new_name=""))
    with pytest.raises(NotFound):
        meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=UNKNOWN))
    with pytest.raises(NotFound):
        meta_client.catalog.UpdateView(pb.UpdateViewRequest(name="v", new_name="z"))


def test_a_projections_expression_can_change_but_not_be_cleared(meta_client: MetaClient) -> None:
    projection = make_projection(meta_client)

    changed = meta_client.catalog.UpdateProjection(
        pb.UpdateProjectionRequest(id=projection, projection="where y")
    )

    assert (changed.name, changed.projection) == ("p", "where y")
    with pytest.raises(InvalidArgument):
        meta_client.catalog.UpdateProjection(
            pb.UpdateProjectionRequest(id=projection, projection="")
        )
    with pytest.raises(NotFound):
        meta_client.catalog.UpdateProjection(pb.UpdateProjectionRequest(id=UNKNOWN))


def test_getting_what_is_not_there_is_not_found(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        meta_client.catalog.GetSchema(pb.GetSchemaRequest(id=UNKNOWN))
    with pytest.raises(NotFound):
        meta_client.catalog.GetView(pb.GetViewRequest(name="v"))
    with pytest.raises(NotFound):
        meta_client.catalog.GetProjection(pb.GetProjectionRequest(name="p"))
    with pytest.raises(InvalidArgument):
        meta_client.catalog.GetView(pb.GetViewRequest())


def test_a_link_needs_all_three_and_names_the_missing_one(
    meta_client: MetaClient, catalog: Catalog
) -> None:
    ends = {
        "dataset_id": catalog.dataset("web"),
        "view_id": make_view(meta_client),
        "projection_id": make_projection(meta_client),
    }

    for missing in ends:
        with pytest.raises(NotFound) as refused:
            meta_client.catalog.LinkViewDatasetProjection(
                pb.LinkViewDatasetProjectionRequest(**{**ends, missing: UNKNOWN})
            )
        assert refused.value.metadata == {missing: UNKNOWN}

    request = pb.LinkViewDatasetProjectionRequest(**ends)
    assert meta_client.catalog.LinkViewDatasetProjection(request).success
    assert not meta_client.catalog.LinkViewDatasetProjection(request).success
    undo = pb.UnlinkViewDatasetProjectionRequest(**ends)
    assert meta_client.catalog.UnlinkViewDatasetProjection(undo).success
    assert not meta_client.catalog.UnlinkViewDatasetProjection(undo).success


def links(client: MetaClient, **filters: Any) -> list[tuple[str, str, str]]:
    request = pb.ListViewDatasetProjectionsRequest(**filters)
    reply = client.catalog.ListViewDatasetProjections(request)
    assert reply.pagination.total == len(reply.items)
    return [(one.dataset_id, one.view_id, one.projection_id) for one in reply.items]


def test_links_are_listed_by_any_filters_and_go_with_view_or_projection(
    meta_client: MetaClient, catalog: Catalog
) -> None:
    datasets = [catalog.dataset("d1"), catalog.dataset("d2")]
    views = [make_view(meta_client, "v1"), make_view(meta_client, "v2")]
    projections = [make_projection(meta_client, "p1"), make_projection(meta_client, "p2", "y")]
    every = [(d, v, p) for d in datasets for v in views for p in projections]
    for dataset, view, projection in every:
        meta_client.catalog.LinkViewDatasetProjection(
            pb.LinkViewDatasetProjectionRequest(
                dataset_id=dataset, view_id=view, projection_id=projection
            )
        )

    assert links(meta_client) == every
    assert links(meta_client, dataset_id=datasets[0]) == every[:4]
    assert links(meta_client, view_id=views[1], projection_id=projections[0]) == [
        one for one in every if one[1:] == (views[1], projections[0])
    ]
    assert links(meta_client, view_id=UNKNOWN) == []
    sources = meta_client.catalog.ListDatasources(pb.ListDatasourcesRequest(limit=1))
    assert sources.total == 2
    assert sources.items[0].name == "v1"
    assert [(p.dataset_name, p.expression) for p in sources.items[0].view_details.projections] == [
        ("d1", "where x"),
        ("d1", "y"),
        ("d2", "where x"),
        ("d2", "y"),
    ]
    rest = meta_client.catalog.ListDatasources(pb.ListDatasourcesRequest(after=sources.next_cursor))
    assert [item.name for item in rest.items] == ["v2"]
    assert not rest.HasField("next_cursor")
    meta_client.catalog.DeleteView(pb.DeleteViewRequest(name="v1"))
    meta_client.catalog.DeleteProjection(pb.DeleteProjectionRequest(name="p2"))
    assert links(meta_client) == [(d, views[1], projections[0]) for d in datasets]


def test_lists_filter_by_schema_and_bind_their_cursors_to_it(meta_client: MetaClient) -> None:
    schema, other = make_schema(meta_client, "s"), make_schema(meta_client, "t")
    for number in range(3):
        make_view(meta_client, f"v{number}", schema_id=schema)
        make_projection(meta_client, f"p{number}", schema_id=schema)
    make_view(meta_client, "w", schema_id=other)
    one = pb.PaginationRequest(limit=1)

    views = meta_client.catalog.ListViews(pb.ListViewsRequest(pagination=one, schema_id=schema))
    projections = meta_client.catalog.ListProjections(
        pb.ListProjectionsRequest(pagination=one, schema_id=schema)
    )

    assert (views.pagination.total, projections.pagination.total) == (3, 3)
    after = pb.PaginationRequest(after=views.pagination.next_cursor)
    rest = meta_client.catalog.ListViews(pb.ListViewsRequest(pagination=after, schema_id=schema))
    assert [view.name for view in rest.items] == ["v1", "v2"]
    with pytest.raises(CursorInvalid):
        meta_client.catalog.ListViews(pb.ListViewsRequest(pagination=after, schema_id=other))
    with pytest.raises(CursorInvalid):
        meta_client.catalog.ListViews(pb.ListViewsRequest(pagination=after))
    with pytest.raises(CursorInvalid):
        meta_client.catalog.ListProjections(
            pb.ListProjectionsRequest(pagination=after, schema_id=schema)
        )
    assert len(meta_client.catalog.ListSchemas(pb.ListSchemasRequest()).items) == 2


def test_a_page_of_long_texts_ends_before_it_is_too_large_to_send(
    meta_client: MetaClient,
) -> None:
    for number in range(80):
        make_projection(meta_client, f"p{number:02}", "é" * 65_000)

    seen: list[str] = []
    after = ""
    pages = 0
    while True:
        reply = meta_client.catalog.ListProjections(
            pb.ListProjectionsRequest(pagination=pb.PaginationRequest(limit=1_000, after=after))
        )
        assert reply.ByteSize() < 4 * 1024 * 1024
        assert reply.pagination.total == 80
        seen += [one.name for one in reply.items]
        pages += 1
        if not reply.pagination.next_cursor:
            break
        after = reply.pagination.next_cursor

    assert seen == [f"p{number:02}" for number in range(80)]
    assert pages == 3
    before = pb.PaginationRequest(limit=1_000, before=after)
    back = meta_client.catalog.ListProjections(pb.ListProjectionsRequest(pagination=before))
    # Cut at the far end: the page is the one that touches the cursor.
    assert back.items[-1].name < seen[-1]
    assert back.pagination.next_cursor
