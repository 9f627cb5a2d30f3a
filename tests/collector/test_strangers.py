"""Callers without a valid token: what they hold open at a collector keeps no export out."""

from dataclasses import replace
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.harness import strangers
from benchmarks.harness.strangers import Attack, attacking, closed, held_connections
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.http import PROTOBUF, post
from tests.support.collector.process import CollectorProcess, StartCollector
from tests.support.waiting import wait_until

ROUNDS = 3
MEMORY_MB_MAX = 200
# A process of so few files serves as soon as it closes some: it keeps half of them.
FILES_MAX, CONNECTIONS = 300, 400
PROGRAM = (
    "-c",
    "import resource, runpy;"
    f"resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES_MAX}, {FILES_MAX}));"
    "runpy.run_module('collector', run_name='__main__')",
)
GRPC = [
    pytest.param(replace(strangers.HEADERS, method=strangers.EXPORT), id="headers alone"),
    pytest.param(
        replace(strangers.BODIES, method=strangers.EXPORT),
        id="messages without ends",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        replace(strangers.WATCHES, calls=300), id="health watches", marks=pytest.mark.slow
    ),
    pytest.param(strangers.CHECKS, id="health checks without messages", marks=pytest.mark.slow),
]
_HEAD = b"POST /v1/logs HTTP/1.1\r\nHost: collector\r\n"
HTTP = [
    pytest.param(b"", id="connections without a byte", marks=pytest.mark.slow),
    pytest.param(_HEAD, id="heads without ends"),
    pytest.param(
        _HEAD
        + b"X-Ingest-Token: it_unknown\r\nContent-Type: application/x-protobuf\r\n"
        + b"Content-Length: 4000000\r\n\r\n",
        id="bodies that do not come",
        marks=pytest.mark.slow,
    ),
]


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def require_exports(collector: CollectorProcess, token: GroundToken, name: str) -> None:
    """Exports over both ports, and probes, are answered at the first attempt."""
    headers = {"X-Ingest-Token": token.token_secret, "Content-Type": PROTOBUF}
    request = health_pb2.HealthCheckRequest()
    for number in range(ROUNDS):
        collector.export(token, log_export(f"{name} {number} over grpc"))
        assert post(collector, log_export(f"{name} {number} over http"), headers).status == 200
        with collector.stub() as stub:
            reply = health_pb2_grpc.HealthStub(stub.channel).Check(request, timeout=10)
        assert reply.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.long
@pytest.mark.parametrize("attack", GRPC)
def test_strangers_on_the_grpc_port_keep_no_export_out(
    ground: Ground, start_collector: StartCollector, attack: Attack
) -> None:
    token = ground.new_token()
    collector = start_collector()
    require_exports(collector, token, "before")
    before_mb = resident_mb(collector.process.pid)

    with attacking(collector.grpc_port, attack) as progress:
        wait_until(lambda: progress.begun >= min(attack.calls, 600), "the calls", seconds=60)
        require_exports(collector, token, "beside")
        assert resident_mb(collector.process.pid) < before_mb + MEMORY_MB_MAX


@pytest.mark.long
@pytest.mark.parametrize("sent", HTTP)
def test_strangers_on_the_http_port_keep_no_export_out(
    ground: Ground, start_collector: StartCollector, sent: bytes
) -> None:
    token = ground.new_token()
    collector = start_collector(program=PROGRAM)
    require_exports(collector, token, "before")

    with held_connections(collector.http_port, CONNECTIONS, sent) as held:
        require_exports(collector, token, "beside")
        wait_until(lambda: closed(held) >= CONNECTIONS - FILES_MAX // 2, "closed ones", seconds=30)


@pytest.mark.long
def test_connections_give_way_and_those_with_an_export_stay(
    ground: Ground, start_collector: StartCollector
) -> None:
    """An export whose body is on its way, on the oldest of all connections."""
    token = ground.new_token()
    collector = start_collector(program=PROGRAM)
    body = log_export("slow")
    head = (
        _HEAD
        + (
            f"X-Ingest-Token: {token.token_secret}\r\nContent-Type: {PROTOBUF}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
    )
    require_exports(collector, token, "before")
    with (
        held_connections(collector.http_port, 1, head + body[:1]) as (slow,),
        held_connections(collector.http_port, CONNECTIONS) as held,
    ):
        wait_until(lambda: closed(held) >= 1, "closed ones", seconds=30)
        slow.setblocking(True)
        slow.sendall(body[1:])
        assert slow.recv(65_536).startswith(b"HTTP/1.1 200")


def test_as_many_connections_stay_as_may_and_one_more_closes_the_oldest(
    ground: Ground, start_collector: StartCollector
) -> None:
    collector = start_collector(program=PROGRAM)
    most = FILES_MAX // 2
    with held_connections(collector.http_port, most) as held:
        with held_connections(collector.http_port, 1) as (last,):
            wait_until(lambda: closed(held) == 1, "the oldest's end", seconds=30)
            assert closed([held[0], last]) == 1
            assert closed(held) == 1
        for connection in held[1:]:
            connection.setblocking(True)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: collector\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
