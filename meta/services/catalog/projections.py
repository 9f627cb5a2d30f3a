"""Projections: create, read, list, change, delete."""

from uuid import UUID

from meta.errors import InvalidArgument
from meta.services.catalog import link_types, projection_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.store.catalog.named_entries import PROJECTIONS, Content, Projection
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2
from meta.v1.catalog_pb2 import CreateProjectionRequest, UpdateProjectionRequest


class ProjectionCalls(
    EntryCalls[Projection, CreateProjectionRequest, UpdateProjectionRequest, Content]
):
    """The projection calls of CatalogService."""

    entries = PROJECTIONS

    def content(self, projection: Projection, /) -> catalog_pb2.Projection:
        """The projection without its authors."""
        return filled(catalog_pb2.Projection, projection, projection=projection.expression)

    def new(self, request: CreateProjectionRequest, /) -> Content:
        """The projection to create."""
        return Content(
            {
                "name": checks.name(request.name),
                "expression": checks.some(request.projection, "projection"),
                "schema_id": checks.optional_uuid(request.schema_id, "schema_id"),
            }
        )

    def changes(self, request: UpdateProjectionRequest, /) -> Content:
        """The given parts of a projection."""
        values = checks.new_names(request)
        if request.HasField("projection"):
            values["expression"] = checks.some(request.projection, "projection")
        if request.HasField("schema_id"):
            values["schema_id"] = checks.optional_uuid(request.schema_id, "schema_id")
        return Content(values)

    def make(self, tx: Transaction, content: Content) -> Projection:
        """Create a checked projection; one that an older release stored unchecked is returned."""
        try:
            projection_types.check_text(tx, str(content.values["expression"]), content.schema_id)
        except InvalidArgument:
            existing = PROJECTIONS.find(tx, content.name)
            if existing is None or not content.is_of(existing):
                raise
            return existing
        return PROJECTIONS.create(tx, content)

    def change(
        self, tx: Transaction, identifier: UUID | str, changes: Content, expected: str | None
    ) -> Projection:
        """Change a projection whose links still hold afterwards."""
        projection, _ = self.lock(tx, identifier, changes, expected)
        changed = PROJECTIONS.change(tx, projection, changes)
        if "expression" in changes.values:
            projection_types.check_text(tx, changed.expression, changed.schema_id)
            link_types.follow_text(tx, changed.id)
        elif "schema_id" in changes.values:
            schema_id = changed.schema_id
            projection_types.check_schema_of(tx, schema_id, projection_id=changed.id)
        return changed
