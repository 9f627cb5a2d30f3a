"""One HTTP connection, with the bounds that uvicorn does not set.

Connections are bounded in number, so one that is held for nothing keeps a caller out: a request
must come whole within a time and be small, and its answer must be read. Connections without a whole
request are closed for newer ones.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from segplane.gateway.http.metrics import RESTRICTED_CONNECTIONS

_TOO_LARGE = "the head of the request is too large"


class HeadTooLarge(Exception):
    """The parser answers it with 400, and closes."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of each connection."""

    # Time from a request's first byte, or from the connection, to the request's last byte.
    request_secs: float = 30.0
    # A caller that reads nothing of an answer for this long is cut off.
    stall_secs: float = 30.0
    # Address, names and values of headers together; trailers and the frames of chunks likewise.
    head_bytes_max: int = 65_536
    # Connections at a time whose requests have not come whole. Half of all that a gateway has.
    unfinished_max: int = 256


@dataclass(slots=True)
class UnfinishedRequests:
    """The connections of one server whose requests have not come whole, oldest first."""

    most: int
    _connections: "dict[BoundedConnection, None]" = field(default_factory=dict)

    def add(self, connection: "BoundedConnection") -> None:
        """Keep a connection, and cut off the oldest one beyond the bound."""
        if connection in self._connections:
            return
        if len(self._connections) >= self.most:
            oldest = next(iter(self._connections))
            del self._connections[oldest]
            oldest.cut_off("connections")
        self._connections[connection] = None

    def remove(self, connection: "BoundedConnection") -> None:
        """Forget a connection that is closed, or whose request is there."""
        self._connections.pop(connection, None)


class BoundedConnection(HttpToolsProtocol):
    """A connection that ends when a limit is reached."""

    def __init__(
        self, limits: ConnectionLimits, unfinished: UnfinishedRequests, **options: Any
    ) -> None:
        super().__init__(**options)
        self._limits = limits
        self._unfinished = unfinished
        self._head_bytes = 0
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._unfinished.add(self)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave nothing behind."""
        self._unfinished.remove(self)
        self._end_request()
        self._end_stall()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count all that is not a body: a head, trailers, and the frames of chunks."""
        self._head_bytes += len(data)
        self._await_request()
        super().data_received(data)
        if self._head_bytes > self._limits.head_bytes_max and not self.transport.is_closing():
            self.send_400_response(_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Wait for the rest, also of a request that came along with the end of another."""
        self._await_request()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Refuse a head that came whole and is too large."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._limits.head_bytes_max:
            raise HeadTooLarge
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Leave the body out of the count."""
        self._head_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        self._head_bytes = 0
        self._end_request()
        self._unfinished.remove(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for another request, or for the rest of one that was answered before its end."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._unfinished.add(self)

    def cut_off(self, why: str) -> None:
        """Close the connection at once."""
        RESTRICTED_CONNECTIONS.labels(why).inc()
        self.transport.abort()

    def pause_writing(self) -> None:
        """The caller does not read as fast as is written."""
        super().pause_writing()
        if self._stall_timer is None:
            secs = self._limits.stall_secs
            self._stall_timer = self.loop.call_later(secs, self.cut_off, "stall")

    def resume_writing(self) -> None:
        """The caller reads."""
        self._end_stall()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Close, and do not wait without limit until the caller has read all."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self._limits.stall_secs, self.transport.abort)

    def _await_request(self) -> None:
        if self._request_timer is None:
            secs = self._limits.request_secs
            self._request_timer = self.loop.call_later(secs, self.cut_off, "request")

    def _end_request(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _end_stall(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
