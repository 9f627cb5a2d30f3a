"""Metrics of a dataset: the list of them, and one as a chart with its table."""

import time
from collections.abc import Iterator

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from segplane.gateway.console.logs.page import ShownLink
from segplane.gateway.console.metrics.asked import (
    FUNCTIONS,
    METRICS_PATH,
    MetricAsk,
    parse_metric_ask,
)
from segplane.gateway.console.metrics.queries import (
    METRICS_MAX,
    ListedMetric,
    MetricPoints,
    list_query,
    metrics_of,
    points_of,
    points_query,
    step_of,
)
from segplane.gateway.console.pages.page_queries import PageQueries
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.time_range import parse_range
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.service import QueryService

_QUICK_RANGES = ("15m", "1h", "6h", "1d", "7d")
_MILLIS_NANOS = 10**6


class MetricPages:
    """Pages about the metrics of one dataset."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = PageQueries(queries)
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {f"GET {METRICS_PATH}": self._page}

    async def _page(self, request: Request, viewer: Viewer) -> Response:
        if not request.query_params.get("dataset"):
            # Relative, as all redirects: a proxy may serve the console below a path.
            return RedirectResponse("./", 303)
        ask = parse_metric_ask(request.query_params, time.time_ns())
        listed: list[ListedMetric] = []
        metric, points, refusal = None, None, None
        try:
            content = (await self._queries.result(request, viewer, list_query(ask))).content
            listed = await to_thread.run_sync(metrics_of, content)
            if ask.name and listed:
                metric = listed[0]
                points = await self._points(request, viewer, ask, metric)
        except QueryRefusal as error:
            refusal = readable(error, "")
        return await self._templates.large_page(
            f"metrics/{'one' if ask.name else 'list'}.html",
            refusal.status if refusal else 200,
            viewer=viewer,
            active="Metrics",
            active_dataset=ask.dataset,
            ask=ask,
            metrics=listed[:METRICS_MAX],
            has_more=len(listed) > METRICS_MAX,
            metric=metric,
            points=points,
            refusal=refusal,
            functions=FUNCTIONS,
            step_ms=step_of(ask, ask.function or metric.function) if metric else 0,
            ranges=list(_ranges(ask)),
        )

    async def _points(
        self, request: Request, viewer: Viewer, ask: MetricAsk, metric: ListedMetric
    ) -> MetricPoints:
        result = await self._queries.result(request, viewer, points_query(ask, metric))
        return await to_thread.run_sync(points_of, result.content, len(ask.groups))


def _ranges(ask: MetricAsk) -> Iterator[ShownLink]:
    """Yield the ranges that end now, and those around the present one."""
    for age in _QUICK_RANGES:
        bounds = {"from": f"-{age}", "to": "now"}
        address = ask.at_range(parse_range(bounds, time.time_ns())).address()
        yield ShownLink(f"Last {age}", address, bounds == ask.range.parameters())
    for text, other in (("Earlier", ask.range.previous()), ("Later", ask.range.next())):
        yield ShownLink(text, ask.at_range(other).address())
