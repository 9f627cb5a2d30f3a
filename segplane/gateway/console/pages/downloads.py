"""Results of a search of logs to take away: downloads, and texts to copy."""

import time
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from kql.errors import KqlError
from segplane.gateway.console import tenancy
from segplane.gateway.console.logs.asked import LogsAsk, parse_ask
from segplane.gateway.console.logs.copies import DOWNLOADS, copies, file_name, whole_query
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.search import LogSearch, parse_search
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Page, Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.service import QueryService


class DownloadPages:
    """Downloads of a search, and the page that offers them."""

    def __init__(self, queries: QueryService, templates: Templates) -> None:
        self._queries = queries
        self._templates = templates

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {"GET /ui/logs/download": self._download, "GET /ui/logs/share": self._share}

    async def _download(self, request: Request, viewer: Viewer) -> Response:
        ask, search = _asked(request)
        format_ = request.query_params.get("format", "csv")
        if format_ not in DOWNLOADS:
            raise QueryRefusal(
                f"format is {format_[:80]!r}, expected one of {', '.join(DOWNLOADS)}"
            )
        process_format, media_type = DOWNLOADS[format_]
        task = QueryTask(whole_query(ask, search), "kql", process_format)
        response = await self._queries.run(request, viewer.caller, task)
        response.headers["content-type"] = media_type
        name = file_name(ask.dataset, format_)
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
        return response

    async def _share(self, request: Request, viewer: Viewer) -> Response:
        ask, search = _asked(request)
        return self._templates.page(
            "logs/share.html",
            viewer=viewer,
            active="Logs",
            active_dataset=ask.dataset,
            page=LogsPage(ask, search),
            downloads=[
                (format_, ask.address("/ui/logs/download", ("format", format_)))
                for format_ in DOWNLOADS
            ],
            copies=copies(
                whole_query(ask, search), request.state.server_address, tenancy.current()
            ),
        )


def _asked(request: Request) -> tuple[LogsAsk, LogSearch]:
    """Return the search of an address, without its page. Raises QueryRefusal."""
    ask = replace(parse_ask(request.query_params, time.time_ns()), after=None)
    try:
        return ask, parse_search(ask.search)
    except KqlError as error:
        raise readable(error, ask.search) from None
