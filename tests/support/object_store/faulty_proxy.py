"""A real HTTP server in front of another, which lets a test break what passes."""

import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.certificates import CertificateFiles
from tests.support.object_store.token_server import secure

HOP_BY_HOP = ("connection", "content-length", "transfer-encoding")
RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing resets the connection.
HELD_SECS_MAX = 60.0


@dataclass(frozen=True)
class Request:
    """One HTTP request that passes through a FaultyProxy."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class ProxyAnswer:
    """Answer of the server, or of a fault in its place.

    `claimed_length` is what Content-Length says if that is not the body's; `is_reset` ends the
    connection after the body with a reset, and not in order.
    """

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    claimed_length: int | None = None
    is_reset: bool = False


class DroppedConnection(Exception):
    """Raised by a fault: the client gets no answer, its connection is closed."""


class Held(Exception):
    """Raised by a fault: the client gets no answer, its connection stays open until it leaves."""


Forward = Callable[[Request], ProxyAnswer]
Fault = Callable[[Request, Forward], ProxyAnswer]


class FaultyProxy(ThreadingHTTPServer):
    """A real HTTP server in front of another, which lets a test break what passes.

    `fault` gets each request and a function that forwards it; `requests` keeps them all.
    `cuts_upload` is asked with a request without its body whether to read only half of that.
    """

    daemon_threads = True

    def __init__(self, upstream: str, certificate: CertificateFiles | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyHandler)
        self.upstream = upstream.removeprefix("http://")
        self._scheme = "http"
        if certificate is not None:
            secure(self, certificate)
            self._scheme = "https"
        self.mend()

    def mend(self) -> None:
        """Let everything pass, and forget what did."""
        self.fault: Fault = lambda request, forward: forward(request)
        self.cuts_upload: Callable[[Request], bool] | None = None
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        """URL for clients."""
        return f"{self._scheme}://127.0.0.1:{self.server_port}"

    def forward(self, request: Request) -> ProxyAnswer:
        """Ask the server behind."""
        connection = HTTPConnection(self.upstream, timeout=30)
        try:
            connection.request(request.method, request.target, request.body, dict(request.headers))
            reply = connection.getresponse()
            kept = [(k, v) for k, v in reply.getheaders() if k.lower() not in HOP_BY_HOP]
            body = reply.read()
            length = int(reply.getheader("Content-Length") or 0)
            claimed = length if request.method == "HEAD" else None
            return ProxyAnswer(reply.status, kept, body, claimed)
        finally:
            connection.close()

    def forward_half(self, request: Request) -> None:
        """Send the server behind half of a request's body, and reset the connection."""
        host, port = self.upstream.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            head = [f"{request.method} {request.target} HTTP/1.1"]
            head += [f"{name}: {value}" for name, value in request.headers.items()]
            connection.sendall("\r\n".join([*head, "", ""]).encode())
            connection.sendall(request.body[: len(request.body) // 2])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


@contextmanager
def running_proxy(
    upstream: str, certificate: CertificateFiles | None = None
) -> Iterator[FaultyProxy]:
    """Run a proxy in front of a server; with a certificate it takes TLS alone."""
    with FaultyProxy(upstream, certificate) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05], name="proxy")
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _pass(self) -> None:
        self.close_connection = True
        length = int(self.headers.get("Content-Length", 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
        request = Request(self.command, self.path, headers, b"")
        if self.server.cuts_upload and self.server.cuts_upload(request):
            self.rfile.read(length // 2)
            self._reset()
            return
        request = Request(self.command, self.path, headers, self.rfile.read(length))
        self.server.requests.append(request)
        try:
            answer = self.server.fault(request, self.server.forward)
        except DroppedConnection:
            return
        except Held:
            self._hold()
            return
        self._answer(answer)

    def _answer(self, answer: ProxyAnswer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        length = len(answer.body) if answer.claimed_length is None else answer.claimed_length
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)
        if answer.is_reset:
            self._reset()

    def _hold(self) -> None:
        """Wait until the client leaves."""
        self.connection.settimeout(HELD_SECS_MAX)
        self.rfile.read(1)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        # Closed under the server's feet, which else says an orderly goodbye first.
        os.close(self.connection.detach())

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass  # noqa: N815
