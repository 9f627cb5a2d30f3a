"""Views: create, read, list, change, delete."""

from uuid import UUID

from meta.services.catalog import projection_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.store.catalog.named_entries import VIEWS, Content, View
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2
from meta.v1.catalog_pb2 import CreateViewRequest, UpdateViewRequest


class ViewCalls(EntryCalls[View, CreateViewRequest, UpdateViewRequest, Content]):
    """The view calls of CatalogService."""

    entries = VIEWS

    def content(self, view: View, /) -> catalog_pb2.View:
        """The view without its authors."""
        return filled(catalog_pb2.View, view)

    def new(self, request: CreateViewRequest, /) -> Content:
        """The view to create."""
        absent = {"description": None, "schema_id": None}
        return Content({"name": checks.name(request.name), **absent, **_parts(request)})

    def changes(self, request: UpdateViewRequest, /) -> Content:
        """The given parts of a view."""
        return Content(checks.new_names(request) | _parts(request))

    def change(
        self, tx: Transaction, identifier: UUID | str, changes: Content, expected: str | None
    ) -> View:
        """Change a view whose links yield its schema afterwards."""
        view, _ = self.lock(tx, identifier, changes, expected)
        changed = VIEWS.change(tx, view, changes)
        if "schema_id" in changes.values:
            projection_types.check_schema_of(tx, changed.schema_id, view_id=changed.id)
        return changed


def _parts(request: CreateViewRequest | UpdateViewRequest) -> dict[str, object]:
    values: dict[str, object] = {}
    if request.HasField("description"):
        text = checks.text(request.description, "description", lines=True)
        values["description"] = text or None
    if request.HasField("schema_id"):
        values["schema_id"] = checks.optional_uuid(request.schema_id, "schema_id")
    return values
