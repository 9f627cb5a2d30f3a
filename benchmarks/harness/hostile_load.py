"""Hostile and broken senders of OTLP, each kind in its own process.

The process gives way to all others (nice 19), because hostile senders are on other machines.
"""

from __future__ import annotations

import gzip
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from benchmarks.harness import otlp_load
from benchmarks.harness.stalled_grpc import StalledGrpcCall

MEBIBYTE = 1024 * 1024
NICENESS = 19
# Names of kinds, and the number of their connections.
KINDS = {
    "json": 8,
    "damaged": 8,
    "empty_records": 8,
    "compressed": 8,
    "stalled_http": 80,
    "stalled_grpc": 80,
    "busy": 128,
    "unknown_tokens": 32,
}
# Those that the collector gives to its conversion or validation processes.
CONVERTED = ("json", "damaged", "empty_records", "compressed")
_MARK = b"<16 bytes apart>"
_STALL_SECS = 0.5


@dataclass(frozen=True, slots=True)
class HostileLoad:
    """A kind of hostile sender, and where it sends with which token."""

    kind: str
    grpc_address: str
    http_address: str
    token: str


@contextmanager
def running(load: HostileLoad) -> Iterator[None]:
    """Send until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.harness.hostile_load"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asdict(load)).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"started\n", f"{load.kind} did not start"
        try:
            yield
        finally:
            # With what it started.
            os.killpg(process.pid, signal.SIGKILL)


def json_body() -> bytes:
    """Make 8 MiB of legal OTLP/JSON."""
    record = {
        "timeUnixNano": str(time.time_ns()),
        "body": {"stringValue": "a" * 60},
        "attributes": [{"key": f"k{n}", "value": {"stringValue": "v" * 8}} for n in range(4)],
    }
    first = {"body": {"stringValue": _MARK.decode()}}
    count = 8 * MEBIBYTE // len(json.dumps(record))
    scope = {"logRecords": [first, *[record] * count]}
    return json.dumps({"resourceLogs": [{"scopeLogs": [scope]}]}).encode()


def _damaged() -> bytes:
    payload = otlp_load.log_payload(4 * MEBIBYTE, random.Random(1))
    # Text that is not UTF-8, in every record.
    return payload.replace(b"GET /items", b"GET \xffitems")


def _empty_records() -> bytes:
    # 2 bytes each, within a scope within a resource.
    body = b"\x12\x00" * (4 * MEBIBYTE)
    for tag in (b"\x12", b"\x0a"):
        body = tag + _varint(len(body)) + body
    return body


def _compressed() -> bytes:
    return gzip.compress(otlp_load.log_payload(8 * MEBIBYTE, random.Random(2)), 1)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes((low | 0x80,)) + _varint(rest) if rest else bytes((low,))


_BODIES: dict[str, tuple[Callable[[], bytes], dict[str, str]]] = {
    "json": (json_body, {"Content-Type": "application/json"}),
    "damaged": (_damaged, {"Content-Type": "application/x-protobuf"}),
    "empty_records": (_empty_records, {"Content-Type": "application/x-protobuf"}),
    "compressed": (
        _compressed,
        {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"},
    ),
    "unknown_tokens": (
        lambda: otlp_load.log_payload(200, random.Random(3)),
        {"Content-Type": "application/x-protobuf"},
    ),
}


def _post(load: HostileLoad, body: bytes, headers: dict[str, str]) -> None:
    """Post again and again on one connection, each body different from all others."""
    for number in itertools.count():
        connection = http.client.HTTPConnection(load.http_address, timeout=60)
        with suppress(OSError, http.client.HTTPException):
            while True:
                unique = b"%016x" % random.getrandbits(64)
                token = f"it_{number}{unique.decode()}" if _is_unknown(load) else load.token
                sent = body.replace(_MARK, unique, 1)
                connection.request("POST", "/v1/logs", sent, {**headers, "X-Ingest-Token": token})
                connection.getresponse().read()
        connection.close()


def _is_unknown(load: HostileLoad) -> bool:
    return load.kind == "unknown_tokens"


def _stall_http(load: HostileLoad) -> None:
    """Announce 16 MiB and send all but the last byte, until the connection is closed."""
    size_bytes = 16 * MEBIBYTE - 1
    head = (
        f"POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
        f"X-Ingest-Token: {load.token}\r\nContent-Length: {size_bytes}\r\n\r\n"
    ).encode()
    body = bytes(size_bytes - 1)
    _reconnect(load.http_address, lambda stalled: _send_and_wait(stalled, head + body))


def _send_and_wait(connection: socket.socket, sent: bytes) -> None:
    connection.sendall(sent)
    connection.recv(65_536)


def _stall_grpc(load: HostileLoad) -> None:
    size_bytes = 16 * MEBIBYTE - 64
    _reconnect(
        load.grpc_address, lambda stalled: StalledGrpcCall(stalled, load.token, size_bytes).run()
    )


def _reconnect(address: str, stall: Callable[[socket.socket], object]) -> None:
    host, _, port = address.rpartition(":")
    while True:
        with suppress(OSError), socket.create_connection((host, int(port))) as connection:
            stall(connection)
        time.sleep(_STALL_SECS)


def _be_busy(load: HostileLoad) -> None:
    """Send valid exports of 512 KiB as fast as they are taken."""
    otlp_load.run(
        otlp_load.OtlpLoad(load.grpc_address, load.token, 512 * 1024, KINDS["busy"], 3600.0)
    )


def _start(load: HostileLoad) -> None:
    if load.kind == "busy":
        threading.Thread(target=_be_busy, args=(load,), daemon=True).start()
        return
    arguments: tuple[object, ...] = (load,)
    target: Callable[..., None] = {"stalled_http": _stall_http, "stalled_grpc": _stall_grpc}.get(
        load.kind, _post
    )
    if load.kind in _BODIES:
        make, headers = _BODIES[load.kind]
        arguments = (load, make(), headers)
    for _ in range(KINDS[load.kind]):
        threading.Thread(target=target, args=arguments, daemon=True).start()


if __name__ == "__main__":
    os.nice(NICENESS)
    _start(HostileLoad(**json.loads(sys.stdin.readline())))
    print("started", flush=True)
    # Until the process is killed, or its parent is.
    sys.stdin.read()
    os._exit(0)
