"""Around every RPC: request id and log, metrics, auth, decoding, and errors as rich statuses."""

import hmac
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from uuid import uuid4

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from meta import decoding, metrics, telemetry
from meta.decoding import Decoder, Malformed, Undecoded
from meta.errors import (
    DOMAIN,
    InvalidArgument,
    MetaError,
    Overloaded,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)

log = structlog.get_logger()
# Reflection and health watches hold a thread for as long as they like.
STREAM_SHARE = 4
# The official reflection client opens a stream per question; the one before may still be closing.
STREAM_WAIT_SECS = 0.5
RETRY_AFTER_SECS = 1
# Reachable without a credential: a probe has none.
_OPEN_METHODS = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})
_REQUEST_ID_CHARACTERS_MAX = 128


class Boundary(grpc.ServerInterceptor):
    """Wraps every handler; nothing that a client sends leaves here as INTERNAL or UNKNOWN."""

    def __init__(self, auth_token: str, threads: int) -> None:
        self._auth_token = auth_token.encode()
        self._decoder = Decoder()
        self._streams = threading.BoundedSemaphore(max(1, threads // STREAM_SHARE))

    def intercept_service(
        self, continuation: Callable[[Any], Any], details: grpc.HandlerCallDetails
    ) -> Any:
        """Return the wrapped handler, or None for a method nobody serves."""
        handler = continuation(details)
        if handler is None:
            return None
        method: str = details.method
        if handler.request_streaming or handler.response_streaming:
            return self._streaming(handler, method)
        return grpc.unary_unary_rpc_method_handler(
            self._unary(handler.unary_unary, method, handler.request_deserializer),
            request_deserializer=decoding.first(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )

    def _unary(
        self,
        behaviour: Callable[[Any, Any], Any],
        method: str,
        deserialize: Callable[[bytes], Any],
    ) -> Callable[[Any, Any], Any]:
        name = method.rpartition("/")[2]
        seconds = metrics.RPC_SECONDS.labels(name, "OK")

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            began = time.perf_counter()
            try:
                self._authenticate(method, context)
                if isinstance(request, Undecoded | Malformed):
                    with self._decoder.rest(request, deserialize) as parsed:
                        reply = behaviour(parsed, context)
                else:
                    with telemetry.span(name):
                        reply = behaviour(request, context)
            except Exception as error:
                _refuse(error, name, began, context)
            seconds.observe(time.perf_counter() - began)
            return reply

        return call

    def _streaming(self, handler: Any, method: str) -> Any:
        name = method.rpartition("/")[2]
        inner = handler.stream_stream or handler.unary_stream

        def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            began = time.perf_counter()
            if not self._streams.acquire(timeout=STREAM_WAIT_SECS):
                _refuse(Overloaded("too many open streams"), name, began, context)
            try:
                self._authenticate(method, context)
                parsed = request
                if handler.request_streaming:
                    parsed = self._decoder.each(request, handler.request_deserializer)
                yield from inner(parsed, context)
            except Exception as error:
                # A client that has left, as reflection clients do after each answer, is no fault.
                if context.is_active():
                    _refuse(error, name, began, context)
            finally:
                self._streams.release()

        make = (
            grpc.stream_stream_rpc_method_handler
            if handler.request_streaming
            else grpc.unary_stream_rpc_method_handler
        )
        return make(
            call,
            request_deserializer=(
                decoding.first(handler.request_deserializer)
                if handler.request_streaming
                else handler.request_deserializer
            ),
            response_serializer=handler.response_serializer,
        )

    def _authenticate(self, method: str, context: grpc.ServicerContext) -> None:
        if not self._auth_token or method in _OPEN_METHODS:
            return
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and hmac.compare_digest(
                str(value).encode(), b"Bearer " + self._auth_token
            ):
                return
        raise Unauthenticated("the call needs `authorization: Bearer <META_AUTH_TOKEN>`")


def _refuse(error: Exception, name: str, began: float, context: grpc.ServicerContext) -> NoReturn:
    """Answer with the error's status, logged once with the caller's request id."""
    if isinstance(error, NotImplementedError):
        error = Unimplemented(f"this server does not have {name} yet")
    elif getattr(context, "code", lambda: None)() is not None:
        # The handler has aborted the call itself (reflection and health do).
        raise error
    request_id = _request_id(context)
    if isinstance(error, MetaError):
        refusal = error
        log.info("rpc_refused", rpc=name, reason=error.reason, request_id=request_id)
    else:
        log.error("rpc_failed", rpc=name, request_id=request_id, exc_info=error)
        refusal = MetaError(f"internal error; quote request id {request_id}")
    metrics.RPC_SECONDS.labels(name, refusal.code.name).observe(time.perf_counter() - began)
    context.set_trailing_metadata((("x-request-id", request_id),))
    context.abort_with_status(rpc_status.to_status(to_status(refusal, request_id)))
    raise AssertionError("abort_with_status raises")


def _request_id(context: grpc.ServicerContext) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == "x-request-id" and isinstance(value, str):
            return value[:_REQUEST_ID_CHARACTERS_MAX]
    return str(uuid4())


def to_status(error: MetaError, request_id: str) -> status_pb2.Status:
    """google.rpc.Status with ErrorInfo, field violations and a retry delay where they apply."""
    details = [
        error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata),
        error_details_pb2.RequestInfo(request_id=request_id),
    ]
    if isinstance(error, InvalidArgument):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.message
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, Overloaded | Unavailable):
        delay = duration_pb2.Duration(seconds=RETRY_AFTER_SECS)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    packed = []
    for detail in details:
        packed.append(any_pb2.Any())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=error.code.value, message=error.message, details=packed)
