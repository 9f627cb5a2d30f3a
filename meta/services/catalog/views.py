"""Views: create, read, list, change, delete."""

from typing import TypedDict
from uuid import UUID

import grpc

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.catalog import entry_versions, projection_types
from meta.services.catalog.audited import audited
from meta.services.messages import authors, checks, convert, pages
from meta.store.catalog import views
from meta.store.catalog.views import View, ViewChange
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
        description = checks.text(request.description, "description", lines=True) or None
        schema_id = checks.optional_uuid(request.schema_id, "schema_id")
        view = self._transactions.write(
            lambda tx: audited(
                tx,
                "CreateView",
                views.find,
                name,
                lambda tx: views.create(tx, name, description, schema_id),
            )
        )
        return catalog_pb2.CreateViewResponse(**_fields(view))

    def GetView(
        self, request: catalog_pb2.GetViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.GetViewResponse:
        """Read a view by id or name."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        view, by = self._transactions.read(lambda tx: authors.of(tx, views.get(tx, named)))
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
            lambda tx: authors.of_page(tx, views.list_page(tx, window, schema_id))
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
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        change, expected = _change(request), entry_versions.expected(request)
        changed = self._transactions.write(
            lambda tx: audited(
                tx, "UpdateView", views.find, named, lambda tx: _update(tx, named, change, expected)
            )
        )
        return catalog_pb2.UpdateViewResponse(
            **_fields(changed), version=entry_versions.of(_content(changed))
        )

    def DeleteView(
        self, request: catalog_pb2.DeleteViewRequest, context: grpc.ServicerContext
    ) -> catalog_pb2.DeleteViewResponse:
        """Delete a view and its links."""
        named = checks.identifier(request.WhichOneof("identifier"), request.id, request.name)
        success = self._transactions.write(
            lambda tx: audited(
                tx, "DeleteView", views.find, named, lambda tx: views.remove(tx, named)
            )
        )
        return catalog_pb2.DeleteViewResponse(success=success)


def _update(tx: Transaction, named: UUID | str, change: ViewChange, expected: str | None) -> View:
    """Change a view whose links yield its schema afterwards."""
    if expected is not None:
        view = views.lock(tx, named, change.schema_id)
        is_in_effect = views.is_in_effect(view, change)
        entry_versions.check(expected, _content(view), is_in_effect=is_in_effect)
    changed = views.change(tx, named, change)
    if "schema_id" in change.changed:
        projection_types.check_schema_of(tx, changed.schema_id, view_id=changed.id)
    return changed


def _change(request: catalog_pb2.UpdateViewRequest) -> ViewChange:
    changed = set()
    if request.HasField("new_name"):
        checks.name(request.new_name, "new_name")
        changed.add("name")
    if request.HasField("description"):
        changed.add("description")
    if request.HasField("schema_id"):
        changed.add("schema_id")
    return ViewChange(
        changed=frozenset(changed),
        name=request.new_name,
        description=checks.text(request.description, "description", lines=True) or None,
        schema_id=checks.optional_uuid(request.schema_id, "schema_id"),
    )


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
