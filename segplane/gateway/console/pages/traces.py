"""Pages about traces: the search, the waterfall of one trace, its spans and its logs."""

import time
from collections.abc import Sequence
from dataclasses import replace

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from segplane.gateway.console.addresses import dataset_of
from segplane.gateway.console.logs.asked import LogsAsk
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.records import rows_of
from segplane.gateway.console.logs.search import LogSearch
from segplane.gateway.console.pages.page_queries import PageQueries, is_part
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.time_range import TimeRange, absolute_range, parse_range
from segplane.gateway.console.traces import queries
from segplane.gateway.console.traces.details import read_details
from segplane.gateway.console.traces.search import TraceAsk, TraceCursor, parse_trace_ask
from segplane.gateway.console.traces.spans import read_spans
from segplane.gateway.console.traces.trace_address import TraceAddress
from segplane.gateway.console.traces.tree import build_tree
from segplane.gateway.console.traces.waterfall import (
    ROWS_MAX,
    TraceView,
    Waterfall,
    parse_view,
    waterfall,
)
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal, Stopped
from segplane.gateway.queries.service import QueryService


class TracePages:
    """Pages about the traces of a dataset."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = PageQueries(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            "GET /ui/traces": self._search,
            "GET /ui/traces/{trace_id}": self._trace,
            "GET /ui/traces/{trace_id}/span": self._span,
            "GET /ui/traces/{trace_id}/logs": self._logs,
        }

    async def _search(self, request: Request, viewer: Viewer) -> Response:
        parameters = request.query_params
        if not parameters.get("dataset"):
            # Relative to /ui/, which a proxy may serve below a path.
            return RedirectResponse("./", 303)
        excerpt = message = ""
        matches: Sequence[TraceCursor] = ()
        summaries: Sequence[queries.TraceSummary] = ()
        ask = TraceAsk(parameters["dataset"], parse_range(parameters, time.time_ns()))
        try:
            ask = parse_trace_ask(parameters, time.time_ns())
            content = await self._run(request, viewer, queries.matches_query(ask))
            matches = await to_thread.run_sync(queries.read_matches, content)
            ids = [match.trace_id for match in matches[: queries.TRACES_MAX]]
            if ids:
                content = await self._run(request, viewer, queries.summaries_query(ask, ids))
                summaries = await to_thread.run_sync(queries.read_summaries, content, ids)
        except QueryRefusal as refusal:
            message, excerpt, status = str(refusal), refusal.excerpt, refusal.status
        else:
            status = 200
        has_more = len(matches) > queries.TRACES_MAX
        after = replace(ask, after=matches[queries.TRACES_MAX - 1]) if has_more else None
        return await self._templates.large_page(
            "traces/search.html",
            status,
            viewer=viewer,
            active_dataset=ask.dataset,
            ask=ask,
            form={name: parameters.get(name, "") for name in _FORM},
            traces=[(_address(ask, summary), summary) for summary in summaries],
            next=after.address() if after else "",
            message=message,
            excerpt=excerpt,
        )

    async def _trace(self, request: Request, viewer: Viewer) -> Response:
        address, within = _asked(request)
        view = parse_view(request.query_params, address.closed)
        query = queries.spans_query(address.dataset, address.trace_id, within)
        content, message = b"[]", ""
        try:
            content = await self._run(request, viewer, query)
        except Stopped as refusal:
            # Only a part of the time can be read within the limits.
            message = str(refusal)
        # Many spans take a fifth of a second, for which other requests should not wait.
        shown, is_cut_off = await to_thread.run_sync(_laid_out, content, view)
        return await self._templates.large_page(
            "traces/trace.html",
            Stopped.status if message else 200 if shown.spans else 404,
            viewer=viewer,
            active_dataset=address.dataset,
            address=address,
            waterfall=shown if shown.spans else None,
            within=within,
            zoom=view.zoom,
            is_cut_off=is_cut_off,
            spans_max=queries.SPANS_MAX,
            message=message,
            rows_max=ROWS_MAX,
        )

    async def _span(self, request: Request, viewer: Viewer) -> Response:
        address, _ = _asked(request)
        span_id = request.query_params.get("span", "").partition("~")[0]
        query = queries.span_query(address.dataset, address.trace_id, span_id)
        content = await self._run(request, viewer, query)
        details = await to_thread.run_sync(read_details, content)
        return await self._templates.large_page(
            _part_or_page(request, "traces/span"),
            200 if details else 404,
            viewer=viewer,
            active_dataset=address.dataset,
            address=address,
            details=details,
        )

    async def _logs(self, request: Request, viewer: Viewer) -> Response:
        address, _ = _asked(request)
        query = queries.logs_query(address.dataset, address.trace_id)
        content = await self._run(request, viewer, query)
        logs = await to_thread.run_sync(rows_of, content, 0)
        times = [row.key.nanos for row in logs] or [0]
        ask = LogsAsk(address.dataset, absolute_range(times[0], times[-1] + 1))
        return await self._templates.large_page(
            _part_or_page(request, "traces/logs"),
            viewer=viewer,
            active_dataset=address.dataset,
            address=address,
            page=LogsPage(ask, LogSearch()),
            logs=logs[: queries.LOGS_MAX],
            has_more=len(logs) > queries.LOGS_MAX,
        )

    async def _run(self, request: Request, viewer: Viewer, query: str) -> bytes:
        return (await self._queries.result(request, viewer, query)).content


_FORM = ("from", "to", "service", "operation", "longer", "shorter", "status", "q")


def _asked(request: Request) -> tuple[TraceAddress, TimeRange | None]:
    """Return the address of a trace, and the time range that its query is limited to."""
    parameters = request.query_params
    dataset_of(parameters)
    has_range = parameters.get("from") and parameters.get("to")
    within = parse_range(parameters, time.time_ns()) if has_range else None
    pairs = tuple((n, v) for n, v in parameters.multi_items() if n in TraceAddress.NAMES and v)
    return TraceAddress(request.path_params["trace_id"], pairs), within


def _laid_out(content: bytes, view: TraceView) -> tuple[Waterfall, bool]:
    """Return the waterfall of a result, and whether there are more spans than it has."""
    spans = read_spans(content)
    roots = build_tree(spans[: queries.SPANS_MAX])
    return waterfall(roots, view), len(spans) > queries.SPANS_MAX


def _address(ask: TraceAsk, summary: queries.TraceSummary) -> str:
    """Return the address of a trace of a list, within the time that its facts are of."""
    pairs = [("dataset", ask.dataset), *queries.near(ask).parameters().items()]
    return TraceAddress(summary.trace_id, tuple(pairs)).page()


def _part_or_page(request: Request, name: str) -> str:
    """Return the template of a part of a page for htmx, else that of a page."""
    return f"{name}_part.html" if is_part(request) else f"{name}.html"
