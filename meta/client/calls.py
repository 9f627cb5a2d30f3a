"""Calls of stubs: deadlines, attempts at one server after another, and streams that move.

Unary calls raise the classes of `meta.errors`; streams raise grpc.RpcError, which `typed_error`
converts.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from meta import errors
from meta.client.bearer_token import Metadata
from meta.client.connections import Connection, Endpoint, Probe, Unanswered
from meta.client.endpoints import MetaServers
from meta.client.failures import Retries, has_unknown_outcome, typed_error
from meta.client.liveness import PROBE_SECS, Liveness
from meta.client.observers import AttemptObserver
from meta.client.sent_changes import SentChanges
from meta.client.traces import with_trace

# Each returns a secret that is shown once. A second token would be one that nobody knows of.
SENT_ONCE = frozenset(
    {
        "/meta.v1.IngestTokenService/CreateIngestToken",
        "/meta.v1.OperationsService/CreateAccessToken",
    }
)
_WATCH = "/meta.v1.OperationsService/WatchDataset"


@dataclass(frozen=True, slots=True)
class ClientParts:
    """The parts that all calls of a client share."""

    endpoints: MetaServers
    liveness: Liveness
    deadline_secs: float
    metadata: Callable[[], Metadata]
    observer: AttemptObserver

    def identify(self, options: dict[str, Any]) -> None:
        """Name the caller in a call's options, unless they name another one, and the trace."""
        metadata = options.get("metadata")
        if metadata is None:
            metadata = self.metadata()
        # Most calls have an empty context: to look for a span in it takes six times as long.
        context = sys.modules.get("opentelemetry.context")
        if context is not None and context.get_current():
            metadata = with_trace(metadata)
        options["metadata"] = metadata

    def find_serving(self, ends_at: float) -> Endpoint:
        """Find a server that serves, for a call that is sent once. Raises Unavailable."""
        endpoints, preferred = self.endpoints, self.endpoints.pick()
        probe = Probe(None)
        for endpoint in (preferred, *endpoints.others(preferred)):
            secs = min(PROBE_SECS, ends_at - time.monotonic())
            probe = self.liveness.ask([endpoint], secs)[0]
            if probe.health is not False:
                return endpoint
        if probe.error is None:
            raise errors.Unavailable(f"{preferred.target.target} does not serve at present")
        raise typed_error(probe.error)


class Channel(grpc.Channel):
    """The channel that stubs are given: it gives them calls that choose a server each time."""

    def __init__(self, caller: ClientParts) -> None:
        self._caller = caller

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        """A call with one request and one reply."""
        return UnaryCall(self._caller, _method("unary_unary", *args, **kwargs))

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        """A call with one request and a stream of replies."""
        return self._streaming(_method("unary_stream", *args, **kwargs))

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        """No RPC of meta has this form."""
        raise NotImplementedError

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        """A call with a stream of requests and a stream of replies."""
        return self._streaming(_method("stream_stream", *args, **kwargs))

    def _streaming(self, method: "_Method") -> Any:
        return lambda request, **options: ReplyStream(self._caller, method, request, options)

    def subscribe(self, *args: Any, **kwargs: Any) -> None:
        """Connectivity is that of several channels, none of which is shown."""
        raise NotImplementedError

    def unsubscribe(self, *args: Any, **kwargs: Any) -> None:
        """Connectivity is that of several channels, none of which is shown."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every connection."""
        self._caller.endpoints.close()
        self._caller.liveness.stop()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Method:
    kind: str
    path: str
    options: dict[str, Any]

    def on(self, connection: Connection) -> Any:
        return connection.call(self.kind, self.path, self.options)


def _method(kind: str, path: str, *_: Any, **options: Any) -> _Method:
    return _Method(kind, path, options)


