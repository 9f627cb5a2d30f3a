"""Slots of pages: half of a caller's places for queries, held until a page is sent."""

import asyncio
import http.client
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from select import select

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from segplane.gateway.console.page_slots import WAITING_MAX, PageSlots
from segplane.gateway.http import metrics
from segplane.gateway.http.callers import Caller, OwnTokens
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.readers import CatalogReaders
from segplane.gateway.http.refusals import CallerGone
from segplane.gateway.queries.service import QueryService
from segplane.gateway.queries.settings import QuerySettings
from tests.segplane.console.log_records import several, write_logs
from tests.segplane.console.test_logs import path
from tests.segplane.console.test_query_page import path as query_path
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.visitors import AnyVisitors
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

_PAGES = 2
_ENDLESS = "SELECT sum(hash(a.range + b.range)) FROM range(1000000) a, range(1000000) b"
# More than the buffers of a connection take.
_LARGE = "SELECT repeat('x', 1000) AS text FROM range(100000)"


def list_datasets(client: MetaClient) -> object:
    return client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest(), timeout=60)


@pytest.fixture
def narrow(meta_server: MetaServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    """A console with two slots, for which pages wait 20 seconds at most."""
    queries = QuerySettings(concurrent=8, caller_concurrent=4, secs=20.0)
    running = GatewayServer(
        meta_server.address, pool=query_pool, visitors=AnyVisitors(), queries=queries
    )
    yield running
    running.close()


def asking(console: GatewayServer, address: str) -> http.client.HTTPConnection:
    """Ask for a page without reading it."""
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=60)
    connection.connect()
    # The kernel would take much of a page that nobody reads.
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.request("GET", f"/{address}")
    return connection


def waits(console: GatewayServer, address: str) -> bool:
    """Return whether a page is not answered soon."""
    with closing(asking(console, address)) as connection:
        return not select([connection.sock], [], [], 0.3)[0]


def running() -> float:
    return float(metrics.RUNNING_QUERIES._value.get())


@pytest.mark.long
def test_pages_of_a_caller_run_two_queries_at_a_time(
    console: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3))
    highest = 0.0

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(console.get, path(("q", f"line {n}"))) for n in range(8)]
        while not all(answer.done() for answer in answers):
            highest = max(highest, running())

    assert [answer.result().status for answer in answers] == [200] * 8
    assert 1 <= highest <= _PAGES


@pytest.mark.long
def test_pages_that_wait_have_a_limit_and_go_with_their_browsers(narrow: GatewayServer) -> None:
    blocked = query_path(_ENDLESS, lang="sql")
    with ExitStack() as stack:

        def ask(count: int) -> None:
            for _ in range(count):
                stack.enter_context(closing(asking(narrow, blocked)))

        ask(_PAGES)
        wait_until(lambda: running() == _PAGES, "the slots are taken")
        with ExitStack() as waiting:
            for _ in range(WAITING_MAX):
                waiting.enter_context(closing(asking(narrow, blocked)))
            wait_until(lambda: narrow.get(blocked).status == 429, "as many wait as may")
            assert narrow.get("ui/").status == 200
        wait_until(lambda: waits(narrow, blocked), "those that have left make room for others")
    wait_until(lambda: running() == 0, "nothing runs any more")
    assert narrow.get(query_path("print 1")).status == 200


def test_a_page_without_queries_ends_when_its_browser_leaves() -> None:
    async def disconnected() -> Message:
        return {"type": "http.disconnect"}

    async def endless() -> Response:
        await asyncio.Event().wait()
        return Response()

    request = Request({"type": "http"}, disconnected)
    slots = PageSlots(QuerySettings())

    with pytest.raises(CallerGone):
        asyncio.run(slots.respond("GET /ui/", "ann", request, endless))


@pytest.mark.long
def test_calls_of_meta_end_with_the_page_that_waits_for_them(query_pool: SharedPool) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent_meta,
        MetaClient(f"127.0.0.1:{silent_meta.getsockname()[1]}") as client,
    ):
        own, address = OwnTokens(""), f"127.0.0.1:{silent_meta.getsockname()[1]}"
        service = QueryService(
            QuerySettings(),
            CatalogReaders(client, own),
            lambda _: MetaClient(address),
            None,
            query_pool,
            GatewayRights(lambda: MetaClient(address)),
        )

        async def leave() -> None:
            page = asyncio.create_task(service.read_catalog(Caller("ann"), list_datasets))
            connection, _ = await asyncio.to_thread(silent_meta.accept)
            with connection:
                assert await asyncio.to_thread(connection.recv, 1 << 16)
                page.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await page
                while await asyncio.to_thread(connection.recv, 1 << 16):
                    pass

        silent_meta.settimeout(30)
        asyncio.run(asyncio.wait_for(leave(), 60))


@pytest.mark.long
def test_downloads_take_one_slot_until_they_are_sent(
    narrow: GatewayServer, segments: SegmentWriter
) -> None:
    write_logs(segments, *several(3))
    address = query_path(_LARGE, lang="sql", route="/download")

    with closing(asking(narrow, address)) as first, closing(asking(narrow, address)):
        assert first.getresponse().status == 200

        assert narrow.get(path()).status == 200
        assert running() == 1
    wait_until(lambda: running() == 0, "nothing runs any more")
