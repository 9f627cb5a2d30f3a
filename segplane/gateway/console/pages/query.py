"""The query page: a query in KQL or SQL, its result as it comes, its plan, its download."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.console.logs.copies import DOWNLOADS
from segplane.gateway.console.query.asked import QUERY_PATH, QueryAsk, parse_query_ask
from segplane.gateway.console.query.names import completions
from segplane.gateway.console.query.places import locate
from segplane.gateway.console.query.rows import RowReader
from segplane.gateway.console.streaming import StreamedPage
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.bodies import answer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.responses import ResultResponse
from segplane.gateway.queries.service import QueryService

# No data looks like it, since its quotes are escaped.
_RESULT = '<section id="result" aria-label="Result">'


class QueryPages:
    """Pages about one query."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {
            f"GET {QUERY_PATH}": self._page,
            f"GET {QUERY_PATH}/plan": self._plan,
            f"GET {QUERY_PATH}/download": self._download,
            f"GET {QUERY_PATH}/names": self._names,
        }

    async def _page(self, request: Request, viewer: Viewer) -> Response:
        ask = parse_query_ask(request.query_params)
        if not ask.text.strip():
            return self._whole("page", viewer, ask)
        try:
            task = ask.task("rows", time.time_ns())
            result = await self._queries.run(request, viewer.caller, task)
        except QueryRefusal as refusal:
            return self._refusal("page", viewer, ask, refusal)
        return StreamedPage(self._streamed(viewer, ask, result))

    async def _plan(self, request: Request, viewer: Viewer) -> Response:
        """Show how a query would be run; only footers of files are read."""
        ask = parse_query_ask(request.query_params)
        name = "plan_part" if request.headers.get("hx-request") == "true" else "plan"
        try:
            task = ask.task("plan", time.time_ns())
            result = await self._queries.result(request, viewer.caller, task)
        except QueryRefusal as refusal:
            return self._refusal(name, viewer, ask, refusal)
        return self._whole(name, viewer, ask, plan=result.content.decode(errors="replace"))

    async def _download(self, request: Request, viewer: Viewer) -> Response:
        ask = parse_query_ask(request.query_params)
        format_ = request.query_params.get("format", "csv")
        if format_ not in DOWNLOADS:
            raise QueryRefusal(
                f"format is {format_[:80]!r}, expected one of {', '.join(DOWNLOADS)}"
            )
        process_format, media_type = DOWNLOADS[format_]
        task = ask.task(process_format, time.time_ns())
        response = await self._queries.run(request, viewer.caller, task)
        response.headers["content-type"] = media_type
        response.headers["content-disposition"] = f'attachment; filename="result.{format_}"'
        return response

    async def _names(self, request: Request, viewer: Viewer) -> Response:
        """Answer the editor's question for names, as JSON."""
        parameters = request.query_params
        language, prefix = parameters.get("lang", ""), parameters.get("prefix", "")
        tables = parameters.getlist("table")
        read = partial(completions, language, prefix, tables)
        return answer({"names": await self._queries.read_catalog(viewer.caller, read)})

    async def _streamed(
        self, viewer: Viewer, ask: QueryAsk, result: ResultResponse
    ) -> AsyncGenerator[str]:
        """Yield the page of a result: its frame, then rows as they come, then what ends it."""
        page = self._whole("page", viewer, ask, is_running=True)
        before, marker, after = bytes(page.body).decode().partition(_RESULT)
        reader, refusal = RowReader(), None
        async with aclosing(result.pieces()) as pieces:
            yield before + marker
            try:
                async for piece in pieces:
                    is_first = reader.columns is None
                    rows = reader.feed(piece)
                    if is_first and reader.columns is not None:
                        yield self._part("result_start", reader=reader)
                    if rows:
                        yield self._part("result_rows", reader=reader, rows=rows)
                    if reader.has_more:
                        break
            except QueryRefusal as error:
                refusal = error
            yield self._part(
                "result_end",
                ask=ask,
                reader=reader,
                refusal=refusal,
                warnings=result.warnings,
                downloads=DOWNLOADS,
            )
        yield after

    def _refusal(self, name: str, viewer: Viewer, ask: QueryAsk, refusal: QueryRefusal) -> Response:
        error = locate(str(refusal), ask.text)
        return self._whole(name, viewer, ask, refusal.status, error=error)

    def _whole(
        self, name: str, viewer: Viewer, ask: QueryAsk, status: int = 200, **values: object
    ) -> Response:
        defaults: dict[str, object] = {"error": None, "is_running": False, "plan": ""}
        frame = {"viewer": viewer, "active": "Query", "active_dataset": ask.dataset, "ask": ask}
        values = defaults | frame | values
        return self._templates.page(f"query/{name}.html", status, **values)

    def _part(self, name: str, **values: object) -> str:
        return bytes(self._templates.page(f"query/{name}.html", 200, **values).body).decode()
