"""Views: create, read, list, change, delete."""

from typing import TypedDict
from uuid import UUID

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.catalog import entry_versions, projection_types
from meta.services.catalog.entry_changes import change_expected, write_audited
from meta.services.messages import authors, checks, convert, pages
from meta.store.catalog.named_entries import VIEWS, Content, View
from meta.store.engine.pool import Transaction
from meta.v1 import catalog_pb2, catalog_pb2_grpc


class _ViewFields(TypedDict):
    """The fields common to all messages about a view; absent texts stay unset."""

    id: str
    name: str
    description: str | None
    schema_id: str | None
    created_at: str


class ViewCalls(catalog_pb2_grpc.CatalogServiceServicer):
    """The view calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def CreateView(
        self, request: catalog_pb2.CreateViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.CreateViewResponse:
        """Create a view; the same name and content again are the same view."""
        name = checks.name(request.name)
        values = {
            "name": name,
            "description": checks.text(request.description, "description", lines=True) or None,
            "schema_id": checks.optional_uuid(request.schema_id, "schema_id"),
        }
        view = write_audited(
            self._transactions,
            VIEWS.find,
            "CreateView",
            name,
            lambda tx: VIEWS.create(tx, Content(values)),
        )
        return catalog_pb2.CreateViewResponse(**_fields(view))

    def GetView(
        self, request: catalog_pb2.GetViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetViewResponse:
        """Read a view by id or name."""
        named = checks.identifier(request)
        view, by = self._transactions.read(lambda tx: authors.of(tx, VIEWS.get(tx, named)))
        return catalog_pb2.GetViewResponse(
            **_fields(view), authors=by, version=entry_versions.of(_content(view))
        )

    def ListViews(
        self, request: catalog_pb2.ListViewsRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListViewsResponse:
        """Page through the views, all or those of one schema."""
        schema_id = checks.filter_uuid(request, "schema_id")
        window = pages.window(request.pagination, "ListViews", schema_id)
        page, by = self._transactions.read(
            lambda tx: authors.of_page(tx, VIEWS.list_page(tx, window, schema_id))
        )
        return catalog_pb2.ListViewsResponse(
            items=[
                catalog_pb2.View(
                    **_fields(view),
                    authors=by.get(view.id),
                    version=entry_versions.of(_content(view)),
                )
                for view in page.items
            ],
            pagination=pages.answer(page, "ListViews", schema_id),
        )

    def UpdateView(
        self, request: catalog_pb2.UpdateViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.UpdateViewResponse:
        """Change the given parts of a view."""
        named = checks.identifier(request)
        change, expected = _change(request), entry_versions.expected(request)
        changed = write_audited(
            self._transactions,
            VIEWS.find,
            "UpdateView",
            named,
            lambda tx: _update(tx, named, change, expected),
        )
        return catalog_pb2.UpdateViewResponse(
            **_fields(changed), version=entry_versions.of(_content(changed))
        )

    def DeleteView(
        self, request: catalog_pb2.DeleteViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteViewResponse:
        """Delete a view and its links."""
        named = checks.identifier(request)
        success = write_audited(
            self._transactions, VIEWS.find, "DeleteView", named, lambda tx: VIEWS.remove(tx, named)
        )
        return catalog_pb2.DeleteViewResponse(success=success)


def _update(tx: Transaction, named: UUID | str, change: Content, expected: str | None) -> View:
    """Change a view whose links yield its schema afterwards."""
    changed = change_expected(tx, VIEWS, named, change, expected, _content)
    if "schema_id" in change.values:
        projection_types.check_schema_of(tx, changed.schema_id, view_id=changed.id)
    return changed


def _change(request: catalog_pb2.UpdateViewRequest) -> Content:
    values: dict[str, str | UUID | None] = {}
    if request.HasField("new_name"):
        values["name"] = checks.name(request.new_name, "new_name")
    if request.HasField("description"):
        text = checks.text(request.description, "description", lines=True)
        values["description"] = text or None
    if request.HasField("schema_id"):
        values["schema_id"] = checks.optional_uuid(request.schema_id, "schema_id")
    return Content(values)


def _content(view: View) -> catalog_pb2.View:
    return catalog_pb2.View(**_fields(view))


def _fields(view: View) -> _ViewFields:
    return _ViewFields(
        id=str(view.id),
        name=view.name,
        description=view.description,
        schema_id=None if view.schema_id is None else str(view.schema_id),
        created_at=convert.time_text(view.created_at),
    )
