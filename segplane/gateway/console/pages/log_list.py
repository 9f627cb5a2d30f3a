"""The list of a search of logs, which is sent while its rows come: the newest ones first."""

import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kql.errors import KqlError
from segplane.gateway.console.logs.asked import parse_ask
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.records import PageReader, page_of, page_query
from segplane.gateway.console.logs.search import LogSearch, parse_search
from segplane.gateway.console.pages.datasets import numbers_of
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.streaming import StreamedPage
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.console.visible_text import Marks
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.responses import ResultResponse
from segplane.gateway.queries.service import QueryService

# No data looks like it, since its quotes are escaped.
_RECORDS = '<section id="records" aria-label="Records">'


class LogListPages:
    """The list of the log records of a dataset."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/logs": self._list}

    async def _list(self, request: Request, viewer: Viewer) -> Response:
        if not request.query_params.get("dataset"):
            # Relative, as all redirects: a proxy may serve the console below a path.
            return RedirectResponse("./", 303)
        ask = parse_ask(request.query_params, time.time_ns())
        page, reader = LogsPage(ask, LogSearch()), PageReader(len(ask.columns))
        try:
            page = LogsPage(ask, parse_search(ask.search))
            task = QueryTask(page_query(ask, page.search), "kql", "json", page=page_of(ask))
            result = await self._queries.run(request, viewer.caller, task)
            pieces = result.pieces()
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(aclosing(pieces))
                # Before the first row, the answer may still be another page.
                async for piece in pieces:
                    if await to_thread.run_sync(reader.feed, piece):
                        stack.pop_all()
                        return StreamedPage(self._streamed(viewer, page, reader, result, pieces))
        except (KqlError, QueryRefusal) as error:
            refusal = readable(error, ask.search)
            return await self._part("list", viewer, page, refusal.status, refusal=refusal)
        return await self._without_rows(viewer, replace(page, warnings=result.warnings))

    async def _without_rows(self, viewer: Viewer, page: LogsPage) -> Response:
        """Return the page of a search without records, or the way to a dataset's first one."""
        if page.ask.after is None:
            try:
                numbers = await numbers_of(self._queries, viewer, page.ask.dataset)
            except NotThere:
                # A view, or another table that can be searched and has no numbers.
                numbers = None
            if numbers is not None and not numbers.segment_count:
                return RedirectResponse(f"empty?{page.dataset_parameter()}", 303)
            page = replace(page, numbers=numbers)
        return await self._part("list", viewer, page, refusal=None)

    async def _streamed(
        self,
        viewer: Viewer,
        page: LogsPage,
        reader: PageReader,
        result: ResultResponse,
        pieces: AsyncGenerator[bytes],
    ) -> AsyncGenerator[str]:
        """Yield the frame with the first rows, further rows as they come, then what ends them."""
        marks, refusal, shown = Marks(), None, 0

        async def part(name: str, **values: object) -> str:
            rendered = await self._part(name, viewer, page, 200, marks=marks, **values)
            return bytes(rendered.body).decode()

        async with aclosing(pieces):
            page = replace(page, rows=tuple(reader.rows), warnings=result.warnings)
            before, marker, after = (await part("list", refusal=None)).partition(_RECORDS)
            yield before + marker + await part("rows_start")
            try:
                piece = b""
                while not shown or piece:
                    yield await part("rows", first=shown, prefix="record", rows=reader.rows[shown:])
                    shown = len(reader.rows)
                    piece = await anext(pieces, b"")
                    await to_thread.run_sync(reader.feed, piece)
            except QueryRefusal as error:
                refusal = readable(error, page.ask.search)
            page = replace(page, rows=tuple(reader.rows), has_more=reader.has_more)
            yield await part("rows_end", refusal=refusal)
        yield after

    async def _part(
        self, name: str, viewer: Viewer, page: LogsPage, status: int = 200, **values: object
    ) -> Response:
        return await self._templates.large_page(
            f"logs/{name}.html",
            status,
            viewer=viewer,
            active="Logs",
            active_dataset=page.ask.dataset,
            page=page,
            **values,
        )
