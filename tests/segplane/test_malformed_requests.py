"""Malformed requests with secrets, sent to every port of a stack, and the logs that they leave."""

import json
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, GATEWAY
from segplane.stack.preflight import claim_ports
from tests.segplane.test_dev import _stack
from tests.support.certificates import Authority

SECRET = b"marked-secret-of-a-stranger"
WORKERS = ("merge_worker", "janitor")
ANSWER_SECS = 1.0
LINES_MAX = 40
REPEATS = 500


def requests() -> Iterator[bytes]:
    """Requests that no parser takes, each with a secret."""
    bearer = b"Authorization: Bearer " + SECRET
    post = b"POST /v1/logs HTTP/1.1\r\nHost: localhost\r\n"
    yield from (
        post + bearer + end + b"\r\n\r\n" for end in (b"\r", b"\0", b"\n ", b"\x7f", b"\xff")
    )
    yield from (SECRET + b" / HTTP/1.1\r\n\r\n", b"GET " + SECRET + b" HTTP/1.1\r\n\r\n")
    yield from (
        b"GET /?" + SECRET + b" HTTP/9.9\r\n\r\n",
        b"GET /" + SECRET + b"\0 HTTP/1.1\r\n\r\n",
    )
    yield (
        b"GET /%ff%fe" + SECRET + b"?name[]=" + SECRET + b"&%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    yield b"GET http://" + SECRET + b":x/ HTTP/1.1\r\nHost: [" + SECRET + b"\r\n\r\n"
    yield (
        b"GET /metrics HTTP/1.1\r\nAccept: " + SECRET + b";q=\xff\r\nAccept-Encoding: \xfe\r\n\r\n"
    )
    yield post + b"no colon " + SECRET + b"\r\n\r\n"
    yield post + bearer + b"\r\nX-Fill: " + b"f" * 70_000 + b"\r\n\r\n"
    values = {b"Content-Length": b"x", b"Transfer-Encoding": b"x", b"Expect": b"x"}
    values |= {b"Content-Type": b"application/json", b"Content-Encoding": b"gzip"}
    for name, value in values.items():
        yield post + bearer + b"\r\n" + name + b": " + value + b"\r\n\r\n" + SECRET
        yield post + name + b": " + SECRET + b"\r\n\r\n" + SECRET
    length = b"\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n"
    yield post + bearer + length + SECRET.ljust(40)
    yield post + bearer + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + SECRET + b"\r\n\r\n"
    yield post + bearer + b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + SECRET
    yield post + bearer + b"\r\nCookie: \x01=" + SECRET + b"\r\n\r\n"
    yield b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SECRET * 4
    yield b"\x16\x03\x01\x02\x00\x01\x00" + SECRET
    yield b"\x00" * 9 + SECRET
    yield SECRET


def send(port: int, request: bytes) -> None:
    """Send a request, read a while, and reset the connection in the middle of an answer."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(ANSWER_SECS)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1_000)


def log_lines(folder: Path) -> dict[str, list[str]]:
    """The lines of each process's log."""
    return {path.stem: path.read_text("latin-1").splitlines() for path in folder.glob("*.log")}


@pytest.mark.long
@pytest.mark.parametrize("has_tls", [False, True], ids=["plain", "tls"])
def test_malformed_requests_leave_no_secret_and_few_lines_in_any_log(
    prepared: StackSettings, tmp_path: Path, has_tls: bool
) -> None:
    parts = (COLLECTOR, GATEWAY, *WORKERS, *(("nursery",) if shutil.which("java") else ()))
    metrics = claim_ports(dict.fromkeys(("meta", *parts), 0))
    values = {f"{name.upper()}_METRICS_PORT": str(port) for name, port in metrics.items()}
    if has_tls:
        authority = Authority(tmp_path / "tls")
        files = authority.issue("meta")
        values |= {"META_TLS_CERT_FILE": str(files.cert), "META_TLS_KEY_FILE": str(files.key)}
        values["SEGPLANE_META_CA_FILE"] = str(authority.ca_file)
    settings = replace(prepared, inherited={**prepared.inherited, **values})

    with _stack(settings, parts=parts) as stack:
        used = stack.settings
        ports = {*metrics.values(), used.meta_port, used.otlp_grpc_port, used.otlp_http_port}
        ports.add(used.gateway_port)
        before = log_lines(stack.log_dir)
        with ThreadPoolExecutor(16) as pool:
            for request in requests():
                list(pool.map(send, ports, [request] * len(ports)))
            first = next(requests())
            list(pool.map(send, [used.otlp_http_port] * REPEATS, [first] * REPEATS))
        stack.check()
        after = log_lines(stack.log_dir)

    assert {"meta", *parts} <= after.keys()
    for name, lines in after.items():
        new = lines[len(before[name]) :]
        assert len(new) <= LINES_MAX, new[:5]
        for line in new:
            assert isinstance(json.loads(line), dict), line
        assert SECRET.decode() not in "\n".join(lines), name
