"""A client's connections to one server: opened when needed, replaced, drained and closed."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc

from meta.client.addresses import ServerTarget
from meta.client.channel import CurrentCredentials

# A nursery's poll over many streams is larger than gRPC's default of 4 MiB.
RECEIVE_BYTES_MAX = 64 * 1024 * 1024
# A quiet server has no connection.
IDLE_MS = 300_000
# A server that comes back is noticed about as soon as a call tries it again.
RECONNECT_MS_MIN, RECONNECT_MS_MAX = 100, 1_000
# The requests of a stream are known to gRPC alone, so it sends them again itself.
_STREAMED_REQUESTS = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": "meta.v1.OperationsService", "method": "CheckConsistency"}],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "3s",
                    "backoffMultiplier": 2.5,
                    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
                },
            }
        ]
    }
)
_HEALTH_METHOD = "/grpc.health.v1.Health/Check"
# HealthCheckResponse with SERVING. Readers do not have the package with its class.
_SERVING = b"\x08\x01"

# Connections to each target that were abandoned. gRPC shares connections among channels with equal
# options; a number among the options keeps new channels off an abandoned one.
_abandoned: Counter[ServerTarget] = Counter()


class Unanswered(grpc.RpcError):
    """A call was cut short because its server stopped answering; its outcome is unknown."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self._details = f"failed to connect: {target} stopped answering"

    def code(self) -> grpc.StatusCode:
        """The status of every failed connection."""
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        """One sentence."""
        return self._details

    def initial_metadata(self) -> tuple[()]:
        """None: nothing was received."""
        return ()

    def trailing_metadata(self) -> tuple[()]:
        """None: nothing was received."""
        return ()


class Connection:
    """One channel, and the time at which its server was last heard."""

    def __init__(self, target: ServerTarget, credentials: grpc.ChannelCredentials | None) -> None:
        self.target = target
        self.heard_at = float("-inf")
        # Closed by this client while calls may wait on it; they are sent again elsewhere.
        self.is_abandoned = False
        self.credentials = credentials
        self.age = _abandoned[target]
        self._channel = _open(target, credentials, self.age)
        self._calls: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._is_closed = False

    def call(self, kind: str, path: str, options: dict[str, Any]) -> Any:
        """The callable of one RPC of a stub. Raises ValueError on a closed channel, as gRPC does.

        gRPC itself registers a method on a channel without asking whether another thread has closed
        it, and the process dies of that.
        """
        call = self._calls.get(path)
        if call is None:
            with self._lock:
                if self._is_closed:
                    raise ValueError("the channel is closed")
                call = self._calls[path] = getattr(self._channel, kind)(path, **options)
        return call

    def start_probe(self, secs: float) -> "Probe":
        """Ask the server for its health; any answer shows that it is alive."""
        try:
            call = self.call("unary_unary", _HEALTH_METHOD, {})
            return Probe(call.future(b"", timeout=secs))
        except ValueError:
            return Probe(None)

    def failure(self, error: grpc.RpcError) -> grpc.RpcError:
        """The failure of a call: gRPC's own, unless this client has cut it short."""
        return Unanswered(self.target.target) if self.is_abandoned else error

    def abandon(self) -> None:
        """End the calls that wait, and keep new channels off this connection: it is dead."""
        if _abandoned[self.target] == self.age:
            _abandoned[self.target] += 1
        self.end()

    def end(self) -> None:
        """Close the channel; calls that still wait on it are sent again elsewhere."""
        self.is_abandoned = True
        self.close()

    def close(self) -> None:
        """Close the channel; calls under way are cancelled."""
        with self._lock:
            self._is_closed = True
            self._channel.close()


