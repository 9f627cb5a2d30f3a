"""CatalogService: views, projections, their links and their lists."""

from typing import Any

import pytest

from meta.client import MetaClient
from meta.errors import CursorInvalid, InvalidArgument, NotFound
from meta.v1 import catalog_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import PROJECTION, UNKNOWN, make_projection, make_schema, make_view


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
        pb.UpdateProjectionRequest(id=projection, projection="extend y = 2")
    )

    assert (changed.name, changed.projection) == ("p", "extend y = 2")
    with pytest.raises(InvalidArgument):
        meta_client.catalog.UpdateProjection(
            pb.UpdateProjectionRequest(id=projection, projection="")
        )
    with pytest.raises(NotFound):
        meta_client.catalog.UpdateProjection(pb.UpdateProjectionRequest(id=UNKNOWN))


def test_a_link_needs_all_three_and_names_the_missing_one(
    meta_client: MetaClient, catalog: CatalogDriver
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
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    datasets = [catalog.dataset("d1"), catalog.dataset("d2")]
    views = [make_view(meta_client, "v1"), make_view(meta_client, "v2")]
    projections = [
        make_projection(meta_client, "p1"),
        make_projection(meta_client, "p2", "extend y = 2"),
    ]
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
        ("d1", PROJECTION),
        ("d1", "extend y = 2"),
        ("d2", PROJECTION),
        ("d2", "extend y = 2"),
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


@pytest.mark.long
def test_a_page_of_long_texts_ends_before_it_is_too_large_to_send(
    meta_client: MetaClient,
) -> None:
    for number in range(80):
        make_projection(meta_client, f"p{number:02}", f"extend a = '{'é' * 65_000}'")

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
