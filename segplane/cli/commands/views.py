"""segplane views: the catalog's views, and the equivalent SQL."""

from functools import partial
from typing import Annotated, cast, get_args

import typer

from kql.sql.engines import EngineName
from meta.client import MetaClient
from meta.v1 import catalog_pb2
from segplane.cli.commands.projections import schema_id
from segplane.cli.connection import (
    DEFAULT_ADDRESS,
    EXIT_REFUSED,
    MetaAddress,
    complain,
    connect,
    usage,
)
from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.output import (
    NONE,
    AsJson,
    author_facts,
    print_facts,
    print_json,
    print_table,
)
from segplane.read.lookup import all_views

app = typer.Typer(
    no_args_is_help=True, help="Create, change, link and list views, print them as SQL."
)
Name = Annotated[str, typer.Argument(help="The view.")]
Dataset = Annotated[str, typer.Argument(help="The dataset that it reads.")]
Projection = Annotated[str, typer.Argument(help="The projection that it reads it through.")]


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the views with their links; `unchecked` are links of release 0.1.0."""
    # sqlglot takes long to import.
    from segplane.read.views.view_sql import all_links

    with connect(address) as client:
        if as_json:
            print_json(all_views(client))
            return
        rows = []
        for view in all_views(client):
            links = list(all_links(client, view.id))
            unchecked = sum(not link.is_typed for link in links)
            rows.append((view.name, len(links), unchecked, view.schema_id or NONE, view.id))
    print_table(("name", "links", "unchecked", "schema", "id"), rows)


@app.command()
def sql(
    name: Name,
    dialect: Annotated[
        str, typer.Option(help=f"One of {', '.join(get_args(EngineName))}.")
    ] = "duckdb",
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Print a view as one SELECT over tables that are named as its datasets are.

    The text is that of this moment: later links, projections and promoted columns are not in it.
    """
    from segplane.read.views.view_sql import ViewUnreadable, view_sql

    if dialect not in get_args(EngineName):
        raise usage(f"--dialect is {dialect!r}, not one of {', '.join(get_args(EngineName))}")
    with connect(address) as client:
        try:
            print(view_sql(client, name, cast("EngineName", dialect)))
        except ViewUnreadable as error:
            complain(str(error))
            raise typer.Exit(EXIT_REFUSED) from None


@app.command()
def create(
    name: Name,
    schema: Annotated[str | None, typer.Option(help="Schema that every link yields.")] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Create a view, which reads nothing until it is linked to a dataset."""
    with connect(address) as client:
        request = catalog_pb2.CreateViewRequest(name=name)
        if schema is not None:
            request.schema_id = schema_id(client, schema)
        print(client.catalog.CreateView(request).id)


@app.command()
def show(name: Name, address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """Show one view: description, schema, authors."""
    with connect(address) as client:
        view = client.catalog.GetView(catalog_pb2.GetViewRequest(name=name))
    if as_json:
        print_json(view)
        return
    print_facts(
        (
            ("id", view.id),
            ("name", view.name),
            ("description", view.description or NONE),
            ("schema", view.schema_id or NONE),
            ("created at", view.created_at),
            *author_facts(view.authors),
        )
    )


@app.command()
def update(
    name: Name,
    rename: Annotated[str | None, typer.Option(help="New name of the view.")] = None,
    description: Annotated[str | None, typer.Option(help="New text; empty removes it.")] = None,
    schema: Annotated[
        str | None, typer.Option(help="Schema that every link yields; empty removes it.")
    ] = None,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Change the given parts of a view; its links have to yield a new schema."""
    with connect(address) as client:
        read = partial(client.catalog.GetView, catalog_pb2.GetViewRequest(name=name))
        before = read()
        request = catalog_pb2.UpdateViewRequest(
            id=before.id,
            new_name=rename,
            description=description,
            schema_id=schema_id(client, schema) if schema else schema,
            expected_version=expected_version or before.version or None,
        )
        with refused_with_differences(before, read):
            client.catalog.UpdateView(request)


@app.command()
def link(
    name: Name, dataset: Dataset, projection: Projection, address: MetaAddress = DEFAULT_ADDRESS
) -> None:
    """Let a view read a dataset through a projection; that it fits is checked here."""
    with connect(address) as client:
        ids = _ids(client, name, dataset, projection)
        client.catalog.LinkViewDatasetProjection(
            catalog_pb2.LinkViewDatasetProjectionRequest(**ids)
        )


@app.command()
def unlink(
    name: Name, dataset: Dataset, projection: Projection, address: MetaAddress = DEFAULT_ADDRESS
) -> None:
    """Let a view no longer read a dataset through a projection."""
    with connect(address) as client:
        ids = _ids(client, name, dataset, projection)
        client.catalog.UnlinkViewDatasetProjection(
            catalog_pb2.UnlinkViewDatasetProjectionRequest(**ids)
        )


@app.command()
def delete(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Delete a view with its links; datasets and projections stay."""
    with connect(address) as client:
        client.catalog.DeleteView(catalog_pb2.DeleteViewRequest(name=name))


def _ids(client: MetaClient, view: str, dataset: str, projection: str) -> dict[str, str]:
    catalog = client.catalog
    return {
        "view_id": catalog.GetView(catalog_pb2.GetViewRequest(name=view)).id,
        "dataset_id": catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=dataset)).id,
        "projection_id": catalog.GetProjection(
            catalog_pb2.GetProjectionRequest(name=projection)
        ).id,
    }
