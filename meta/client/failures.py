"""Failures of calls: the server's error behind a status, and when a call may be sent again."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import grpc

from meta import errors
from meta.client.connections import Endpoint, Unanswered
from meta.client.endpoints import MetaServers
from meta.errors import (
    Code,
    DeadlineExceeded,
    InvalidArgument,
    MetaError,
    NotFound,
    Overloaded,
    RaceLost,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)

if TYPE_CHECKING:
    from meta.v1 import operations_pb2

# Pauses after all servers were tried.
BACKOFF_SECS = (0.1, 0.25, 0.6, 1.5)
_STATUS_KEY, _PUSHBACK_KEY = "grpc-status-details-bin", "grpc-retry-pushback-ms"
# After these a call may have been executed.
_UNKNOWN_OUTCOMES = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
)


class Retries:
    """Decides after each failed attempt of one call whether and when it is sent again.

    Another server is tried at once. Once all have failed, a pause precedes each further attempt.
    """

    def __init__(
        self, endpoints: MetaServers, ends_at: float, *, is_repeatable: bool = True
    ) -> None:
        self._endpoints = endpoints
        self.ends_at = ends_at
        self._is_repeatable = is_repeatable
        self._pauses: Iterator[float] = iter(BACKOFF_SECS)
        self._tried: set[Endpoint] = set()
        # Servers that did not answer the call.
        self.silences = 0

    def may_go_on(self, endpoint: Endpoint, error: grpc.RpcError) -> bool:
        """Wait until the next attempt is due; false if there is none."""
        call: Any = error
        self.silences += isinstance(error, Unanswered)
        if self._endpoints.closed.is_set():
            return False
        # A server that shuts down cancels a call that arrives at that moment.
        if call.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
            if not self._is_repeatable:
                return False
            if is_failure_of_server(error) and self._has_another(endpoint):
                return time.monotonic() < self.ends_at
            return self._pause()
        if call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return self._pause_of_shed_load(call)
        return False

    def _has_another(self, endpoint: Endpoint) -> bool:
        self._endpoints.failed(endpoint)
        self._tried.add(endpoint)
        return self._endpoints.pick() not in self._tried

    def _pause_of_shed_load(self, call: Any) -> bool:
        """Obey the server, which allows retries of shed load only."""
        if call.initial_metadata():
            # The reply arrived, and is too large for this client.
            return False
        pushback = dict(call.trailing_metadata() or ()).get(_PUSHBACK_KEY)
        if pushback is None:
            return self._pause()
        return int(pushback) >= 0 and self._pause(int(pushback) / 1_000)

    def _pause(self, secs: float | None = None) -> bool:
        pause = next(self._pauses, None)
        if pause is None:
            return False
        pause = pause if secs is None else secs
        if time.monotonic() + pause >= self.ends_at or self._endpoints.closed.wait(pause):
            return False
        self._tried.clear()
        return True


def is_failure_of_server(error: grpc.RpcError) -> bool:
    """True if a server is unavailable, false if it only cannot answer this call yet."""
    return type(typed_error(error)) in (errors.Unavailable, errors.MetaError)


def has_unknown_outcome(error: grpc.RpcError) -> bool:
    """True if the call may have been executed."""
    call: Any = error
    return call.code() in _UNKNOWN_OUTCOMES


def typed_error(error: grpc.RpcError) -> errors.MetaError:
    """The error that the server raised, by the reason in its ErrorInfo."""
    call: Any = error
    code: int = call.code().value[0]
    message: str = call.details() or ""
    reason, metadata, field = "", dict[str, str](), ""
    for key, value in call.trailing_metadata() or ():
        if key == _STATUS_KEY:
            reason, metadata, field = _details(value)
    return from_status(code, reason, message, metadata, field)


def refused_part(refusal: "operations_pb2.Refusal") -> errors.MetaError:
    """The error that the server refused a part of a call with."""
    error = from_status(
        refusal.code, refusal.reason, refusal.message, dict(refusal.metadata), refusal.field
    )
    if isinstance(error, errors.EventsClaimed):
        error.positions = tuple(refusal.claimed_positions)
    return error


def _details(packed: bytes) -> tuple[str, dict[str, str], str]:
    from google.rpc import error_details_pb2, status_pb2

    reason, metadata, field = "", dict[str, str](), ""
    for detail in status_pb2.Status.FromString(packed).details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(bad) and bad.field_violations:
            field = bad.field_violations[0].field
    return reason, metadata, field


def _all_classes(root: type[MetaError]) -> list[type[MetaError]]:
    return [root, *(c for sub in root.__subclasses__() for c in _all_classes(sub))]


BY_REASON: dict[str, type[MetaError]] = {c.reason: c for c in _all_classes(MetaError)}


def from_status(
    code: int, reason: str, message: str, metadata: dict[str, str], field: str = ""
) -> MetaError:
    """Rebuild the error a server raised; an unknown reason becomes the class of its code."""
    error_class = BY_REASON.get(reason) or _class_of_code(code)
    # __init__ is skipped, because the constructors of the classes differ in their parameters.
    error = error_class.__new__(error_class)
    MetaError.__init__(error, message)
    error.metadata = dict(metadata)
    if isinstance(error, InvalidArgument):
        error.field = field
    return error


def _class_of_code(code: int) -> type[MetaError]:
    by_code = {
        Code.INVALID_ARGUMENT.value: InvalidArgument,
        Code.NOT_FOUND.value: NotFound,
        Code.UNAVAILABLE.value: Unavailable,
        Code.UNIMPLEMENTED.value: Unimplemented,
        Code.DEADLINE_EXCEEDED.value: DeadlineExceeded,
        Code.UNAUTHENTICATED.value: Unauthenticated,
        Code.RESOURCE_EXHAUSTED.value: Overloaded,
        Code.ABORTED.value: RaceLost,
    }
    return by_code.get(code, MetaError)
