"""Callers of management that mean harm: each is answered within bounds, others as usual."""

import json
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from segplane.gateway.http.bodies import BODY_BYTES_MAX
from segplane.gateway.http.connection import ConnectionLimits
from segplane.gateway.queries.accounts import WAITING_MAX
from segplane.gateway.queries.settings import QuerySettings
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.gated_proxy import GatedProxy, gated_proxy
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

DATASET = "v1/datasets/web"
HASTY = ConnectionLimits(request_secs=0.5, stall_secs=0.5)
NOTE_CHARACTERS_MAX = 65_536


@pytest.fixture(autouse=True)
def dataset(meta_server: MetaServer) -> str:
    return CatalogDriver(meta_server.client).dataset("web")


@pytest.fixture
def held(meta_server: MetaServer) -> Iterator[GatedProxy]:
    with gated_proxy(meta_server.address) as proxy:
        yield proxy


def test_a_body_may_be_as_large_as_the_limit(gateway: GatewayServer) -> None:
    change = json.dumps({"note": "n" * NOTE_CHARACTERS_MAX}).encode()
    allowed = gateway.patch(DATASET, change.ljust(BODY_BYTES_MAX))
    refused = gateway.patch(DATASET, change.ljust(BODY_BYTES_MAX + 1))
    too_long = gateway.send("PATCH", DATASET, {"note": "n" * (NOTE_CHARACTERS_MAX + 1)})

    assert (allowed.status, len(allowed.json["note"])) == (200, NOTE_CHARACTERS_MAX)
    assert (refused.status, refused.message) == (413, "the request has more than 524,288 bytes")
    assert (too_long.status, too_long.json["error"]["reason"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"note": ' + b"9" * 5_000 + b"}",
        b'{"note": "\xff"}',
        b'{"note": "\\ud800"}',
        b'{"note": NaN}',
        b'{"context": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
        b'{"labels": {"a": "b", "a": "c"}}',
        b'{"labels": {' + b",".join(b'"k%d": "v"' % n for n in range(30_000)) + b"}}",
    ],
    ids=["deep", "long number", "no UTF-8", "surrogate", "NaN", "deep context", "twice", "labels"],
)
def test_a_body_of_another_kind_is_refused_in_a_sentence(
    gateway: GatewayServer, body: bytes
) -> None:
    refused = gateway.patch(DATASET, body)

    assert refused.status == 400
    assert 0 < len(refused.message) < 1_000
    assert gateway.get(DATASET).json["note"] is None


def test_a_slow_caller_is_cut_off_and_holds_up_nobody(meta_server: MetaServer) -> None:
    hasty = GatewayServer(meta_server.address, limits=HASTY)
    head = b"POST /v1/groups HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

    with (
        ThreadPoolExecutor(1) as threads,
        socket.create_connection(("127.0.0.1", hasty.port), 60.0) as slow,
    ):
        slow.sendall(head + b'Content-Length: 20\r\n\r\n{"name"')
        listed = threads.submit(hasty.get, "v1/groups")
        assert listed.result().status == 200
        assert slow.recv(65_536) == b""

    assert hasty.get("v1/groups").json["items"] == []
    hasty.close()


def test_lists_beyond_a_callers_share_are_refused(held: GatedProxy) -> None:
    """One more than those that may run and wait; the others are answered in the end."""
    queries = QuerySettings(concurrent=2, caller_concurrent=1)
    gateway = GatewayServer(held.address, queries=queries)
    gate = held.hold("ListResources")
    most = 1 + WAITING_MAX
    with ThreadPoolExecutor(most + 1) as threads:
        lists = [threads.submit(gateway.get, "v1/groups") for _ in range(most + 1)]
        gate.wait_for_a_call()
        wait_until(lambda: any(each.done() for each in lists), "one is refused")
        gate.open()
        answers = Counter(each.result().status for each in lists)

    refused = next(each.result() for each in lists if each.result().status == 429)
    assert answers == {200: most, 429: 1}
    assert refused.headers["retry-after"] == "1"
    assert gateway.get("v1/groups").status == 200
    gateway.close()


def test_parameters_of_lists_are_bounded(gateway: GatewayServer) -> None:
    for parameters, message in (
        ("limit=1001", "limit is 1001, expected 1 to 1,000"),
        ("limit=99999", "expected 1 to 1,000"),
        (f"after={'x' * 4_097}", "after is not a cursor"),
        ("label=a=b&label=c=d", "label is there more than once"),
        ("label=a=b&context.c=d", "label"),
        (f"context.{'k' * 300}=v", "63"),
        ("&".join(f"name_from=x{n}" for n in range(200)), "name_from is there more than once"),
    ):
        refused = gateway.get(f"v1/datasets?{parameters}")
        assert (refused.status, message in refused.message) == (400, True), refused.body
    assert gateway.get("v1/datasets?limit=1000").status == 200
