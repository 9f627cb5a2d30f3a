"""A real HTTP server in front of another, which lets a test break what passes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP_BY_HOP = ("connection", "content-length", "transfer-encoding")


@dataclass(frozen=True)
class Request:
    """One HTTP request that passes through a FaultyProxy."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What the server answered, or what a fault answers in its place."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    claimed_length: int | None = None


class Dropped(Exception):
    """Raised by a fault: the client gets no answer, its connection is closed."""


Forward = Callable[[Request], Answer]
Fault = Callable[[Request, Forward], Answer]


class FaultyProxy(ThreadingHTTPServer):
    """A real HTTP server in front of another, which lets a test break what passes.

    `fault` gets each request and a function that forwards it; `requests` keeps them all.
    """

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _ProxyHandler)
        self.upstream = upstream.removeprefix("http://")
        self.fault: Fault = lambda request, forward: forward(request)
        self.requests: list[Request] = []

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://127.0.0.1:{self.server_port}"

    def forward(self, request: Request) -> Answer:
        """Ask the server behind."""
        connection = HTTPConnection(self.upstream, timeout=30)
        try:
            connection.request(request.method, request.target, request.body, dict(request.headers))
            reply = connection.getresponse()
            kept = [(k, v) for k, v in reply.getheaders() if k.lower() not in HOP_BY_HOP]
            body = reply.read()
            length = int(reply.getheader("Content-Length") or 0)
            claimed = length if request.method == "HEAD" else None
            return Answer(reply.status, kept, body, claimed)
        finally:
            connection.close()


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
        request = Request(self.command, self.path, headers, body)
        self.server.requests.append(request)
        self.close_connection = True
        try:
            answer = self.server.fault(request, self.server.forward)
        except Dropped:
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        length = len(answer.body) if answer.claimed_length is None else answer.claimed_length
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass  # noqa: N815
