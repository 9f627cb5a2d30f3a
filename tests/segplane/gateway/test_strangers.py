"""Connections that strangers hold open at a gateway keep no caller out."""

from collections.abc import Iterator

import pytest

from benchmarks.harness.strangers import closed, held_connections
from segplane.gateway.http.connection import ConnectionLimits
from segplane.gateway.server import CONCURRENT_REQUESTS_MAX
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

# More than are answered at a time.
CONNECTIONS = CONCURRENT_REQUESTS_MAX + 50
FEW = 5
ROUNDS = 5
_HEAD = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n"
HELD = [
    pytest.param(b"", id="connections without a byte"),
    pytest.param(_HEAD, id="heads without ends"),
    pytest.param(_HEAD + b"Content-Length: 1000\r\n\r\n", id="bodies that do not come"),
]


@pytest.fixture
def narrow(meta_server: MetaServer) -> Iterator[GatewayServer]:
    running = GatewayServer(meta_server.address, limits=ConnectionLimits(unfinished_max=FEW))
    yield running
    running.close()


@pytest.mark.parametrize("sent", HELD)
def test_strangers_keep_no_caller_from_a_gateway(gateway: GatewayServer, sent: bytes) -> None:
    with held_connections(gateway.port, CONNECTIONS, sent) as held:
        for _ in range(ROUNDS):
            assert gateway.get("iceberg/v1/config").status == 200
            assert gateway.get("healthz").status == 200
        wait_until(lambda: closed(held) > CONNECTIONS // 3, "closed ones", seconds=30)


def test_as_many_requests_are_unfinished_as_may_and_one_more_closes_the_oldest(
    narrow: GatewayServer,
) -> None:
    with held_connections(narrow.port, FEW, _HEAD) as held:
        with held_connections(narrow.port, 1) as (last,):
            wait_until(lambda: closed(held) == 1, "the oldest's end", seconds=30)
            assert closed([held[0], last]) == 1
        for connection in held[1:]:
            connection.setblocking(True)
            connection.sendall(b"\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 ")


def test_a_request_that_is_answered_counts_no_more_and_its_connection_does(
    narrow: GatewayServer,
) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n"
    with held_connections(narrow.port, 1, request) as (served,):
        served.setblocking(True)
        assert served.recv(65_536).startswith(b"HTTP/1.1 200")
        with held_connections(narrow.port, FEW):
            wait_until(lambda: closed([served]) == 1, "the idle one's end", seconds=30)