class UnaryCall:
    """One unary RPC of a stub."""

    def __init__(self, caller: ClientParts, method: _Method) -> None:
        self._caller = caller
        self._method = method
        self._is_repeatable = method.path not in SENT_ONCE

    def __call__(self, request: Any, timeout: float | None = None, **options: Any) -> Any:
        """Send the request until it is answered, at most until the deadline."""
        caller = self._caller
        caller.identify(options)
        ends_at = time.monotonic() + (timeout or caller.deadline_secs)
        retries = Retries(caller.endpoints, ends_at, is_repeatable=self._is_repeatable)
        while True:
            if self._is_repeatable:
                endpoint = caller.endpoints.pick()
            else:
                endpoint = caller.find_serving(ends_at)
            try:
                return self._attempt(endpoint, request, options, retries)
            except grpc.RpcError as error:
                if not retries.may_go_on(endpoint, error):
                    raise self._final(error) from None

    def future(self, request: Any, timeout: float | None = None, **options: Any) -> Any:
        """Send the request once; the future raises grpc.RpcError, which `typed_error` converts."""
        self._caller.identify(options)
        observer, path = self._caller.observer, self._method.path
        call = self._method.on(self._caller.endpoints.pick().connection())
        began = observer.begin(path)
        future = call.future(request, timeout=timeout or self._caller.deadline_secs, **options)
        future.add_done_callback(lambda ended: observer.end(path, began, ended.code().name))
        return future

    def _attempt(
        self, endpoint: Endpoint, request: Any, options: dict[str, Any], retries: Retries
    ) -> Any:
        liveness, connection = self._caller.liveness, endpoint.connection()
        observer, path = self._caller.observer, self._method.path
        number = liveness.begin(endpoint, connection, retries.silences)
        began, status = observer.begin(path), "CANCELLED"
        try:
            timeout = retries.ends_at - time.monotonic()
            reply = self._method.on(connection)(request, timeout=timeout, **options)
            status = "OK"
        except grpc.RpcError as error:
            failure: Any = connection.failure(error)
            status = failure.code().name
            if failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                liveness.suspect(endpoint, connection)
            raise failure from None
        except ValueError:
            # Abandoned between the choice and the call.
            if connection.is_abandoned:
                raise Unanswered(endpoint.target.target) from None
            raise
        finally:
            liveness.end(number)
            observer.end(path, began, status)
        endpoint.answered(connection)
        return reply

    def _final(self, error: grpc.RpcError) -> errors.MetaError:
        """The error that the caller gets."""
        if not self._is_repeatable and has_unknown_outcome(error):
            rpc = self._method.path.rpartition("/")[2]
            return errors.OutcomeUnknown(
                f"{rpc} may have been executed: look for the token, revoke it and create another"
                f" ({typed_error(error).message})"
            )
        return typed_error(error)


class ReplyStream:
    """The replies of one call, received from one server after another.

    A call with one request is sent again until its first reply. WatchDataset continues after that,
    with the changes that are still to come; other streams end with the failure of their server.
    """

    def __init__(
        self, caller: ClientParts, method: _Method, request: Any, options: dict[str, Any]
    ) -> None:
        timeout = options.pop("timeout", None)
        self._caller = caller
        self._method = method
        self._request = request
        self._options = options
        self._ends_at = float("inf") if timeout is None else time.monotonic() + timeout
        self._may_move = method.kind == "unary_stream"
        self._sent = SentChanges() if method.path == _WATCH else None
        self._is_cancelled = False
        self._begin_attempts()
        self._open()

    def __iter__(self) -> "ReplyStream":
        return self

    def __next__(self) -> Any:
        """The next reply. Raises grpc.RpcError."""
        while True:
            try:
                reply = next(self._call)
            except grpc.RpcError as error:
                self._move(self._connection.failure(error))
                continue
            self._endpoint.answered(self._connection)
            self._begin_attempts()
            if self._sent is None:
                self._may_move = False
            else:
                self._request = self._sent.receive(self._request, reply)
            return reply

    def cancel(self) -> None:
        """End the call."""
        self._is_cancelled = True
        self._call.cancel()

    def __getattr__(self, name: str) -> Any:
        """The rest of a grpc.Call, of the present attempt."""
        return getattr(self._call, name)

    def _begin_attempts(self) -> None:
        self._retries = Retries(self._caller.endpoints, self._ends_at)
        # The first of several failures in a row says why the stream ended.
        self._failure: grpc.RpcError | None = None

    def _open(self) -> None:
        liveness = self._caller.liveness
        if self._may_move:
            self._endpoint = self._caller.endpoints.pick()
        else:
            self._endpoint = self._caller.find_serving(self._ends_at)
        self._connection = self._endpoint.connection()
        is_endless = self._ends_at == float("inf")
        timeout = None if is_endless else self._ends_at - time.monotonic()
        call = self._method.on(self._connection)
        options = dict(self._options)
        self._caller.identify(options)
        observer, path = self._caller.observer, self._method.path
        began = observer.begin(path)
        self._call = attempt = call(self._request, timeout=timeout, **options)
        number = liveness.begin(self._endpoint, self._connection)

        def end() -> None:
            liveness.end(number)
            observer.end(path, began, attempt.code().name)

        if not attempt.add_callback(end):
            end()
        if self._is_cancelled:
            # Another thread has ended the attempt before this one.
            self._call.cancel()

    def _move(self, failure: grpc.RpcError) -> None:
        """Open the stream at a server that answers. Raises the first failure if none does."""
        self._failure = self._failure or failure
        if self._is_cancelled or not self._may_move or not self._is_retried(failure):
            raise self._failure
        self._open()

    def _is_retried(self, failure: Any) -> bool:
        # A reader that was dropped because it took nothing must learn of it.
        is_dropped = failure.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and bool(self._sent)
        return not is_dropped and self._retries.may_go_on(self._endpoint, failure)
