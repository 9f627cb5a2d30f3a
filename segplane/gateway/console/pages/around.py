"""The page of the records around one log record."""

import time

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.logs import around
from segplane.gateway.console.logs.asked import parse_ask, parse_key
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.console.pages.page_queries import PageQueries
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.queries.service import QueryService

_KINDS = ("service", "resource")


class AroundPages:
    """The records of the same service, or of the same resource, before and after one."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = PageQueries(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/logs/around": self._around}

    async def _around(self, request: Request, viewer: Viewer) -> Response:
        parameters = request.query_params
        ask = parse_ask(parameters, time.time_ns())
        key = parse_key(parameters.get("at", ""), parameters.get("digest", ""))
        by = parameters.get("by") or _KINDS[0]
        if by not in _KINDS:
            raise QueryRefusal(f"by is {by[:80]!r}, expected one of {', '.join(_KINDS)}")
        query = around.origin_query(ask.dataset, key)
        origin = around.read_origin((await self._queries.result(request, viewer, query)).content)
        if origin is None:
            raise NotThere("there is no such record: it has been deleted, or was rewritten")
        records = around.Around((), 0)
        side_nanos = 0
        for side_nanos in around.SIDE_NANOS:
            of_resource = by == "resource"
            query = around.around_query(
                ask.dataset, key, origin, side_nanos, of_resource=of_resource
            )
            result = await self._queries.result(request, viewer, query)
            records = await to_thread.run_sync(around.read_around, result.content, key)
            if records.is_full():
                break
        return await self._templates.large_page(
            "logs/around.html",
            viewer=viewer,
            active="Logs",
            active_dataset=ask.dataset,
            page=LogsPage(ask, LogSearch()),
            service=origin.service,
            by=by,
            key=key,
            records=records,
            side_minutes=side_nanos // (60 * 10**9),
        )
