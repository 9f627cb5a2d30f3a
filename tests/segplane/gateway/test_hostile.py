"""Callers that mean harm, or are broken: each is answered or cut off, and costs others nothing."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.server import ServerState

from meta.metrics import RPC_SECONDS
from meta.process.host_names import host_names
from segplane.gateway.app import Gateway
from segplane.gateway.http.connection import (
    BoundedConnection,
    ConnectionLimits,
    UnfinishedRequests,
)
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

TABLES = "v1/namespaces/default/tables"
GET = b"GET /iceberg/v1/config HTTP/1.1\r\nHost: localhost\r\n"
JSON_BODY = b"Content-Type: application/json\r\n"
# Addresses, names and values of headers of the requests below, filled up to the limit.
HEAD_MAX = 4_096
HASTY = ConnectionLimits(request_secs=0.3, stall_secs=0.3, head_bytes_max=HEAD_MAX)
DEADLINE_SECS = 60.0


@pytest.fixture
def hasty(meta_server: MetaServer) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, limits=HASTY)
    yield running
    running.close()


def answer_to(gateway: GatewayServer, *pieces: bytes) -> bytes:
    """All that comes back before the gateway closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", gateway.port), DEADLINE_SECS) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            while part := connection.recv(65_536):
                received += part
        except ConnectionError:
            pass
    return received


def test_a_request_that_does_not_end_is_cut_off(hasty: GatewayServer) -> None:
    unfinished = (
        b"",
        b"\r\n",
        b"GET /iceb",
        GET,
        GET + JSON_BODY + b"Content-Length: 10\r\n\r\n12345",
        GET + JSON_BODY + b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        GET + b"\r\n" + GET,
    )
    with ThreadPoolExecutor(len(unfinished)) as pool:
        answers = list(pool.map(lambda sent: answer_to(hasty, sent), unfinished))

    for sent, answer in zip(unfinished, answers, strict=True):
        # What needs no body is answered before.
        assert answer.count(b"HTTP/1.1 200 ") == sent.count(b"\r\n\r\n"), sent


def test_a_head_may_be_as_large_as_the_limit(hasty: GatewayServer) -> None:
    counted = len(
        b"/iceberg/v1/config" + b"Host" + b"localhost" + b"Connection" + b"close" + b"X-Fill"
    )
    fill = b"f" * (HEAD_MAX - counted)
    head = GET + b"Connection: close\r\nX-Fill: "

    allowed = answer_to(hasty, head + fill + b"\r\n\r\n")
    refused = answer_to(hasty, head + fill + b"f\r\n\r\n")

    assert allowed.startswith(b"HTTP/1.1 200 ")
    assert refused.startswith(b"HTTP/1.1 400 ")


def test_a_head_without_an_end_is_refused_before_it_takes_memory(
    meta_server: MetaServer,
) -> None:
    limits = ConnectionLimits(request_secs=DEADLINE_SECS)
    patient = GatewayServer(meta_server.address, limits=limits)
    chunked = GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: "

    answers = [
        answer_to(patient, begun, *[b"f" * 65_536] * 64)
        for begun in (b"GET /", GET + b"X-Fill: ", chunked)
    ]

    patient.close()
    assert not [answer for answer in answers if b"f" * 100 in answer]


def test_a_caller_that_reads_nothing_is_cut_off() -> None:
    async def large(_: Request) -> Response:
        return Response(bytes(64 << 20))

    config = uvicorn.Config(Starlette(routes=[Route("/", large)]), log_config=None, lifespan="off")
    config.load()
    state = ServerState()

    async def steps() -> int:
        unfinished = UnfinishedRequests(HASTY.unfinished_max)
        options = {"config": config, "server_state": state, "app_state": {}}
        make = partial(BoundedConnection, HASTY, unfinished, **options)
        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller:
            caller.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.to_thread(
                wait_until,
                lambda: bool(state.total_requests and not state.connections),
                "the caller is cut off",
            )
        server.close()
        return state.total_requests

    assert asyncio.run(steps()) == 1


ODD = (
    (f"{TABLES}/%00", 404),
    (f"{TABLES}/{'n' * 3_000}", 404),
    (f"{TABLES}/%ff%fe", 404),
    (f"{TABLES}/..%2f..%2fetc", 404),
    (f"{TABLES}/web@{'9' * 100}", 404),
    (f"{TABLES}/web@{'9' * 18}", 400),
    (f"{TABLES}?pageSize={'9' * 5_000}", 400),
    (f"{TABLES}?pageSize=%D9%A3", 400),
    (f"{TABLES}?pageToken=%00{'x' * 2_000}", 400),
    ("v1/namespaces/default/views/%00_logs", 404),
    ("v1/none", 404),
    ("none", 404),
    ("", 404),
)


def test_odd_requests_are_refused_in_a_sentence(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    # The second names no host that could be part of an address.
    for headers, refusal in (({}, 0), ({"Host": "["}, 421)):
        for path, status in ODD:
            answer = gateway.ask(path, **headers)

            expected = refusal or status
            assert (answer.status, answer.json["error"]["code"]) == (expected,) * 2, path[:80]
            assert answer.message


def test_no_answer_repeats_the_host_that_a_caller_claims(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    any_name = GatewayServer(meta_server.address, hosts=host_names(["evil.example"]))
    for path in ("", "/v1/config/"):
        head = f"GET /iceberg{path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert b"evil" not in answer_to(gateway, head.encode())
        assert b"evil" not in answer_to(any_name, head.encode())
    any_name.close()


def test_a_refusal_is_kept_like_a_table(segments: SegmentWriter, meta_server: MetaServer) -> None:
    """It may have taken all of a dataset's segments to find out."""
    gateway = GatewayServer(meta_server.address, segments_max=1, refresh_secs=DEADLINE_SECS)
    for _ in range(2):
        segments.write()
    before = gateway.table()
    calls = sum_of_calls(meta_server)

    after = [gateway.table() for _ in range(5)]
    gateway.close()

    assert before.status == 400
    assert {one.message for one in after} == {before.message}
    assert sum_of_calls(meta_server) == calls > 0


def sum_of_calls(meta_server: MetaServer) -> float:
    """Calls by which meta was asked for segments."""
    return sum(
        sample.value
        for metric in RPC_SECONDS.collect()
        for sample in metric.samples
        if sample.name.endswith("_count") and sample.labels.get("rpc", "").endswith("FindSegments")
    )


def test_all_who_ask_for_health_at_a_time_ask_meta_once() -> None:
    asked, go_on = [], threading.Event()

    def is_meta_ready() -> bool:
        asked.append(1)
        return go_on.wait(DEADLINE_SECS)

    async def ask(application: Starlette) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": []}
        await application(scope, None, send)  # type: ignore[arg-type]
        return int(sent[0]["status"])

    async def steps() -> list[int]:
        application = Gateway(None, None, is_meta_ready).application()  # type: ignore[arg-type]
        asks = [asyncio.create_task(ask(application)) for _ in range(200)]
        await asyncio.to_thread(wait_until, lambda: bool(asked), "meta is asked")
        go_on.set()
        return await asyncio.gather(*asks)

    assert asyncio.run(steps()) == [200] * 200
    assert len(asked) == 1
