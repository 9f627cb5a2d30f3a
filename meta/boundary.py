"""Around every RPC: request id and log, metrics, auth, decoding, and errors as rich statuses.

Handlers that are coroutines run on the server's event loop and must not hold it up; all others run
in its threads, and so do the parsing and serializing of whatever is not small.
"""

import asyncio
import hmac
import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeAlias
from uuid import uuid4

import grpc
import structlog
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from meta import metrics, telemetry
from meta.decoding import LARGE_AT_ONCE, LARGE_BYTES, SMALL_BYTES, parse
from meta.errors import (
    DOMAIN,
    InvalidArgument,
    MetaError,
    Overloaded,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from meta.event_loop import to_its_end

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Answer: TypeAlias = Callable[[bytes, Context], Coroutine[Any, Any, bytes]]
Deserialize: TypeAlias = Callable[[bytes], Any]
# What `abort` takes: code, details, trailing metadata.
_Refusal: TypeAlias = tuple[grpc.StatusCode, str, tuple[tuple[str, str | bytes], ...]]
log = structlog.get_logger()
# Reflection, health watches and consistency checks hold their place as long as they like.
STREAM_SHARE = 4
# The official reflection client opens a stream per question; the one before may still be closing.
STREAM_WAIT_SECS = 0.5
RETRY_AFTER_SECS = 1
# Reachable without a credential: a probe has none.
_OPEN_METHODS = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})
_REQUEST_ID_CHARACTERS_MAX = 128


class Boundary:
    """Wraps every handler; nothing that a client sends leaves here as INTERNAL or UNKNOWN."""

    def __init__(self, auth_token: str, threads: int) -> None:
        self._auth_token = auth_token.encode()
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._streams = asyncio.Semaphore(max(1, threads // STREAM_SHARE))

    def wrap(self, handler: Any, method: str) -> Any:
        """A method's handler, wrapped."""
        if handler.request_streaming or handler.response_streaming:
            return self._streaming(handler, method)
        is_coroutine = inspect.iscoroutinefunction(handler.unary_unary)
        answer = _on_loop if is_coroutine else _in_thread
        return grpc.unary_unary_rpc_method_handler(
            self._unary(answer(handler, _name(method)), method)
        )

    def _unary(self, answer: Answer, method: str) -> Answer:
        name = _name(method)
        seconds = metrics.RPC_SECONDS.labels(name, "OK")
        is_guarded = self._is_guarded(method)

        async def call(raw: bytes, context: Context) -> bytes:
            began = time.perf_counter()
            try:
                if is_guarded:
                    self._authenticate(context)
                if len(raw) <= LARGE_BYTES:
                    reply = await answer(raw, context)
                else:
                    async with self._large:
                        reply = await to_its_end(answer(raw, context))
                seconds.observe(time.perf_counter() - began)
                return reply
            except Exception as error:
                refusal = _refusal(error, name, began, context)
            # Not before the error is gone: gRPC keeps what it raises here with the call, in a cycle
            # that would hold the error's frames, and so the request, until the next collection.
            del raw
            await context.abort(*refusal)
            raise AssertionError("abort raises")

        return call

    def _streaming(self, handler: Any, method: str) -> Any:
        name = _name(method)
        inner = handler.stream_stream or handler.unary_stream
        is_guarded = self._is_guarded(method)

        async def call(received: Any, context: Context) -> None:
            began = time.perf_counter()
            try:
                async with self._place():
                    if is_guarded:
                        self._authenticate(context)
                    if handler.request_streaming:
                        requests = self._each(received, handler.request_deserializer)
                        async with aclosing(requests), aclosing(inner(requests, context)) as found:
                            async for reply in found:
                                await context.write(reply)
                    else:
                        # The health watch, the only one; it writes its replies itself.
                        await inner(parse(received, handler.request_deserializer), context)
                return
            except Exception as error:
                refusal = _refusal(error, name, began, context)
            await context.abort(*refusal)

        make = (
            grpc.stream_stream_rpc_method_handler
            if handler.request_streaming
            else grpc.unary_stream_rpc_method_handler
        )
        return make(call, response_serializer=handler.response_serializer)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Hold one of the places that streams have. Raises Overloaded."""
        try:
            async with asyncio.timeout(STREAM_WAIT_SECS):
                await self._streams.acquire()
        except TimeoutError:
            raise Overloaded("too many open streams") from None
        try:
            yield
        finally:
            self._streams.release()

    async def _each(
        self, requests: AsyncIterator[bytes], deserialize: Deserialize
    ) -> AsyncGenerator[Any, None]:
        """Give the requests of a stream parsed; a large one holds its turn until the next."""
        async for raw in requests:
            if len(raw) <= LARGE_BYTES:
                yield await _parsed(raw, deserialize)
            else:
                async with self._large:
                    yield await to_its_end(_parsed(raw, deserialize))

    def _is_guarded(self, method: str) -> bool:
        return bool(self._auth_token) and method not in _OPEN_METHODS

    def _authenticate(self, context: Context) -> None:
        for key, value in context.invocation_metadata() or ():
            if key == "authorization" and hmac.compare_digest(
                str(value).encode(), b"Bearer " + self._auth_token
            ):
                return
        raise Unauthenticated("the call needs `authorization: Bearer <META_AUTH_TOKEN>`")


def _name(method: str) -> str:
    return method.rpartition("/")[2]


def _in_thread(handler: Any, name: str) -> Answer:
    """Run a plain handler in a thread, from its request's bytes to its reply's."""

    def work(raw: bytes, context: Context) -> bytes:
        with telemetry.span(name):
            reply = handler.unary_unary(parse(raw, handler.request_deserializer), context)
            answer: bytes = handler.response_serializer(reply)
            return answer

    return lambda raw, context: asyncio.to_thread(work, raw, context)


def _on_loop(handler: Any, name: str) -> Answer:
    """Await a coroutine handler on the loop."""

    async def answer(raw: bytes, context: Context) -> bytes:
        request = await _parsed(raw, handler.request_deserializer)
        with telemetry.span(name):
            reply = await handler.unary_unary(request, context)
        answer: bytes = handler.response_serializer(reply)
        return answer

    return answer


async def _parsed(raw: bytes, deserialize: Deserialize) -> Any:
    if len(raw) <= SMALL_BYTES:
        return parse(raw, deserialize)
    return await asyncio.to_thread(parse, raw, deserialize)


def _refusal(error: Exception, name: str, began: float, context: Context) -> _Refusal:
    """The error's status, logged once with the caller's request id."""
    if isinstance(error, grpc.aio.BaseError):
        # The handler has aborted the call itself, as health does, or the client has left.
        raise error
    if isinstance(error, NotImplementedError):
        error = Unimplemented(f"this server does not have {name} yet")
    request_id = _request_id(context)
    if isinstance(error, MetaError):
        refusal = error
        log.info("rpc_refused", rpc=name, reason=error.reason, request_id=request_id)
    else:
        log.error("rpc_failed", rpc=name, request_id=request_id, exc_info=error)
        refusal = MetaError(f"internal error; quote request id {request_id}")
    metrics.RPC_SECONDS.labels(name, refusal.code.name).observe(time.perf_counter() - began)
    status = rpc_status.to_status(to_status(refusal, request_id))
    trailing = (*status.trailing_metadata, ("x-request-id", request_id))
    return status.code, status.details, trailing


def _request_id(context: Context) -> str:
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
