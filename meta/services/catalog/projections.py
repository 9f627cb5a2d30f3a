"""Projections: create, read, list, change, delete."""

from typing import TypedDict
from uuid import UUID

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, StillReferenced
from meta.services.catalog import projection_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import checks
from meta.store.catalog import link_columns, links
from meta.store.catalog.link_columns import TypedLink
from meta.store.catalog.named_entries import PROJECTIONS, Content, Projection
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2, catalog_pb2_grpc

# Each is checked again when the projection's text changes.
LINKS_MAX = 1_000


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
        content = Content(
            {
                "name": checks.name(request.name),
                "expression": checks.some(request.projection, "projection"),
                "schema_id": checks.optional_uuid(request.schema_id, "schema_id"),
            }
        )
        projection = _CALLS.create(self._transactions, request, content, _create)
        return catalog_pb2.CreateProjectionResponse(**_fields(projection))

    def GetProjection(
        self, request: catalog_pb2.GetProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetProjectionResponse:
        """Read a projection by id or name."""
        projection, by, version = _CALLS.get(self._transactions, request)
        return catalog_pb2.GetProjectionResponse(**_fields(projection), authors=by, version=version)

    def ListProjections(
        self, request: catalog_pb2.ListProjectionsRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListProjectionsResponse:
        """Page through the projections, all or those of one schema."""
        schema_id = checks.filter_uuid(request, "schema_id")
        projections, pagination = _CALLS.list_page(self._transactions, request, schema_id)
        return catalog_pb2.ListProjectionsResponse(
            items=[
                catalog_pb2.Projection(**_fields(projection), authors=by, version=version)
                for projection, by, version in projections
            ],
            pagination=pagination,
        )

    def UpdateProjection(
        self, request: catalog_pb2.UpdateProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.UpdateProjectionResponse:
        """Change the given parts of a projection."""
        changed = _CALLS.update(self._transactions, request, _changes(request), _update)
        return catalog_pb2.UpdateProjectionResponse(
            **_fields(changed), version=_CALLS.version_of(changed)
        )

    def DeleteProjection(
        self, request: catalog_pb2.DeleteProjectionRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteProjectionResponse:
        """Delete a projection and its links."""
        success = _CALLS.delete(self._transactions, request)
        return catalog_pb2.DeleteProjectionResponse(success=success)


def _create(tx: Transaction, content: Content) -> Projection:
    """Create a checked projection; one that an older release stored unchecked is returned."""
    try:
        projection_types.check_text(tx, str(content.values["expression"]), content.schema_id)
    except InvalidArgument:
        existing = PROJECTIONS.find(tx, content.name)
        if existing is None or not content.is_of(existing):
            raise
        return existing
    return PROJECTIONS.create(tx, content)


def _update(
    tx: Transaction, named: UUID | str, changes: Content, expected: str | None
) -> Projection:
    """Change a projection whose links still hold afterwards."""
    projection, _ = _CALLS.lock(tx, named, changes, expected)
    changed = PROJECTIONS.change(tx, projection, changes)
    if "expression" in changes.values:
        projection_types.check_text(tx, changed.expression, changed.schema_id)
        _retype_links(tx, changed)
    elif "schema_id" in changes.values:
        schema_id = changed.schema_id
        projection_types.check_schema_of(tx, schema_id, projection_id=changed.id)
    return changed


def _retype_links(tx: Transaction, projection: Projection) -> None:
    used = links.list_of_projection(tx, projection.id, LINKS_MAX + 1)
    if len(used) > LINKS_MAX:
        raise StillReferenced(
            f"more than {LINKS_MAX} links use the projection: create another one for the new text",
            blockers=f"{LINKS_MAX} links",
        )
    # Views often link a projection to the same dataset; its lock keeps the answer valid.
    known: dict[tuple[UUID, links.Ends], TypedLink] = {}
    for link_id, link in used:
        ends = links.lock_ends(tx, link)
        key = (link.dataset_id, ends)
        try:
            if key not in known:
                known[key] = projection_types.typed_link(
                    tx, ends.text, link.dataset_id, ends.schema_ids
                )
        except InvalidArgument as refusal:
            raise InvalidArgument(
                refusal.message,
                field="projection",
                dataset_id=link.dataset_id,
                view_id=link.view_id,
            ) from None
        link_columns.replace(tx, link_id, known[key])


def _changes(request: catalog_pb2.UpdateProjectionRequest) -> Content:
    values: dict[str, str | UUID | None] = {}
    if request.HasField("new_name"):
        values["name"] = checks.name(request.new_name, "new_name")
    if request.HasField("projection"):
        values["expression"] = checks.some(request.projection, "projection")
    if request.HasField("schema_id"):
        values["schema_id"] = checks.optional_uuid(request.schema_id, "schema_id")
    return Content(values)


def _content(projection: Projection) -> catalog_pb2.Projection:
    return catalog_pb2.Projection(**_fields(projection))


def _fields(projection: Projection) -> _ProjectionFields:
    return _ProjectionFields(
        id=str(projection.id),
        name=projection.name,
        projection=projection.expression,
        schema_id=None if projection.schema_id is None else str(projection.schema_id),
    )


_CALLS = EntryCalls(PROJECTIONS, _content)
