"""A hostile or broken sender delays no other sender, and memory stays within its stated bound."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest

from benchmarks.harness.stalled_grpc import StalledGrpcCall
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.process import CollectorProcess, StartCollector, Stub, impatient

MIB = 1024 * 1024
# Half of what an export may take; `benchmarks hostile_senders` measures what they do take.
LATENCY_SECS_MAX = 15.0
# Twice the memory of one token: a message on the way is held in the buffers it was read into.
STALLED_GROWTH_BYTES_MAX = (2 * 128 + 150) * MIB
STALLED_BODIES = 80


def json_of(size_bytes: int) -> bytes:
    """A legal OTLP/JSON export of small log records."""
    record = {
        "timeUnixNano": str(time.time_ns()),
        "body": {"stringValue": "a" * 60},
        "attributes": [{"key": f"k{n}", "value": {"stringValue": "v" * 8}} for n in range(4)],
    }
    count = size_bytes // len(json.dumps(record))
    scope = {"logRecords": [record] * count}
    return json.dumps({"resourceLogs": [{"scopeLogs": [scope]}]}).encode()


def http_head(token: GroundToken, content_type: str, length: int) -> bytes:
    return (
        f"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n"
        f"X-Ingest-Token: {token.token_secret}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@contextmanager
def stalled_http(
    collector: CollectorProcess, token: GroundToken, size_bytes: int
) -> Iterator[None]:
    """Hold bodies that lack their last byte, as far as the collector reads them."""
    connections = []
    for _ in range(STALLED_BODIES):
        connection = socket.create_connection(("127.0.0.1", collector.http_port))
        head = http_head(token, "application/x-protobuf", size_bytes)
        body = head + bytes(size_bytes - 1)
        threading.Thread(target=_send, args=(connection, body), daemon=True).start()
        connections.append(connection)
    yield
    for connection in connections:
        connection.close()


@contextmanager
def stalled_grpc(collector: CollectorProcess, token: GroundToken) -> Iterator[None]:
    """Hold gRPC messages of 16 MiB that lack their end, as far as the collector reads them."""
    connections = []
    for _ in range(STALLED_BODIES):
        connection = socket.create_connection(("127.0.0.1", collector.grpc_port))
        sender = StalledGrpcCall(connection, token.token_secret, 16 * MIB - 64)
        threading.Thread(target=sender.run, daemon=True).start()
        connections.append(connection)
    yield
    for connection in connections:
        connection.close()


def _send(connection: socket.socket, body: bytes) -> None:
    with suppress(OSError):
        connection.sendall(body)


def slowest_export(stub: Stub, token: GroundToken, seconds: float) -> float:
    """Export one record after another for a while; returns the longest time to an answer."""
    slowest, until = 0.0, time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        stub.send(token.token_secret, log_export(str(began)))
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


@pytest.mark.long
def test_legal_json_of_one_sender_does_not_delay_another(
    ground: Ground, start_collector: StartCollector
) -> None:
    hostile, small = ground.new_token(), ground.new_token()
    collector = start_collector()
    body = json_of(8 * MIB)
    connections = []
    for _ in range(8):
        connection = socket.create_connection(("127.0.0.1", collector.http_port))
        connections.append(connection)
        head = http_head(hostile, "application/json", len(body))
        threading.Thread(target=connection.sendall, args=(head + body,), daemon=True).start()

    with collector.stub() as stub:
        slowest = slowest_export(stub, small, seconds=5.0)

    for connection in connections:
        connection.close()
    assert slowest < LATENCY_SECS_MAX


@pytest.mark.long
def test_stalled_http_bodies_stay_within_their_tokens_memory(
    ground: Ground, start_collector: StartCollector
) -> None:
    hostile, small = ground.new_token(), ground.new_token()
    collector = start_collector()
    collector.export(small, log_export("warm"))
    before = memory_bytes(collector)
    size_bytes = 16 * MIB - 1

    with stalled_http(collector, hostile, size_bytes), collector.stub() as stub:
        slowest = slowest_export(stub, small, seconds=3.0)
        grown = memory_bytes(collector) - before

    assert slowest < LATENCY_SECS_MAX
    assert grown < STALLED_GROWTH_BYTES_MAX


@pytest.mark.long
def test_stalled_grpc_bodies_stay_within_their_tokens_memory(
    ground: Ground, start_collector: StartCollector
) -> None:
    hostile, small = ground.new_token(), ground.new_token()
    collector = start_collector()
    collector.export(small, log_export("warm"))
    before = memory_bytes(collector)

    with stalled_grpc(collector, hostile), collector.stub() as stub:
        slowest = slowest_export(stub, small, seconds=3.0)
        grown = memory_bytes(collector) - before

    assert slowest < LATENCY_SECS_MAX
    assert grown < STALLED_GROWTH_BYTES_MAX


def test_a_token_has_no_more_exports_in_flight_than_its_limit(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector(
        program=impatient(token_concurrent_exports_max=4), COLLECTOR_EXPORT_TIMEOUT_SECS="2"
    )

    with collector.stub() as stub:
        calls = [stub.start(token.token_secret, log_export(f"r{n}")) for n in range(64)]
        refused = [error for call in calls if (error := call.exception()) is not None]

    assert refused
    assert {error.code() for error in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert all("in flight" in error.details() for error in refused)


def memory_bytes(collector: CollectorProcess) -> int:
    """Resident memory of a collector."""
    status = Path(f"/proc/{collector.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
