"""Queries of pages, and their refusals as people read them."""

import re

from starlette.requests import Request

from kql.errors import KqlError
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.responses import QueryResult
from segplane.gateway.queries.service import PAGE_BYTES_MAX, QueryService

# The place of a refusal in our query, which is not the person's text.
_PLACE = re.compile(r"^\d+:\d+: ")


class PageQueries:
    """Runs queries in KQL of pages to their end, with the rights of the viewer."""

    def __init__(self, queries: QueryService) -> None:
        self._queries = queries

    async def result(
        self,
        request: Request,
        viewer: Viewer,
        query: str,
        aggregation: str = "",
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> QueryResult:
        """Return the rows as JSON. Raises QueryRefusal, CallerGone."""
        task = QueryTask(query, "kql", "json", aggregation=aggregation)
        return await self._queries.result(request, viewer.caller, task, bytes_max)


def is_part(request: Request) -> bool:
    """Return true if htmx asks for a part of a page."""
    return request.headers.get("hx-request") == "true"


def readable(error: KqlError | QueryRefusal, search: str) -> QueryRefusal:
    """Return a refusal without the place in a query of ours; its excerpt has the person's words."""
    if isinstance(error, KqlError):
        return QueryRefusal(f"{error.what}; {error.hint}", error.excerpt(search))
    error.args = (_PLACE.sub("", str(error)),)
    return error
