"""Connections of the HTTP port: those without an admitted export are closed for newer ones.

A connection costs a file descriptor, and nobody can be refused one by a credential. So what sends
no request, half a head, or a body that was refused, is kept only as long as there is room.
"""

import asyncio
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from collector.servers.http_conventions import Handler
from meta import telemetry
from meta.call_metrics import HttpRequests
from meta.process.tls import ServerTls

# They take some 80 MB. Stores and other connections need the other half of the file descriptors.
IDLE_MAX = 4_096
FILES_SHARE = 2
# Time from a connection, or from a head's first byte, to the head's last byte.
HEAD_SECS = 10.0
_EXEMPLAR = "segplane.exemplar"
TLS_HANDSHAKE_SECS = 10.0


def idle_max() -> int:
    """The connections without an admitted export that a process of these limits keeps."""
    files_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return IDLE_MAX if files_max < 0 else min(IDLE_MAX, max(1, files_max // FILES_SHARE))


@dataclass(slots=True)
class IdleConnections:
    """The connections that may be closed, oldest first; `count` is called for each that is."""

    most: int
    count: Callable[[str], None]
    head_secs: float = HEAD_SECS
    _idle: "dict[BoundedHandler, None]" = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of connections without an admitted export."""
        return len(self._idle)

    def add(self, connection: "BoundedHandler") -> None:
        """Keep a connection, and close the oldest one beyond the bound."""
        if len(self._idle) >= self.most:
            oldest = next(iter(self._idle))
            del self._idle[oldest]
            oldest.end("connections")
        self._idle[connection] = None

    def remove(self, connection: "BoundedHandler") -> None:
        """Forget a connection that is closed, or has an export."""
        self._idle.pop(connection, None)


class BoundedHandler(web.RequestHandler):
    """A connection that ends when its head does not come, or when newer ones need its place."""

    def __init__(self, idle: IdleConnections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle_connections = idle
        self._head_timer: asyncio.TimerHandle | None = None
        self._is_answering = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._idle_connections.add(self)
        self._await_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Leave nothing behind."""
        self._idle_connections.remove(self)
        self._end_wait()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head from its first byte."""
        if self._head_timer is None and not self._is_answering:
            self._await_head()
        super().data_received(data)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Note that a head has come, until its request is answered."""
        self._end_wait()
        self._is_answering = True
        try:
            yield
        finally:
            self._is_answering = False

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Keep the connection while an export of it is admitted."""
        self._idle_connections.remove(self)
        try:
            yield
        finally:
            if self.transport is not None and not self.transport.is_closing():
                self._idle_connections.add(self)

    def end(self, why: str) -> None:
        """Close the connection at once."""
        self._idle_connections.count(why)
        if self.transport is not None:
            transport: Any = self.transport
            transport.abort()

    def _await_head(self) -> None:
        loop = asyncio.get_running_loop()
        secs = self._idle_connections.head_secs
        self._head_timer = loop.call_later(secs, self.end, "head")

    def _end_wait(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def kept(request: web.Request) -> AbstractContextManager[None]:
    """Keep the connection of a request while its export is admitted."""
    protocol = request.protocol
    return protocol.admitted() if isinstance(protocol, BoundedHandler) else nullcontext()


def note_trace(request: web.Request, span: object) -> None:
    """Note the trace of an opened span at a request, for the histogram of requests."""
    if (exemplar := telemetry.exemplar(span)) is not None:
        request[_EXEMPLAR] = exemplar


@dataclass(frozen=True, slots=True)
class CountedRequests:
    """Middleware that counts the requests of one application by route and status."""

    requests: HttpRequests = field(default_factory=HttpRequests)

    @web.middleware
    async def count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request and count it."""
        began = time.perf_counter()
        response = await handler(request)
        route = request.match_info.route.resource
        key = request.method, route.canonical if route else "", response.status
        self.requests.end(key, time.perf_counter() - began, request.get(_EXEMPLAR))
        return response


@web.middleware
async def heads(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Note at the connection of a request that its head has come."""
    protocol = request.protocol
    with protocol.answering() if isinstance(protocol, BoundedHandler) else nullcontext():
        return await handler(request)


async def listen_http(
    runner: web.AppRunner,
    idle: IdleConnections,
    host: str,
    port: int,
    tls: ServerTls | None,
    *,
    shares_port: bool,
) -> asyncio.Server:
    """Open a port for a runner that is set up. Raises OSError."""
    assert runner.server is not None
    loop = asyncio.get_running_loop()
    connection = partial(
        BoundedHandler,
        idle,
        runner.server,
        loop=loop,
        access_log=None,
        auto_decompress=False,
        # Bodies that were refused are dropped by `UnreadBodies`.
        lingering_time=0,
    )
    return await loop.create_server(
        connection,
        host,
        port,
        reuse_port=shares_port or None,
        ssl=None if tls is None else tls.ssl_context(),
        ssl_handshake_timeout=None if tls is None else TLS_HANDSHAKE_SECS,
    )
