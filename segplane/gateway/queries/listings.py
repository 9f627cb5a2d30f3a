"""GET /v1/datasets and /v1/views: those that a caller may query, with typed columns."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Protocol, TypeVar

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
        reply.items,
        reply.pagination,
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
        page,
        reply.items,
        reply.pagination,
        lambda item: compiled_view(client, item.name, is_complete=True).columns,
    )


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=_Named)


def _listing(
    page: ListingPage,
    items: Iterable[Item],
    position: catalog_pb2.PaginationResponse,
    columns_of: Callable[[Item], Columns],
) -> Listing:
    shown = []
    for item in items:
        if monotonic() > page.deadline:
            raise Stopped("the list took too long: ask for fewer items at a time by limit")
        shown.append(_shown(item, columns_of))
    return {
        "items": [item for item in shown if item is not None],
        "next": position.next_cursor or None,
    }


def _shown(item: Item, columns_of: Callable[[Item], Columns]) -> Listing | None:
    names: Listing = {"name": item.name, "id": item.id}
    try:
        columns = columns_of(item)
    except NotFound:
        # Deleted since the list was read.
        return None
    except (ViewUnreadable, KqlError) as error:
        return names | {"error": str(error)}
    return names | {"columns": [{"name": n, "type": type_} for n, type_ in columns.items()]}
