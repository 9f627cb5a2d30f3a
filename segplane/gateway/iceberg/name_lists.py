"""Lists of the names of tables and views, in pages."""

import re

from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from meta.errors import CursorInvalid, RoleRefused, Unauthenticated
from meta.v1 import catalog_pb2
from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import CatalogReader
from segplane.gateway.http.refusals import NotKnown
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.responses import refuse
from segplane.gateway.iceberg.tables import NAMESPACE, Tables
from segplane.gateway.iceberg.views import view_names

PAGE_MAX = 1_000
_PAGE_SIZE = re.compile("[1-9][0-9]{0,8}")
# Prefix of the cursor of a page of the catalog's views, which follow those of signals.
_CATALOG_VIEWS = "views:"
# Names, and the token of the next page or "".
_Page = tuple[list[str], str]


class NameLists:
    """Lists the tables that a caller may read; safe for many threads."""

    def __init__(self, meta: MetaClient, tables: Tables) -> None:
        self._meta = meta
        self._tables = tables

    def listed(self, request: Request, reader: CatalogReader, kind: str) -> Response:
        """List the names of tables or views, in pages. Raises MetaError."""
        page_of = self._tables_page if kind == "tables" else self._views_page
        token, size = (request.query_params.get(name) for name in ("pageToken", "pageSize"))
        if size is not None and not _PAGE_SIZE.fullmatch(size):
            return refuse(responses.BAD_REQUEST, f"pageSize is {size!r}, expected 1 or more")
        # A client that names neither wants all; datasets and views are bounded (META_DATASETS_MAX).
        wants_all = token is None and size is None
        limit, token = min(int(size or PAGE_MAX), PAGE_MAX), token or ""
        names: list[str] = []
        while True:
            try:
                page, token = page_of(reader, token, limit)
            except CursorInvalid:
                return refuse(responses.BAD_REQUEST, "pageToken is none that this catalog gave")
            names += page
            if not (token and wants_all):
                break
        identifiers = [{"namespace": [NAMESPACE], "name": name} for name in names]
        listing: dict[str, object] = {"identifiers": identifiers}
        if token:
            listing["next-page-token"] = token
        return answer(listing)

    def _tables_page(self, reader: CatalogReader, token: str, limit: int) -> _Page:
        page = catalog_pb2.PaginationRequest(limit=limit, after=token or None)
        request = catalog_pb2.ListDatasetsRequest(pagination=page)
        # The call is in the caller's name if it is limited, so that pages reveal no other datasets.
        try:
            reply = self._meta.catalog.ListDatasets(request, metadata=reader.metadata)
        except Unauthenticated:
            if reader.metadata is None:
                raise
            raise NotKnown("the token was revoked") from None
        names = [item.name for item in reply.items if reader.scope.covers(item.id)]
        return names, reply.pagination.next_cursor

    def _views_page(self, reader: CatalogReader, token: str, limit: int) -> _Page:
        """Page through the views of signals, then through those of the catalog."""
        # No view of the catalog exists for a caller that is limited to datasets.
        is_limited = reader.scope.dataset_ids is not None
        if token.startswith(_CATALOG_VIEWS) and not is_limited:
            return self._catalog_views_page(token.removeprefix(_CATALOG_VIEWS), limit)
        datasets, token = self._tables_page(reader, token, limit)
        names = [str(view) for name in datasets for view in view_names(name)]
        if token or is_limited:
            return names, token
        try:
            views = self._meta.catalog.ListViews(_list_views("", 1))
        except RoleRefused:
            # The gateway itself is limited.
            return names, ""
        return names, _CATALOG_VIEWS if views.items else ""

    def _catalog_views_page(self, token: str, limit: int) -> _Page:
        reply = self._meta.catalog.ListViews(_list_views(token, limit))
        after = reply.pagination.next_cursor
        # A table, or a view of a signal, comes before a view of its name.
        names = [view.name for view in reply.items if not self._tables.is_taken(view.name)]
        return names, f"{_CATALOG_VIEWS}{after}" if after else ""


def _list_views(token: str, limit: int) -> catalog_pb2.ListViewsRequest:
    page = catalog_pb2.PaginationRequest(limit=limit, after=token or None)
    return catalog_pb2.ListViewsRequest(pagination=page)
