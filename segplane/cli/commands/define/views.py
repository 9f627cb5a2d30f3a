"""segplane views: the catalog's views, and the equivalent SQL."""

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, cast

from segplane.cli.connection import usage
from segplane.cli.entry_changes import ExpectedVersion, catalog_call, update_entry
from segplane.cli.messages import MetaClient, catalog_pb2
from segplane.cli.nouns import Noun
from segplane.cli.options import dataset_id, schema_id
from segplane.cli.output import NONE, Answer, author_facts, listing
from segplane.cli.parameters import Option, Positional

if TYPE_CHECKING:
    from kql.sql.engines import EngineName

Name = Annotated[str, Positional(help="The view.", names_of="views")]
ReadDataset = Annotated[
    str, Positional(metavar="DATASET", help="The dataset that it reads.", names_of="datasets")
]
Projection = Annotated[
    str, Positional(help="The projection that it reads it through.", names_of="projections")
]
DIALECTS = ("duckdb", "spark", "trino")

views: "Noun[catalog_pb2.GetViewResponse]" = Noun(
    "views",
    {},
    lambda view: (
        ("id", view.id),
        ("name", view.name),
        ("description", view.description or NONE),
        ("schema", view.schema_id or NONE),
        ("created at", view.created_at),
        *author_facts(view.authors),
    ),
    sample="web_errors",
)
app = views.app


@views.command("list")
def list_(client: MetaClient) -> Answer:
    """List the views with their links; `unchecked` are links of release 0.1.0."""
    from segplane.read.lookup import all_views

    @cache
    def links(view_id: str) -> "list[catalog_pb2.ViewDatasetProjection]":
        # sqlglot takes long to import.
        from segplane.read.views.view_sql import all_links

        return list(all_links(client, view_id))

    return listing(
        all_views(client),
        {
            "name": "name",
            "links": lambda view: len(links(view.id)),
            "unchecked": lambda view: sum(not link.is_typed for link in links(view.id)),
            "schema": "schema_id",
            "id": "id",
        },
    )


@views.command("create", "{} --schema order")
def create(client: MetaClient, name: Name, schema: str | None = None) -> Answer:
    """Create a view, which reads nothing until it is linked to a dataset.

    Options:
        schema: Schema that every link yields.
    """
    id_ = schema and schema_id(client, schema)
    reply = catalog_call(client, "CreateView", name=name, schema_id=id_)
    return Answer(reply, [reply.id])


@views.command("show", "{} --sql --dialect spark")
def show(
    client: MetaClient,
    name: Name,
    sql: bool = False,
    dialect: Annotated[str, Option(help=f"One of {', '.join(DIALECTS)}.")] = DIALECTS[0],
) -> Answer:
    """Show one view: description, schema, authors; or with --sql, as a SELECT.

    Options:
        sql: Print one SELECT over tables that are named as its datasets are. The text is that of
            this moment: later links, projections and promoted columns are not in it.
    """
    if not sql:
        return views.answer(catalog_call(client, "GetView", name=name))
    from segplane.read.views.view_sql import view_sql

    if dialect not in DIALECTS:
        raise usage(f"--dialect is {dialect!r}, not one of {', '.join(DIALECTS)}")
    text = view_sql(client, name, cast("EngineName", dialect))
    return Answer({"sql": text, "dialect": dialect}, [text])


@views.command("update", '{} --description "Errors of the shop"')
def update(
    client: MetaClient,
    name: Name,
    rename: str | None = None,
    description: str | None = None,
    schema: str | None = None,
    expected_version: ExpectedVersion = None,
) -> Answer:
    """Change the given parts of a view; its links have to yield a new schema.

    Options:
        rename: New name of the view.
        description: New text; empty removes it.
        schema: Schema that every link yields; empty removes it.
    """
    id_ = schema and schema_id(client, schema)
    changes = {"new_name": rename, "description": description, "schema_id": id_}
    return Answer(update_entry(client, "View", name, expected_version, **changes))


@views.command("link", "{} checkout errors")
def link(
    client: MetaClient,
    name: Name,
    dataset: ReadDataset,
    projection: Projection,
    remove: bool = False,
) -> Answer:
    """Let a view read a dataset through a projection; that it fits is checked here.

    Options:
        remove: Instead, let it no longer read the dataset through the projection.
    """
    ids = {
        "view_id": catalog_call(client, "GetView", name=name).id,
        "dataset_id": dataset_id(client, dataset),
        "projection_id": catalog_call(client, "GetProjection", name=projection).id,
    }
    verb = "Unlink" if remove else "Link"
    return Answer(catalog_call(client, f"{verb}ViewDatasetProjection", **ids))


@views.deletes
def delete(client: MetaClient, name: Name) -> Any:
    """Delete a view with its links; datasets and projections stay."""
    return catalog_call(client, "DeleteView", name=name)
