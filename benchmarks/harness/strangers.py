"""Callers without a credential, over bare HTTP/2: they hold calls open and send as they please.

    with strangers.attacking(port, strangers.HEADERS) as attack:
        ...  # as many calls as `attack.calls` are open, or were refused and begun again

gRPC's own clients end a call whose message is missing, so the frames are made by hand.
"""

import selectors
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError, TooManyStreamsError

MIB = 1024 * 1024
COMMIT = "/meta.v1.IngestionService/CommitOffset"
SAVE = "/meta.v1.IngestionService/SaveSegments"
CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
FRAME_BYTES = 16_384
SELECT_SECS = 0.05


@dataclass(frozen=True, slots=True)
class Attack:
    """Calls to hold open; of each message `sent_bytes` are sent, beginning with its prefix."""

    method: str
    calls: int
    connections: int = 1
    message_bytes: int = 0
    sent_bytes: int = 0
    metadata: tuple[tuple[str, str], ...] = ()
    # A call that ends is begun again.
    renews: bool = True

    def payload(self) -> bytes:
        """The bytes of a message that are sent."""
        prefix = b"\0" + self.message_bytes.to_bytes(4, "big")
        return (prefix + bytes(max(0, self.sent_bytes - len(prefix))))[: self.sent_bytes]


HEADERS = Attack(COMMIT, 1_950)
BODIES = Attack(SAVE, 400, 4, 4 * MIB - 64, 4 * MIB - 64)
WATCHES = Attack(WATCH, 16, 1, 0, 5)
REFLECTIONS = Attack(REFLECTION, 16)
CHECKS = Attack(CHECK, 1_950)
ATTACKS = {
    "headers": HEADERS,
    "bodies": BODIES,
    "watches": WATCHES,
    "reflections": REFLECTIONS,
    "checks": CHECKS,
}


@dataclass(slots=True)
class Progress:
    """Counts of an attack under way."""

    begun: int = 0
    ended: int = 0
    # By the `grpc-status` of a trailer; "reset" = without one.
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def open(self) -> int:
        """Calls that neither were answered nor ended."""
        return self.begun - self.ended


class _Connection:
    """One connection, and its share of the calls."""

    def __init__(self, port: int, attack: Attack, calls: int, progress: Progress) -> None:
        self._attack, self._calls, self._progress = attack, calls, progress
        self._payload = attack.payload()
        self._unsent: dict[int, memoryview] = {}
        self._open: set[int] = set()
        self._begun = 0
        self._output = bytearray()
        self.socket = socket.create_connection(("127.0.0.1", port), 10.0)
        self._http = H2Connection(H2Configuration(header_encoding="utf-8"))
        self._http.initiate_connection()
        # Before the first call: the server's settings bound what may be open.
        while not self._http.remote_settings.max_concurrent_streams:
            self._receive()
        self._receive()
        self.socket.setblocking(False)

    def step(self, is_readable: bool) -> None:
        """Read what came, begin calls and send what flow control allows. Raises OSError."""
        if is_readable:
            self._receive()
        self._begin()
        for stream_id in list(self._unsent):
            self._send(stream_id)
        self._output += self._http.data_to_send()
        with suppress(BlockingIOError):
            del self._output[: self.socket.send(self._output)]

    def _begin(self) -> None:
        is_full = False
        while len(self._open) < self._calls and not is_full:
            if not self._attack.renews and self._begun >= self._calls:
                return
            stream_id = self._http.get_next_available_stream_id()
            headers = [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", self._attack.method),
                (":authority", "server"),
                ("content-type", "application/grpc"),
                ("te", "trailers"),
                *self._attack.metadata,
            ]
            try:
                self._http.send_headers(stream_id, headers)
            except TooManyStreamsError:
                return
            self._begun += 1
            self._progress.begun += 1
            self._open.add(stream_id)
            if self._payload:
                self._unsent[stream_id] = memoryview(self._payload)
            is_full = len(self._output) > MIB

    def _send(self, stream_id: int) -> None:
        unsent = self._unsent[stream_id]
        while unsent and len(self._output) < MIB:
            size_bytes = min(
                len(unsent), FRAME_BYTES, self._http.local_flow_control_window(stream_id)
            )
            if size_bytes <= 0:
                break
            self._http.send_data(stream_id, bytes(unsent[:size_bytes]))
            unsent = unsent[size_bytes:]
            self._output += self._http.data_to_send()
        self._unsent[stream_id] = unsent
        if not unsent:
            del self._unsent[stream_id]

    def _receive(self) -> None:
        received = self.socket.recv(MIB)
        if not received:
            raise ConnectionError("the server closed the connection")
        for event in self._http.receive_data(received):
            if isinstance(event, ResponseReceived | TrailersReceived):
                # A refusal has nothing but trailers, which come as a response's headers.
                self._count({str(key): str(text) for key, text in event.headers})
            if isinstance(event, StreamReset) and event.stream_id in self._open:
                self._count({"grpc-status": "reset"})
            if isinstance(event, StreamEnded | StreamReset):
                self._end(event.stream_id)
            if isinstance(event, ConnectionTerminated):
                raise ConnectionError("the server said goodbye")
        self._output += self._http.data_to_send()

    def _end(self, stream_id: int | None) -> None:
        if stream_id in self._open:
            self._open.discard(stream_id)
            self._unsent.pop(stream_id, None)
            self._progress.ended += 1

    def _count(self, headers: dict[str, str]) -> None:
        status = headers.get("grpc-status")
        if status is not None:
            self._progress.statuses[status] = self._progress.statuses.get(status, 0) + 1

    def close(self) -> None:
        """Leave without a word."""
        self._progress.ended += len(self._open)
        self._open.clear()
        self.socket.close()


@contextmanager
def attacking(port: int, attack: Attack) -> Iterator[Progress]:
    """Hold the calls of an attack open while the block runs."""
    progress, is_over = Progress(), threading.Event()
    thread = threading.Thread(target=_run, args=(port, attack, progress, is_over))
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


@contextmanager
def held_connections(port: int, count: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open connections over HTTP/1.1, send the same on each, and keep them open."""
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), 10.0)
            connections.append(stack.enter_context(connection))
            # The server may have closed it already.
            with suppress(OSError):
                connection.sendall(sent)
        yield connections


def closed(connections: Sequence[socket.socket]) -> int:
    """The number of connections that the server has closed."""
    return sum(map(_is_closed, connections))


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _run(port: int, attack: Attack, progress: Progress, is_over: threading.Event) -> None:
    """Step all connections in turn; a connection that is closed is opened again."""
    shares = [attack.calls // attack.connections] * attack.connections
    connections: list[_Connection | None] = [None] * attack.connections
    while not is_over.is_set():
        for index, share in enumerate(shares):
            if connections[index] is None:
                with suppress(OSError):
                    connections[index] = _Connection(port, attack, share, progress)
        readable = _readable([one for one in connections if one is not None])
        for index, connection in enumerate(connections):
            if connection is None:
                continue
            try:
                connection.step(connection.socket in readable)
            except (OSError, ProtocolError):
                connection.close()
                connections[index] = None
    for connection in connections:
        if connection is not None:
            connection.close()


def _readable(connections: Sequence[_Connection]) -> set[socket.socket]:
    if not connections:
        time.sleep(SELECT_SECS)
        return set()
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ)
        ready = selector.select(SELECT_SECS)
    return {key.fileobj for key, _ in ready if isinstance(key.fileobj, socket.socket)}
