"""The logs of a dataset: one record, the histogram with its facets, values of a field."""

import time
from dataclasses import replace

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from kql.errors import KqlError
from segplane.gateway.console.logs import histogram as counting
from segplane.gateway.console.logs import records
from segplane.gateway.console.logs.asked import (
    LogsAsk,
    parse_ask,
    parse_key,
)
from segplane.gateway.console.logs.fields import parse_field
from segplane.gateway.console.logs.page import LogsPage, address_of_record
from segplane.gateway.console.logs.search import LogSearch, parse_search
from segplane.gateway.console.logs.unfolded import body_nodes, parse_record, tree_of
from segplane.gateway.console.pages.page_queries import PageQueries, is_part
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.queries.service import QueryService

_SEARCHED_CHARACTERS_MAX = 200


class LogPages:
    """Pages about the logs of one dataset, and parts of them."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = PageQueries(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            "GET /ui/logs/record": self._record,
            "GET /ui/logs/histogram": self._histogram,
            "GET /ui/logs/values": self._values,
        }

    async def _record(self, request: Request, viewer: Viewer) -> Response:
        ask = _ask(request)
        parameters = request.query_params
        key = parse_key(parameters.get("at", ""), parameters.get("digest", ""))
        query = records.record_query(ask.dataset, key)
        result = await self._queries.result(
            request, viewer, query, bytes_max=records.RECORD_BYTES_MAX
        )
        record = await to_thread.run_sync(parse_record, result.content)
        if record is None:
            raise NotThere(
                "there is no such record any more: it has been deleted, or was rewritten"
            )
        body = str(record.get("body") or "")
        is_whole = "body" in parameters
        shown_max = records.BODY_CHARACTERS_MAX if is_whole else records.SHOWN_CHARACTERS_MAX
        name = "record_part" if is_part(request) else "record"
        page = LogsPage(ask, _search_or_none(ask.search))
        return await self._page(
            name,
            viewer,
            page,
            key=key,
            address=address_of_record(ask, key),
            trace_id=str(record.get("trace_id") or ""),
            body=body[:shown_max],
            is_cut_off=len(body) > shown_max,
            is_whole=is_whole,
            body_nodes=await to_thread.run_sync(body_nodes, body),
            nodes=await to_thread.run_sync(tree_of, record),
        )

    async def _histogram(self, request: Request, viewer: Viewer) -> Response:
        ask = replace(_ask(request), after=None)
        page = LogsPage(ask, LogSearch())
        histogram, refusal, status = None, None, 200
        try:
            search = parse_search(ask.search)
            query, aggregation = counting.histogram_query(ask, search), counting.aggregation(ask)
            result = await self._queries.result(request, viewer, query, aggregation)
            histogram = await to_thread.run_sync(counting.histogram_of, result.content, ask)
        except (KqlError, QueryRefusal) as error:
            refusal = readable(error, ask.search)
            status = refusal.status
        name = "histogram_part" if is_part(request) else "histogram"
        return await self._page(
            name,
            viewer,
            page,
            status,
            histogram=histogram,
            severities=counting.SEVERITIES,
            refusal=refusal,
        )

    async def _values(self, request: Request, viewer: Viewer) -> Response:
        ask = replace(_ask(request), after=None)
        field = parse_field(request.query_params.get("field", ""))
        text = request.query_params.get("find", "")[:_SEARCHED_CHARACTERS_MAX]
        try:
            query = counting.values_query(ask, parse_search(ask.search), field, text)
            result = await self._queries.result(request, viewer, query)
        except (KqlError, QueryRefusal) as error:
            raise readable(error, ask.search) from error
        facet = await to_thread.run_sync(counting.values_of, result.content, field)
        name = "values_part" if is_part(request) else "values"
        page = LogsPage(ask, LogSearch())
        return await self._page(name, viewer, page, facet=facet, find=text)

    async def _page(
        self, name: str, viewer: Viewer, page: LogsPage, status: int = 200, **values: object
    ) -> Response:
        """Render a template of logs."""
        return await self._templates.large_page(
            f"logs/{name}.html",
            status,
            viewer=viewer,
            active="Logs",
            active_dataset=page.ask.dataset,
            page=page,
            **values,
        )


def _ask(request: Request) -> LogsAsk:
    return parse_ask(request.query_params, time.time_ns())


def _search_or_none(text: str) -> LogSearch:
    """Return a search, for its terms alone; none of one that is refused elsewhere."""
    try:
        return parse_search(text)
    except KqlError:
        return LogSearch()
