"""Views: create, read, list, change, delete."""

from typing import TypedDict
from uuid import UUID

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.catalog import projection_types
from meta.services.catalog.entry_calls import EntryCalls
from meta.services.messages import checks, convert
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
        content = Content(
            {
                "name": checks.name(request.name),
                "description": checks.text(request.description, "description", lines=True) or None,
                "schema_id": checks.optional_uuid(request.schema_id, "schema_id"),
            }
        )
        view = _CALLS.create(self._transactions, request, content)
        return catalog_pb2.CreateViewResponse(**_fields(view))

    def GetView(
        self, request: catalog_pb2.GetViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetViewResponse:
        """Read a view by id or name."""
        view, by, version = _CALLS.get(self._transactions, request)
        return catalog_pb2.GetViewResponse(**_fields(view), authors=by, version=version)

    def ListViews(
        self, request: catalog_pb2.ListViewsRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.ListViewsResponse:
        """Page through the views, all or those of one schema."""
        schema_id = checks.filter_uuid(request, "schema_id")
        views, pagination = _CALLS.list_page(self._transactions, request, schema_id)
        return catalog_pb2.ListViewsResponse(
            items=[
                catalog_pb2.View(**_fields(view), authors=by, version=version)
                for view, by, version in views
            ],
            pagination=pagination,
        )

    def UpdateView(
        self, request: catalog_pb2.UpdateViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.UpdateViewResponse:
        """Change the given parts of a view."""
        changed = _CALLS.update(self._transactions, request, _changes(request), _update)
        return catalog_pb2.UpdateViewResponse(
            **_fields(changed), version=_CALLS.version_of(changed)
        )

    def DeleteView(
        self, request: catalog_pb2.DeleteViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteViewResponse:
        """Delete a view and its links."""
        return catalog_pb2.DeleteViewResponse(success=_CALLS.delete(self._transactions, request))


def _update(tx: Transaction, named: UUID | str, changes: Content, expected: str | None) -> View:
    """Change a view whose links yield its schema afterwards."""
    view, _ = _CALLS.lock(tx, named, changes, expected)
    changed = VIEWS.change(tx, view, changes)
    if "schema_id" in changes.values:
        projection_types.check_schema_of(tx, changed.schema_id, view_id=changed.id)
    return changed


def _changes(request: catalog_pb2.UpdateViewRequest) -> Content:
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


_CALLS = EntryCalls(VIEWS, _content)
