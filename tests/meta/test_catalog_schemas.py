"""Schemas, views, projections, links and data sources over the real server."""

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, NameTaken, NotFound, StillReferenced
from meta.v1 import catalog_pb2 as pb
from meta.v1.common_pb2 import KQL_TYPE_BOOL, KQL_TYPE_LONG, KQL_TYPE_STRING, Column
from tests.support.meta.schemas import UNKNOWN, A, B, make_projection, make_schema, make_view

pytestmark = pytest.mark.one_meta

C = Column(name="c")


def columns_of(client: MetaClient, schema: str) -> list[tuple[str, int]]:
    found = client.catalog.GetSchema(pb.GetSchemaRequest(id=schema))
    return [(column.name, column.type) for column in found.columns]


@pytest.mark.one_meta(False)
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
        make_projection(meta_client, text="extend a = 2, b = body", schema_id=schema)


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


@pytest.mark.one_meta(False)
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


@pytest.mark.one_meta(False)
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


@pytest.mark.one_meta(False)
def test_getting_what_is_not_there_is_not_found(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        meta_client.catalog.GetSchema(pb.GetSchemaRequest(id=UNKNOWN))
    with pytest.raises(NotFound):
        meta_client.catalog.GetView(pb.GetViewRequest(name="v"))
    with pytest.raises(NotFound):
        meta_client.catalog.GetProjection(pb.GetProjectionRequest(name="p"))
    with pytest.raises(InvalidArgument):
        meta_client.catalog.GetView(pb.GetViewRequest())
