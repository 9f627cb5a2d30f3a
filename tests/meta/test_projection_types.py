"""Projections are checked when they are made, and over their dataset when they are linked."""

from collections.abc import Callable

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, StillReferenced
from meta.store.engine.pool import Database, DatabaseSettings
from meta.v1 import catalog_pb2 as pb
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1.common_pb2 import KQL_TYPE_LONG, KQL_TYPE_REAL, KQL_TYPE_STRING, Column
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view

STATUS = "http.response.status_code"


def promote(client: MetaClient, dataset: str, **columns: int) -> None:
    """Replace a dataset's promoted columns, all over attributes of records."""
    settings = ops.DatasetSettings(
        promoted_columns=ops.PromotedColumns(
            columns=[
                common_pb2.PromotedColumn(
                    name=name,
                    type=common_pb2.KqlType.ValueType(type_),
                    scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
                    attribute=STATUS,
                )
                for name, type_ in columns.items()
            ]
        )
    )
    client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
    )


def link(client: MetaClient, dataset: str, view: str, projection: str) -> bool:
    """Link the three, and tell whether that made a link."""
    request = pb.LinkViewDatasetProjectionRequest(
        dataset_id=dataset, view_id=view, projection_id=projection
    )
    return client.catalog.LinkViewDatasetProjection(request).success


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("THIS IS )( NOT KQL !!", "1:20: no token begins with '!'; write names"),
        ("where body == 5", "1:12: string == long is not defined; convert one"),
        ("summarize count()", "1:1: a projection has no summarize: it maps row by row; use where"),
        ("where timestamp > ago(1h)", "1:19: a projection's rows do not depend on ago(); write"),
        ("project a = body", "1:17: column 'a' is string, the schema says long; convert it"),
        ("where\n  (body == ''", "2:3: a bracket is not closed; add ')'"),
    ],
)
def test_what_is_wrong_with_a_projection_is_said_when_it_is_made(
    meta_client: MetaClient, text: str, message: str
) -> None:
    schema = make_schema(meta_client, "s", Column(name="a", type=KQL_TYPE_LONG))
    sound = make_projection(meta_client, "sound", "extend a = 1", schema_id=schema)

    with pytest.raises(InvalidArgument) as refused:
        make_projection(meta_client, text=text, schema_id=schema)
    request = pb.UpdateProjectionRequest(id=sound, projection=text)
    with pytest.raises(InvalidArgument) as refused_change:
        meta_client.catalog.UpdateProjection(request)

    assert refused.value.message.startswith(message)
    assert refused_change.value.message.startswith(message)
    assert refused.value.field == "projection"
    kept = meta_client.catalog.GetProjection(pb.GetProjectionRequest(id=sound))
    assert kept.projection == "extend a = 1"


def test_a_link_is_typed_over_the_datasets_promoted_columns(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset, view = catalog.dataset("web"), make_view(meta_client)
    projection = make_projection(meta_client, text="where status >= 500")

    with pytest.raises(InvalidArgument, match="1:7: there is no column 'status'"):
        link(meta_client, dataset, view, projection)
    promote(meta_client, dataset, status=KQL_TYPE_STRING)
    with pytest.raises(InvalidArgument, match="1:14: string >= long is not defined"):
        link(meta_client, dataset, view, projection)
    promote(meta_client, dataset, status=KQL_TYPE_LONG)

    assert link(meta_client, dataset, view, projection)
    assert not link(meta_client, dataset, view, projection)
    listed = meta_client.catalog.ListViewDatasetProjections(
        pb.ListViewDatasetProjectionsRequest(view_id=view)
    )
    assert [item.is_typed for item in listed.items] == [True]


def test_a_link_yields_the_views_schema(meta_client: MetaClient, catalog: CatalogDriver) -> None:
    schema = make_schema(meta_client, "s", Column(name="code", type=KQL_TYPE_REAL))
    dataset, view = catalog.dataset("web"), make_view(meta_client, schema_id=schema)
    lacking = make_projection(meta_client, "lacking", "project body")
    narrower = make_projection(
        meta_client, "narrower", f"project code = toint(attributes['{STATUS}'])"
    )

    with pytest.raises(InvalidArgument, match=r"the schema has 'code' \(real\); add it"):
        link(meta_client, dataset, view, lacking)

    assert link(meta_client, dataset, view, narrower)


def test_promoted_columns_that_links_read_stay_as_they_are(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset, view = catalog.dataset("web"), make_view(meta_client)
    promote(meta_client, dataset, status=KQL_TYPE_LONG, other=KQL_TYPE_LONG)
    link(meta_client, dataset, view, make_projection(meta_client, text="where status > 499"))

    for columns in ({}, {"status": KQL_TYPE_STRING}, {"other": KQL_TYPE_LONG}):
        with pytest.raises(StillReferenced) as refused:
            promote(meta_client, dataset, **columns)
        assert refused.value.metadata["blockers"] == "view v (projection p) reads status"

    # Nothing reads the other one: it only passes through.
    promote(meta_client, dataset, status=KQL_TYPE_LONG)
    meta_client.catalog.DeleteView(pb.DeleteViewRequest(id=view))
    promote(meta_client, dataset)


def test_a_column_that_passes_through_is_kept_for_a_schema_that_has_it(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    dataset, view = catalog.dataset("web"), make_view(meta_client)
    promote(meta_client, dataset, status=KQL_TYPE_LONG)
    link(meta_client, dataset, view, make_projection(meta_client, text="where body != ''"))
    schema = make_schema(meta_client, "s", Column(name="status", type=KQL_TYPE_LONG))
    meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=schema))

    with pytest.raises(StillReferenced, match="promoted columns that would go or change"):
        promote(meta_client, dataset)
    meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=""))

    promote(meta_client, dataset)


