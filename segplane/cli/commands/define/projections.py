"""segplane projections: how a view reads a dataset, in KQL."""

from collections.abc import Iterable
from typing import Annotated, Any

from segplane.cli.entry_changes import ExpectedVersion, catalog_call, update_entry
from segplane.cli.messages import MetaClient, catalog_pb2
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import schema_id
from segplane.cli.output import Answer
from segplane.cli.parameters import Positional

Name = Annotated[str, Positional(help="The projection.", names_of="projections")]
Text = Annotated[str, Positional(help="Operators in KQL, such as: where body != ''.")]

projections: "Noun[catalog_pb2.Projection | catalog_pb2.GetProjectionResponse]" = Noun(
    "projections",
    {"name": "name", "schema": "schema_id", "id": "id", "text": "projection"},
    sample="errors",
)
app = projections.app


@projections.command("create", '{} "where severity_number >= 17"')
def create(client: MetaClient, name: Name, text: Text, schema: str | None = None) -> Answer:
    """Create a projection; errors in its text are reported with line and column.

    Options:
        schema: Schema of its output.
    """
    id_ = schema and schema_id(client, schema)
    reply = catalog_call(client, "CreateProjection", name=name, projection=text, schema_id=id_)
    return Answer(reply, [reply.id])


@projections.command("update", '{} "where severity_number >= 13"')
def update(
    client: MetaClient, name: Name, text: Text, expected_version: ExpectedVersion = None
) -> Answer:
    """Change a projection's text; links that it would break refuse that."""
    return Answer(update_entry(client, "Projection", name, expected_version, projection=text))


@projections.lists
def list_(client: MetaClient) -> "Iterable[catalog_pb2.Projection]":
    """List the projections, oldest first."""
    return pages(client.catalog.ListProjections, catalog_pb2.ListProjectionsRequest())


@projections.shows
def show(client: MetaClient, name: Name) -> Any:
    """Show one projection."""
    return catalog_call(client, "GetProjection", name=name)


@projections.deletes
def delete(client: MetaClient, name: Name) -> Any:
    """Delete a projection, and with it the links of views through it."""
    return catalog_call(client, "DeleteProjection", name=name)
