"""GET /v1/datasets and /v1/views: those that a caller may query, with typed columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from kql.errors import KqlError
from kql.typed import Columns
from meta.client import MetaClient
from meta.errors import NotFound, RoleRefused
from meta.v1 import catalog_pb2
from segplane.gateway.http.refusals import QueryRefusal, Stopped
from segplane.gateway.queries.requests import limit_of
from segplane.read.views.view_sql import ViewUnreadable, compiled_view, table_of

ITEMS_MAX = 1_000
# Each item of a page takes calls of meta; a view two for each of its links.
_ITEMS_DEFAULT = 100
_CURSOR_CHARACTERS_MAX = 4_096
Listing = dict[str, object]


@dataclass(frozen=True, slots=True)
class ListingPage:
    """A part of a list: at most so many items, from the one after a cursor on; "" = the first.

    `deadline` is when, of the monotonic clock, nobody waits for it any more.
    """

    limit: int
    after: str
    deadline: float

    def request(self) -> catalog_pb2.PaginationRequest:
        """Return it as meta is asked for it."""
        return catalog_pb2.PaginationRequest(limit=self.limit, after=self.after or None)


def page_of(parameters: Mapping[str, str], deadline: float) -> ListingPage:
    """Return the page that a request's parameters name; raises QueryRefusal."""
    limit = limit_of(parameters, _ITEMS_DEFAULT, ITEMS_MAX, "after")
    after = parameters.get("after", "")
    if len(after) > _CURSOR_CHARACTERS_MAX:
        raise QueryRefusal("after is no cursor: send `next` of the page before")
    return ListingPage(limit, after, deadline)


def list_datasets(client: MetaClient, page: ListingPage) -> Listing:
    """Return a page of the datasets that the caller may see. Raises MetaError."""
    reply = client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(pagination=page.request()))
    return _listing(
        page,
        reply,
        lambda item: table_of(client, item.id, item.name, is_complete=True, has_words=True).columns,
    )


def list_views(client: MetaClient, page: ListingPage) -> Listing:
    """Return a page of the views; none for a caller that is limited to datasets.

    A view that cannot be read has the reason in the place of its columns. Raises MetaError.
    """
    try:
        reply = client.catalog.ListViews(catalog_pb2.ListViewsRequest(pagination=page.request()))
    except RoleRefused:
        # A caller whose role may not even list datasets is refused.
        list_datasets(client, ListingPage(1, "", page.deadline))
        return {"items": [], "next": None}
    return _listing(
        page, reply, lambda item: compiled_view(client, item.name, is_complete=True).columns
    )


def _listing(page: ListingPage, reply: Any, columns_of: Callable[[Any], Columns]) -> Listing:
    shown: list[Listing] = []
    for item in reply.items:
        if monotonic() > page.deadline:
            raise Stopped("the list took too long: ask for fewer items at a time by limit")
        names: Listing = {"name": item.name, "id": item.id}
        try:
            columns = [{"name": n, "type": type_} for n, type_ in columns_of(item).items()]
            shown.append(names | {"columns": columns})
        except NotFound:
            # Deleted since the list was read.
            continue
        except (ViewUnreadable, KqlError) as error:
            shown.append(names | {"error": str(error)})
    return {"items": shown, "next": reply.pagination.next_cursor or None}
