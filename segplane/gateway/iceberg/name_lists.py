"""Lists of the names of tables and views of a namespace, in pages."""

from starlette.requests import Request
from starlette.responses import Response

from meta.errors import RoleRefused, Unauthenticated
from meta.v1 import catalog_pb2
from segplane.gateway.http.readers import CatalogReader
from segplane.gateway.http.refusals import NotKnown
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg.namespaces import NAMESPACE, Namespaces
from segplane.gateway.iceberg.pages import Page, pages_of
from segplane.gateway.iceberg.tables import Tables
from segplane.gateway.iceberg.views import view_names
from segplane.read import groups

# Prefix of the cursor of a page of the catalog's views, which follow those of signals.
_CATALOG_VIEWS = "views:"


class NameLists:
    """Lists the tables that a caller may read; safe for many threads."""

    def __init__(self, clients: TenantClients, tables: Tables, namespaces: Namespaces) -> None:
        self._clients = clients
        self._tables = tables
        self._namespaces = namespaces

    def listed(
        self, request: Request, reader: CatalogReader, namespace: str, kind: str
    ) -> Response:
        """List the names of tables or views, in pages. Raises MetaError."""
        page_of = self._tables_page if kind == "tables" else self._views_page
        return pages_of(
            request,
            lambda token, limit: page_of(reader, namespace, token, limit),
            lambda names: {"identifiers": [{"namespace": [namespace], "name": n} for n in names]},
        )

    def _tables_page(self, reader: CatalogReader, namespace: str, token: str, limit: int) -> Page:
        if reader.scope.dataset_ids is not None:
            return self._limited_page(reader, namespace, token, limit)
        group = "" if namespace == NAMESPACE else namespace
        return groups.dataset_names(self._clients.of(reader.scope), group, token, limit)

    def _limited_page(self, reader: CatalogReader, namespace: str, token: str, limit: int) -> Page:
        """Page through the datasets that a caller is limited to, and skip other groups'.

        The call is in the caller's name, so that pages reveal no other datasets.
        """
        page = catalog_pb2.PaginationRequest(limit=limit, after=token or None)
        request = catalog_pb2.ListDatasetsRequest(pagination=page)
        try:
            catalog = self._clients.default.catalog
            reply = catalog.ListDatasets(request, metadata=reader.metadata)
        except Unauthenticated:
            raise NotKnown("the token was revoked") from None
        scope = reader.scope
        names = (item.name for item in reply.items if scope.covers(item.id))
        places = (self._namespaces.place(name, scope) for name in names)
        return [name for of, name in places if of == namespace], reply.pagination.next_cursor

    def _views_page(self, reader: CatalogReader, namespace: str, token: str, limit: int) -> Page:
        """Page through the views of signals, then through those of the catalog."""
        # No view of the catalog exists for a caller that is limited to datasets.
        is_limited = reader.scope.dataset_ids is not None
        if token.startswith(_CATALOG_VIEWS) and not is_limited:
            return self._catalog_views_page(reader, token.removeprefix(_CATALOG_VIEWS), limit)
        datasets, token = self._tables_page(reader, namespace, token, limit)
        names = [str(view) for name in datasets for view in view_names(name)]
        if token or is_limited or namespace != NAMESPACE:
            return names, token
        try:
            views = self._clients.of(reader.scope).catalog.ListViews(_list_views("", 1))
        except RoleRefused:
            # The gateway itself is limited.
            return names, ""
        return names, _CATALOG_VIEWS if views.items else ""

    def _catalog_views_page(self, reader: CatalogReader, token: str, limit: int) -> Page:
        scope = reader.scope
        reply = self._clients.of(scope).catalog.ListViews(_list_views(token, limit))
        after = reply.pagination.next_cursor
        # A table, or a view of a signal, comes before a view of its name.
        names = [view.name for view in reply.items if not self._tables.is_taken(view.name, scope)]
        return names, f"{_CATALOG_VIEWS}{after}" if after else ""


def _list_views(token: str, limit: int) -> catalog_pb2.ListViewsRequest:
    page = catalog_pb2.PaginationRequest(limit=limit, after=token or None)
    return catalog_pb2.ListViewsRequest(pagination=page)
