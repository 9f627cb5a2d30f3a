"""Queries of pages."""

from starlette.requests import Request

from segplane.gateway.console.viewer import Viewer
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.responses import QueryResult
from segplane.gateway.queries.service import PAGE_BYTES_MAX, QueryService


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
