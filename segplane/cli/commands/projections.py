"""segplane projections: how a view reads a dataset, in KQL."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from meta.client import MetaClient, paged_lists
from meta.v1 import catalog_pb2
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect
from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.output import NONE, AsJson, print_json, print_table

app = typer.Typer(
    no_args_is_help=True, help="Create, list, change and delete projections (docs/kql.md)."
)
Name = Annotated[str, typer.Argument(help="The projection.")]
Text = Annotated[str, typer.Argument(help="Operators in KQL, such as: where body != ''.")]
SchemaName = Annotated[str | None, typer.Option("--schema", help="Schema of its output.")]


@app.command()
def create(
    name: Name, text: Text, schema: SchemaName = None, address: MetaAddress = DEFAULT_ADDRESS
) -> None:
    """Create a projection; errors in its text are reported with line and column."""
    with connect(address) as client:
        request = catalog_pb2.CreateProjectionRequest(name=name, projection=text)
        if schema is not None:
            request.schema_id = schema_id(client, schema)
        print(client.catalog.CreateProjection(request).id)


@app.command()
def update(
    name: Name,
    text: Text,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
) -> None:
    """Change a projection's text; links that it would break refuse that."""
    with connect(address) as client:
        read = partial(client.catalog.GetProjection, catalog_pb2.GetProjectionRequest(name=name))
        before = read()
        request = catalog_pb2.UpdateProjectionRequest(
            id=before.id,
            projection=text,
            expected_version=expected_version or before.version or None,
        )
        with refused_with_differences(before, read):
            client.catalog.UpdateProjection(request)


@app.command("list")
def list_(address: MetaAddress = DEFAULT_ADDRESS, as_json: AsJson = False) -> None:
    """List the projections, oldest first."""
    with connect(address) as client:
        projections = _all(client)
        if as_json:
            print_json(projections)
            return
        rows = [(p.name, p.schema_id or NONE, p.id, p.projection) for p in projections]
    print_table(("name", "schema", "id", "text"), rows)


@app.command()
def delete(name: Name, address: MetaAddress = DEFAULT_ADDRESS) -> None:
    """Delete a projection, and with it the links of views through it."""
    with connect(address) as client:
        client.catalog.DeleteProjection(catalog_pb2.DeleteProjectionRequest(name=name))


def schema_id(client: MetaClient, name: str) -> str:
    """Return a schema's id. Raises NotFound."""
    return client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(name=name)).id


def _all(client: MetaClient) -> Iterator[catalog_pb2.Projection]:
    request = catalog_pb2.ListProjectionsRequest()
    for page in paged_lists.replies(client.catalog.ListProjections, request):
        yield from page.items
