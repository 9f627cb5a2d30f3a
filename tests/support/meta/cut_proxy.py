"""A TCP proxy before one meta that fails as networks and machines do."""

import contextlib
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

_CHUNK_BYTES = 65_536
_TICK_SECS = 0.02
# gRPC's message of HealthCheckResponse with SERVING.
_SERVING = b"\x00\x00\x00\x00\x02\x08\x01"


class Fault(Enum):
    """A way in which a server is away."""

    # Its machine says that nobody listens.
    KILLED = "killed"
    # It takes connections and bytes, and sends none.
    STOPPED = "stopped"
    # It executes calls, and its replies are lost.
    CUT_ONE_WAY = "replies lost"
    # Connections of before are dead; new ones work.
    HALF_OPEN = "half-open"


@dataclass(eq=False)
class _Pair:
    """A client's connection and the one to the server."""

    client: socket.socket
    server: socket.socket
    is_dead: bool = False

    def close(self) -> None:
        """Reset both, as the end of a process does."""
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            end.close()


class CutProxy:
    """Forwards connections to `address` until a fault is set; one thread."""

    def __init__(self, address: str, host: str = "127.0.0.1", port: int = 0) -> None:
        self.target = address
        self._host, self._port = host, port
        self._fault: Fault | None = None
        self._pairs: list[_Pair] = []
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._wakes, self._woken = socket.socketpair()
        self._lock = threading.Lock()
        self._is_closed = False
        # Seconds that replies are under way.
        self.delay_secs = 0.0
        self._delayed: deque[tuple[float, _Pair, bytes]] = deque()
        self._fault_after_health: Fault | None = None
        # Health checks of which the answer passed in plain text.
        self.health_checks = 0
        # Connections that were ever opened.
        self.accepted = 0
        self._listen()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port of `address`."""
        return self._port

    @property
    def connections(self) -> int:
        """Connections that are open."""
        with self._lock:
            return len(self._pairs)

    def fail(self, fault: Fault | None) -> None:
        """Fail from now on; None = work again, for new connections."""
        with self._lock:
            former, self._fault = self._fault, fault
            if fault is Fault.HALF_OPEN:
                for pair in self._pairs:
                    pair.is_dead = True
                self._fault = None
            elif fault is Fault.KILLED or former is not None:
                for pair in list(self._pairs):
                    self._drop(pair)
            if fault is Fault.KILLED:
                self._unlisten()
            elif self._listener is None:
                self._listen()
        self._wake()

    def fail_after_health(self, fault: Fault) -> None:
        """Fail once the next health check was answered."""
        self._fault_after_health = fault

    def close(self) -> None:
        """End everything."""
        self._is_closed = True
        self._wake()
        self._thread.join(10)
        for pair in self._pairs:
            pair.close()
        self._unlisten()
        self._wakes.close()
        self._woken.close()

    def _wake(self) -> None:
        self._wakes.send(b"x")

    def _listen(self) -> None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._host, self._port))
        listener.listen(128)
        self._port = listener.getsockname()[1]
        self._selector.register(listener, selectors.EVENT_READ)
        self._listener = listener

    def _unlisten(self) -> None:
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None

    def _run(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(_TICK_SECS if self.delay_secs else None):
                with self._lock:
                    self._handle(key)
            with self._lock:
                self._send_delayed()

    def _send_delayed(self) -> None:
        while self._delayed and self._delayed[0][0] <= time.monotonic():
            _, pair, data = self._delayed.popleft()
            if pair in self._pairs:
                with contextlib.suppress(OSError):
                    pair.client.sendall(data)

    def _handle(self, key: selectors.SelectorKey) -> None:
        end = key.fileobj
        assert isinstance(end, socket.socket)
        if end is self._woken:
            end.recv(_CHUNK_BYTES)
        elif end is self._listener:
            self._accept(end)
        elif isinstance(key.data, _Pair) and key.data in self._pairs:
            self._forward(key.data, end)

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        self.accepted += 1
        host, _, port = self.target.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), timeout=5)
        except OSError:
            client.close()
            return
        pair = _Pair(client, server)
        self._pairs.append(pair)
        for end in (client, server):
            end.setblocking(True)
            self._selector.register(end, selectors.EVENT_READ, pair)

    def _forward(self, pair: _Pair, source: socket.socket) -> None:
        is_request = source is pair.client
        sink = pair.server if is_request else pair.client
        try:
            data = source.recv(_CHUNK_BYTES)
            if not data:
                self._drop(pair)
                return
            is_lost = pair.is_dead or self._fault is Fault.STOPPED
            if not is_request and self.delay_secs:
                self._delayed.append((time.monotonic() + self.delay_secs, pair, data))
            elif not is_lost and (is_request or self._fault is not Fault.CUT_ONE_WAY):
                sink.sendall(data)
            if not is_request and _SERVING in data:
                self.health_checks += 1
                if self._fault_after_health is not None:
                    self._fault, self._fault_after_health = self._fault_after_health, None
        except OSError:
            self._drop(pair)

    def _drop(self, pair: _Pair) -> None:
        self._pairs.remove(pair)
        for end in (pair.client, pair.server):
            self._selector.unregister(end)
        pair.close()


@contextmanager
def cut_proxy(address: str, host: str = "127.0.0.1", port: int = 0) -> Iterator[CutProxy]:
    """Run a proxy before a server."""
    proxy = CutProxy(address, host, port)
    try:
        yield proxy
    finally:
        proxy.close()