class Probe:
    """A health check that was sent."""

    def __init__(self, future: Any) -> None:
        self._code: grpc.StatusCode | None = grpc.StatusCode.CANCELLED
        self._reply = b""
        self._future = future

    def wait(self) -> "Probe":
        """Wait for its end, which its deadline bounds."""
        if self._future is not None:
            error = self._future.exception()
            self._code = error.code() if error else None
            self._reply = b"" if error else self._future.result()
        return self

    @property
    def is_silent(self) -> bool:
        """True if the server took the call, or the connection, and never answered."""
        return self._code is grpc.StatusCode.DEADLINE_EXCEEDED

    @property
    def is_answered(self) -> bool:
        """True if the server answered, whatever it said."""
        failed = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        return not self.is_silent and self._code not in failed

    @property
    def health(self) -> bool | None:
        """True if the server serves, None if it has no health service."""
        if self._code is grpc.StatusCode.UNIMPLEMENTED:
            return None
        return self._code is None and self._reply == _SERVING

    @property
    def error(self) -> grpc.RpcError | None:
        """The failure, if there is no answer."""
        error: grpc.RpcError | None = self._future.exception() if self._future else None
        return error


class Endpoint:
    """One server, with the connection for calls that begin now; safe for many threads.

    `failed_at` is when it was last unavailable, 0 once it has answered since.
    """

    def __init__(
        self,
        target: ServerTarget,
        credentials: CurrentCredentials,
        drain_secs: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.failed_at = 0.0
        self._credentials = credentials
        self._drain_secs = drain_secs
        self._clock = clock
        self._lock = threading.Lock()
        self._is_closed = False
        self._connection: Connection | None = None
        self._retired: list[tuple[float, Connection]] = []

    def connection(self) -> Connection:
        """The connection for a call that begins now; a former one drains if its files changed.

        Raises ValueError if the client is closed, as gRPC does.
        """
        credentials, connection = self._credentials(), self._connection
        if connection is not None and connection.credentials is credentials:
            return connection
        with self._lock:
            if self._is_closed:
                # A channel that nobody closes must not be alive when the process ends.
                raise ValueError("the client is closed")
            if self._connection is connection:
                self._retire()
                self._connection = Connection(self.target, credentials)
            elif self._connection is None:
                self._connection = Connection(self.target, credentials)
            return self._connection

    def answered(self, connection: Connection) -> None:
        """Note that the server answered a call."""
        connection.heard_at = self._clock()
        if self.failed_at:
            self.failed_at = 0.0

    def abandon(self, connection: Connection) -> None:
        """End the calls that wait on a connection; the next call opens another one."""
        with self._lock:
            if self._connection is connection:
                self._connection = None
        connection.abandon()

    def leave(self) -> None:
        """Let calls under way end; the next call opens another connection."""
        with self._lock:
            self._retire()

    def tidy(self) -> bool:
        """Close former connections that have had their time; true if none is left."""
        with self._lock:
            while self._retired and self._retired[0][0] <= self._clock() - self._drain_secs:
                self._retired.pop(0)[1].end()
            return not self._retired

    def close(self) -> None:
        """Close every connection; calls under way are cancelled."""
        with self._lock:
            self._is_closed = True
            self._retire()
            for _, connection in self._retired:
                connection.close()
            self._retired.clear()

    def _retire(self) -> None:
        if self._connection is not None:
            self._retired.append((self._clock(), self._connection))
            self._connection = None


def _open(
    target: ServerTarget, credentials: grpc.ChannelCredentials | None, age: int
) -> grpc.Channel:
    options: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
        ("grpc.client_idle_timeout_ms", IDLE_MS),
        ("grpc.initial_reconnect_backoff_ms", RECONNECT_MS_MIN),
        ("grpc.max_reconnect_backoff_ms", RECONNECT_MS_MAX),
        ("grpc.service_config", _STREAMED_REQUESTS),
        ("segplane.abandoned", age),
    ]
    if credentials is None:
        if target.server_name:
            options.append(("grpc.default_authority", target.server_name))
        return grpc.insecure_channel(target.target, options=options)
    if target.server_name:
        options.append(("grpc.ssl_target_name_override", target.server_name))
    return grpc.secure_channel(target.target, credentials, options=options)
