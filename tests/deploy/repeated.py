"""Acts that are repeated while alerts are awaited."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from meta.errors import MetaError
from segplane.cli.delivery import DeliveryFailed, OtlpTarget, send

_JOIN_SECS = 60.0
_SOCKET_SECS = 5.0
# More than a server keeps.
_WATCHES_KEPT = 200


@contextmanager
def repeated(act: Callable[[], object], per_sec: float, threads: int = 1) -> Iterator[None]:
    """Repeat an act in the background, whatever network or database says to it."""
    stopped = threading.Event()

    def repeat() -> None:
        while not stopped.wait(threads / per_sec):
            with contextlib.suppress(OSError, DeliveryFailed, MetaError, grpc.RpcError):
                act()

    running = [threading.Thread(target=repeat, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        deadline = time.monotonic() + _JOIN_SECS
        for thread in running:
            thread.join(max(0.0, deadline - time.monotonic()))


def export(url: str, token: str, records: int = 1, request_secs: float = 5.0) -> None:
    """Send an export of logs. Raises DeliveryFailed."""
    send(OtlpTarget(url, token), f"run-{time.monotonic_ns()}", range(records), request_secs)


def not_a_request(address: str) -> None:
    """Send a port of HTTP what no client of HTTP sends."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), _SOCKET_SECS) as connection:
        connection.sendall(b"\x16\x03\x01 \r\n\r\n")
        connection.settimeout(_SOCKET_SECS)
        connection.recv(1)


def broken_off(address: str) -> None:
    """Reset a connection within the head of a request."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), _SOCKET_SECS) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"GET /metrics")


def query(address: str, text: str) -> None:
    """Run a query over HTTP. Raises HTTPError."""
    body = json.dumps({"query": text}).encode()
    request = Request(f"http://{address}/v1/query", body, {"content-type": "application/json"})
    with urlopen(request, timeout=30) as reply:
        reply.read()


@contextmanager
def health_watches(address: str, per_sec: float) -> Iterator[None]:
    """Begin watches of a server's health, each of which displaces an earlier one at its bound."""
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        # A watch that nobody refers to is cancelled.
        watches = deque[object](maxlen=_WATCHES_KEPT)
        request = health_pb2.HealthCheckRequest()
        with repeated(lambda: watches.append(stub.Watch(request)), per_sec):
            yield
