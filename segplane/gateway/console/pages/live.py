"""Live logs: the page that follows a search, and the stream of events of a browser's pages."""

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kql.errors import KqlError
from segplane.gateway.console.live.feeds import LiveFeeds
from segplane.gateway.console.live.streams import EventStream, LiveStreams
from segplane.gateway.console.live.views import DIGITS_MAX, LiveAsk, LiveReader, parse_view
from segplane.gateway.console.logs.asked import parse_ask
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.search import LogSearch, parse_search
from segplane.gateway.console.page_slots import PageSlots
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import LoginNeeded, Page, Viewer
from segplane.gateway.http.refusals import NotAllowed, NotKnown, QueryRefusal
from segplane.gateway.queries.service import QueryService

LIVE_PATH = "/ui/logs/live"
# Of one stream; the address of a stream has them all.
VIEWS_MAX = 8


class LivePages:
    """Live logs of datasets. `find_viewer` finds the viewer of a request anew."""

    def __init__(
        self,
        queries: QueryService,
        templates: Templates,
        slots: PageSlots,
        find_viewer: Callable[[Request], Awaitable[Viewer]],
    ) -> None:
        self._templates = templates
        self._find_viewer = find_viewer
        self.feeds = LiveFeeds(queries.connect)
        self.streams = LiveStreams()
        self._reader = LiveReader(
            queries,
            templates,
            lambda request, viewer: slots.live_read(viewer.caller.name, request),
        )

    def pages(self) -> dict[str, Page]:
        """Return the page of each method and path."""
        return {f"GET {LIVE_PATH}": self._page, "GET /ui/live/events": self._events}

    def drain(self) -> None:
        """End all streams."""
        self.streams.drain()

    async def _page(self, request: Request, viewer: Viewer) -> Response:
        if not request.query_params.get("dataset"):
            # Relative, as all redirects: a proxy may serve the console below a path.
            return RedirectResponse("../", 303)
        ask = parse_ask(request.query_params, time.time_ns())
        search, refusal = LogSearch(), None
        try:
            search = parse_search(ask.search)
        except KqlError as error:
            refusal = readable(error, ask.search)
        return self._templates.page(
            "live/page.html",
            refusal.status if refusal else 200,
            viewer=viewer,
            active="Logs",
            active_dataset=ask.dataset,
            page=LogsPage(ask, search),
            live_path=LIVE_PATH,
            refusal=refusal,
        )

    async def _events(self, request: Request, viewer: Viewer) -> Response:
        texts = request.query_params.getlist("view")
        if not 0 < len(texts) <= VIEWS_MAX:
            raise QueryRefusal(f"the stream has {len(texts)} views, expected 1 to {VIEWS_MAX}")
        now_nanos = time.time_ns()
        asks = _continued(request, [parse_view(text, now_nanos) for text in texts])
        self.streams.check(viewer.caller.name)
        views = [partial(self._reader.events, request, viewer, ask, self.feeds) for ask in asks]
        return EventStream(
            request,
            self.streams,
            viewer.caller.name,
            partial(self._check, request, viewer),
            views,
            [ask.since for ask in asks],
        )

    async def _check(self, request: Request, viewer: Viewer) -> None:
        """Raise QueryRefusal if the session has ended, or its rights are not the same."""
        try:
            current = await self._find_viewer(request)
        except LoginNeeded:
            raise NotKnown("the session has ended: load the page again to log in") from None
        if current.rights != viewer.rights:
            raise NotAllowed("the rights have changed: load the page again")


def _continued(request: Request, asks: Sequence[LiveAsk]) -> Sequence[LiveAsk]:
    """Return the views from the versions on that the browser names as its last ones."""
    versions = request.headers.get("last-event-id", "").split(".")
    is_id = len(versions) == len(asks) and all(
        text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX for text in versions
    )
    if not is_id:
        return asks
    return [
        LiveAsk(ask.ask, ask.search, int(version) or ask.since)
        for ask, version in zip(asks, versions, strict=True)
    ]
