"""segplane projections: how a view reads a dataset, in KQL."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated

from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.messages import MetaClient, catalog_pb2
from segplane.cli.nouns import Noun, pages
from segplane.cli.options import schema_id
from segplane.cli.output import Answer
from segplane.cli.parameters import Positional

if TYPE_CHECKING:
    from google.protobuf.message import Message


Name = Annotated[str, Positional(help="The projection.")]
Text = Annotated[str, Positional(help="Operators in KQL, such as: where body != ''.")]

projections: "Noun[catalog_pb2.Projection | catalog_pb2.GetProjectionResponse]" = Noun(
    "projections",
    {"name": "name", "schema": "schema_id", "id": "id", "text": "projection"},
    sample="errors",
    kind="PROJECTION",
)
app = projections.app


@projections.command("create", '{} "where severity_number >= 17"')
def create(client: MetaClient, name: Name, text: Text, schema: str | None = None) -> Answer:
    """Create a projection; errors in its text are reported with line and column.

    Options:
        schema: Schema of its output.
    """
    reply = client.catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(
            name=name, projection=text, schema_id=schema and schema_id(client, schema)
        )
    )
    return Answer(reply, [reply.id])


@projections.command("update", '{} "where severity_number >= 13"')
def update(
    client: MetaClient, name: Name, text: Text, expected_version: ExpectedVersion = None
) -> Answer:
    """Change a projection's text; links that it would break refuse that."""
    read = partial(client.catalog.GetProjection, catalog_pb2.GetProjectionRequest(name=name))
    before = read()
    request = catalog_pb2.UpdateProjectionRequest(
        id=before.id,
        projection=text,
        expected_version=expected_version or before.version or None,
    )
    with refused_with_differences(before, read):
        return Answer(client.catalog.UpdateProjection(request))


@projections.lists
def list_(client: MetaClient) -> "Iterable[catalog_pb2.Projection]":
    """List the projections, oldest first."""
    return pages(client.catalog.ListProjections, catalog_pb2.ListProjectionsRequest())


@projections.shows
def show(client: MetaClient, name: Name) -> "catalog_pb2.GetProjectionResponse":
    """Show one projection."""
    return client.catalog.GetProjection(catalog_pb2.GetProjectionRequest(name=name))


@projections.deletes
def delete(client: MetaClient, name: Name) -> "Message":
    """Delete a projection, and with it the links of views through it."""
    return client.catalog.DeleteProjection(catalog_pb2.DeleteProjectionRequest(name=name))