def test_a_schema_that_links_do_not_yield_is_refused_with_their_names(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    schema = make_schema(meta_client, "s", Column(name="body", type=KQL_TYPE_STRING))
    wider = make_schema(meta_client, "t", Column(name="code", type=KQL_TYPE_LONG))
    dataset, view = catalog.dataset("web"), make_view(meta_client, schema_id=schema)
    projection = make_projection(meta_client, text="project body, code = 1.5, n = 1")
    link(meta_client, dataset, view, projection)

    refusals: list[Callable[[], object]] = [
        lambda: meta_client.catalog.UpdateView(pb.UpdateViewRequest(id=view, schema_id=wider)),
        lambda: meta_client.catalog.UpdateProjection(
            pb.UpdateProjectionRequest(id=projection, schema_id=wider)
        ),
        lambda: meta_client.catalog.UpdateSchema(
            pb.UpdateSchemaRequest(id=schema, add_columns=[Column(name="code", type=KQL_TYPE_LONG)])
        ),
    ]
    for refusal in refusals:
        with pytest.raises(StillReferenced) as refused:
            refusal()
        assert refused.value.metadata["blockers"] == "view v (projection p) lacks code"

    change = pb.UpdateSchemaRequest(id=schema, add_columns=[Column(name="n", type=KQL_TYPE_REAL)])
    assert len(meta_client.catalog.UpdateSchema(change).columns) == 2


def test_a_new_text_is_checked_over_every_dataset_that_it_is_linked_to(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    view, projection = make_view(meta_client), make_projection(meta_client, text="project body")
    datasets = [catalog.dataset("d1"), catalog.dataset("d2")]
    promote(meta_client, datasets[0], status=KQL_TYPE_LONG)
    for dataset in datasets:
        link(meta_client, dataset, view, projection)
    change = pb.UpdateProjectionRequest(id=projection, projection="where status > 1")

    with pytest.raises(InvalidArgument, match="no column 'status'") as refused:
        meta_client.catalog.UpdateProjection(change)
    assert refused.value.metadata["dataset_id"] == datasets[1]
    promote(meta_client, datasets[1], status=KQL_TYPE_LONG)
    meta_client.catalog.UpdateProjection(change)

    with pytest.raises(StillReferenced):
        promote(meta_client, datasets[1])


def test_what_an_older_release_stored_keeps_working_and_is_told_apart(
    meta_client: MetaClient, catalog: CatalogDriver, database_url: str
) -> None:
    dataset, view = catalog.dataset("web"), make_view(meta_client)
    projection = make_projection(meta_client, text="project body")
    link(meta_client, dataset, view, projection)
    text = "THIS IS )( NOT KQL !!"
    database = Database(DatabaseSettings(url=database_url))
    try:
        with database.write() as tx:
            tx.exec_driver_sql("DELETE FROM link_columns")
            tx.exec_driver_sql("UPDATE projections SET projection = %s", (text,))
    finally:
        database.close()

    # A repetition of the old call, an old link, and changes beside them.
    assert make_projection(meta_client, text=text) == projection
    assert not link(meta_client, dataset, view, projection)
    meta_client.catalog.UpdateProjection(pb.UpdateProjectionRequest(id=projection, new_name="q"))
    promote(meta_client, dataset, status=KQL_TYPE_LONG)
    listed = meta_client.catalog.ListViewDatasetProjections(pb.ListViewDatasetProjectionsRequest())
    assert [item.is_typed for item in listed.items] == [False]

    change = pb.UpdateProjectionRequest(id=projection, projection="where status > 1")
    meta_client.catalog.UpdateProjection(change)
    listed = meta_client.catalog.ListViewDatasetProjections(pb.ListViewDatasetProjectionsRequest())
    assert [item.is_typed for item in listed.items] == [True]
