"""Projections: create, read, list, change, delete."""

from typing import TypedDict

import grpc

from meta.config import Settings
from meta.services import checks, pages
from meta.store import projections
from meta.store.projections import Projection, ProjectionChange
from meta.transactions import Transactions
from meta.v1 import catalog_pb2, catalog_pb2_grpc


class _ProjectionFields(TypedDict):
    """The fields common to all messages about a projection; an absent schema stays unset."""

    id: str
    name: str
    projection: str
    schema_id: str | None


class ProjectionCalls(catalog_pb2_grpc.CatalogServiceServicer):
    """The projection calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def CreateProjection(
        self, request: catalog_pb2.CreateProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.CreateProjectionResponse:
        """Create a projection; the same name and content again are the same projection."""
        name = checks.name(request.name)
        expression = checks.some(request.projection, "projection")
        schema_id = checks.optional_uuid(request.schema_id, "schema_id")
        projection = self._transactions.write(
            lambda tx: projections.create(tx, name, expression, schema_id)
        )
        return catalog_pb2.CreateProjectionResponse(**_fields(projection))

    def GetProjection(
        self, request: catalog_pb2.GetProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetProjectionResponse:
        """Read a projection by id or name."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        projection = self._transactions.read(lambda tx: projections.get(tx, named))
        return catalog_pb2.GetProjectionResponse(**_fields(projection))

    def ListProjections(
        self, request: catalog_pb2.ListProjectionsRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListProjectionsResponse:
        """Page through the projections, all or those of projection schema."""
        schema_id = checks.filter_uuid(request, "schema_id")
        window = pages.window(request.pagination, "ListProjections", schema_id)
        page = self._transactions.read(lambda tx: projections.list_page(tx, window, schema_id))
        return catalog_pb2.ListProjectionsResponse(
            items=[catalog_pb2.Projection(**_fields(projection)) for projection in page.items],
            pagination=pages.answer(page, "ListProjections", schema_id),
        )

    def UpdateProjection(
        self, request: catalog_pb2.UpdateProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.UpdateProjectionResponse:
        """Change the given parts of a projection."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        change = _change(request)
        changed = self._transactions.write(lambda tx: projections.change(tx, named, change))
        return catalog_pb2.UpdateProjectionResponse(**_fields(changed))

    def DeleteProjection(
        self, request: catalog_pb2.DeleteProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteProjectionResponse:
        """Delete a projection and its links."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        success = self._transactions.write(lambda tx: projections.remove(tx, named))
        return catalog_pb2.DeleteProjectionResponse(success=success)


def _change(request: catalog_pb2.UpdateProjectionRequest) -> ProjectionChange:
    changed = set()
    if request.HasField("new_name"):
        checks.name(request.new_name, "new_name")
        changed.add("name")
    if request.HasField("projection"):
        checks.some(request.projection, "projection")
        changed.add("projection")
    if request.HasField("schema_id"):
        changed.add("schema_id")
    return ProjectionChange(
        changed=frozenset(changed),
        name=request.new_name,
        projection=request.projection,
        schema_id=checks.optional_uuid(request.schema_id, "schema_id"),
    )


def _fields(projection: Projection) -> _ProjectionFields:
    return _ProjectionFields(
        id=str(projection.id),
        name=projection.name,
        projection=projection.expression,
        schema_id=None if projection.schema_id is None else str(projection.schema_id),
    )
