"""One live view: a search of logs, and the events that it sends as versions become visible."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.datastructures import QueryParams
from starlette.requests import Request

from kql.errors import KqlError
from segplane.gateway.console.addresses import changed_address
from segplane.gateway.console.live.feeds import AddedSegments, LiveFeed, LiveFeeds
from segplane.gateway.console.logs.asked import LogsAsk, parse_ask
from segplane.gateway.console.logs.page import LogsPage
from segplane.gateway.console.logs.records import LogRow, PageReader, live_query
from segplane.gateway.console.logs.search import LogSearch, parse_search
from segplane.gateway.console.refusal_texts import readable
from segplane.gateway.console.templating import Templates
from segplane.gateway.console.viewer import Viewer
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.processes.wire import NewestPage, QueryTask
from segplane.gateway.queries.service import PAGE_BYTES_MAX, QueryService
from segplane.read.files.files import DatasetFile

# Of one read, and there is at most one a second.
ROWS_MAX = 100
FILES_MAX = 64
# Of the rows of one event, which waits in memory for its browser: of longer rows fewer are shown.
HTML_CHARACTERS_MAX = 262_144
READ_SECS = 1.0
_PARAMETERS_MAX = 64
# Of a version in an address or an event's id.
DIGITS_MAX = 18


@dataclass(frozen=True, slots=True)
class LiveAsk:
    """A search that a view follows, from a version on; 0 = from now on."""

    ask: LogsAsk
    search: LogSearch
    since: int


@dataclass(frozen=True, slots=True)
class ViewEvent:
    """Something that a view tells its page: `kind` is state or rows.

    `through` is the version that all of the view's events so far cover.
    """

    kind: str
    through: int
    values: dict[str, object]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The newest rows of some segments that fit a search, and how many fit."""

    html: str
    shown: int
    matched: int


class LiveReader:
    """Reads rows of views: one read at a time for a person, each in a slot of the person's pages.

    `slot` waits for the slot of a request.
    """

    def __init__(
        self,
        queries: QueryService,
        templates: Templates,
        slot: Callable[[Request, Viewer], AbstractAsyncContextManager[None]],
    ) -> None:
        self._queries = queries
        self._templates = templates
        self._slot = slot

    async def events(
        self, request: Request, viewer: Viewer, live: LiveAsk, feeds: LiveFeeds
    ) -> AsyncGenerator[ViewEvent]:
        """Yield the events of a view until the caller ends it. Raises QueryRefusal, CallerGone."""
        position, shown_state, read_at = live.since, None, float("-inf")
        async with feeds.followed(viewer, live.ask.dataset, live.since) as feed:
            while True:
                news = feed.news
                if feed.version and not 0 < position <= feed.version:
                    position = feed.version
                state = (feed.freshness, str(feed.refusal or ""))
                if state != shown_state and (feed.version or feed.refusal):
                    shown_state = state
                    values: dict[str, object] = {"freshness": state[0], "trouble": state[1]}
                    yield ViewEvent("state", position, values)
                added = feed.added_since(position)
                if added.files or (added.is_cut and feed.version > position):
                    await asyncio.sleep(max(0.0, read_at + READ_SECS - time.monotonic()))
                    read_at = time.monotonic()
                    added = feed.added_since(position)
                    yield await self._read(request, viewer, live, feed, added)
                if feed.version:
                    position = max(position, added.through)
                await news.wait()

    async def _read(
        self,
        request: Request,
        viewer: Viewer,
        live: LiveAsk,
        feed: LiveFeed,
        added: AddedSegments,
    ) -> ViewEvent:
        """Read the rows of the newest segments of those that were added."""
        files = added.files[-FILES_MAX:]
        rows, trouble = _Rows("", 0, 0), ""
        if files:
            try:
                rows = await self._rows(request, viewer, live, feed, files, added.through)
            except QueryRefusal as error:
                trouble = str(readable(error, live.ask.search))
        values: dict[str, object] = {
            "html": rows.html,
            "shown": rows.shown,
            "left_out": rows.matched - rows.shown,
            "segments_left_out": len(added.files) - len(files),
            # The next read begins behind these segments, whether they could be read or not.
            "is_cut": added.is_cut or bool(trouble),
            "trouble": trouble,
        }
        return ViewEvent("rows", added.through, values)

    async def _rows(
        self,
        request: Request,
        viewer: Viewer,
        live: LiveAsk,
        feed: LiveFeed,
        files: Sequence[DatasetFile],
        through: int,
    ) -> _Rows:
        task = QueryTask(
            live_query(live.ask, live.search),
            "kql",
            "json",
            page=NewestPage(ROWS_MAX, is_counted=True),
        )
        async with self._slot(request, viewer):
            answer = await self._queries.run(request, viewer.caller, task, feed.opened(files))
            content = (await answer.whole(PAGE_BYTES_MAX)).content
        counted, _, lines = content.partition(b"\n")
        reader = PageReader(len(live.ask.columns))
        await to_thread.run_sync(reader.feed, lines)
        page, rows = LogsPage(live.ask, live.search), reader.rows
        html = await self._html(page, rows, through)
        while len(html) > HTML_CHARACTERS_MAX and len(rows) > 1:
            rows = rows[: len(rows) // 2]
            html = await self._html(page, rows, through)
        return _Rows(html, len(rows), int(json.loads(counted)["matched"]))

    async def _html(self, page: LogsPage, rows: Sequence[LogRow], through: int) -> str:
        rendered = await self._templates.large_page(
            "logs/rows.html", page=page, rows=rows, first=0, prefix=f"live-{through}"
        )
        return bytes(rendered.body).decode()


def parse_view(text: str, now_nanos: int) -> LiveAsk:
    """Parse the parameters of a view, as its address has them. Raises QueryRefusal."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_PARAMETERS_MAX)
    except ValueError:
        raise changed_address("live view") from None
    parameters = QueryParams(pairs)
    ask = parse_ask(parameters, now_nanos)
    since = parameters.get("since", "0")
    if not (since.isascii() and since.isdecimal() and len(since) <= DIGITS_MAX):
        raise QueryRefusal(f"since is {since[:40]!r}, expected a version")
    try:
        return LiveAsk(ask, parse_search(ask.search), int(since))
    except KqlError as error:
        raise readable(error, ask.search) from error
