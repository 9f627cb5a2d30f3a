"""Health checks over gRPC, which need no credential and are answered whatever strangers send.

Their places are separate from everything else of a server: a call that sends no message, or
watches, is ended for newer ones.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from meta.call_metrics import MethodCalls
from meta.process.call_places import CallPlaces, Context, NoMessage, Refusal, code_of

# From 1,000 calls on that no handler has begun, gRPC ends new ones at random, as CANCELLED, health
# checks among them. Calls of strangers have their own bounds.
_WAITING_CALLS_MAX = 1_000_000
WAITING_CALLS = (
    ("grpc.server.max_pending_requests", _WAITING_CALLS_MAX),
    ("grpc.server.max_pending_requests_hard_limit", _WAITING_CALLS_MAX),
)

SERVICE = "/grpc.health.v1.Health"
# Bytes that a stranger may have in transit: messages of up to the server's limit.
CHECKS_MAX, CHECK_SECS = 16, 10.0
# Displaced checks that are ended: as many as refusals of strangers.
DISPLACED_PER_SEC = 100.0
# Seconds of a watch: a probe that watches for longer is asked to start again.
WATCHES_MAX, WATCH_SECS = 64, 3_600.0


class HealthCalls(grpc.GenericRpcHandler):
    """Check and Watch of a server; `count` is called for each call that loses its place."""

    def __init__(self, servicer: health_aio.HealthServicer, count: Callable[[], None]) -> None:
        def refusal(_context: Context, why: str) -> Refusal:
            count()
            return grpc.StatusCode.RESOURCE_EXHAUSTED, f"health check ended: {why}", ()

        self._servicer = servicer
        self._reads = CallPlaces(CHECKS_MAX, CHECK_SECS, refusal, DISPLACED_PER_SEC)
        self._watches = CallPlaces(WATCHES_MAX, WATCH_SECS, refusal)
        serialize = health_pb2.HealthCheckResponse.SerializeToString
        # Both begin at the headers of a call, and are the same on the wire as its other forms.
        self.handlers: dict[str, Any] = {
            f"{SERVICE}/Check": grpc.stream_unary_rpc_method_handler(
                _counted(f"{SERVICE}/Check", self._check), response_serializer=serialize
            ),
            f"{SERVICE}/Watch": grpc.stream_stream_rpc_method_handler(
                _counted(f"{SERVICE}/Watch", self._watch), response_serializer=serialize
            ),
        }

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a method; None = it is not a health check."""
        return self.handlers.get(handler_call_details.method)

    async def _check(self, _: object, context: Context) -> health_pb2.HealthCheckResponse:
        request = await self._request(context)
        # The stubs of the servicer have its reply as None.
        reply: Any = await self._servicer.Check(request, context)
        assert isinstance(reply, health_pb2.HealthCheckResponse)
        return reply

    async def _watch(self, _: object, context: Context) -> None:
        request = await self._request(context)
        await self._watches.run(context, self._servicer.Watch(request, context))

    async def _request(self, context: Context) -> health_pb2.HealthCheckRequest:
        try:
            return health_pb2.HealthCheckRequest.FromString(await self._reads.read(context))
        except (DecodeError, NoMessage):
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no health check request")
            raise


def _counted(
    method: str, answer: Callable[[object, Context], Awaitable[Any]]
) -> Callable[[object, Context], Awaitable[Any]]:
    calls = MethodCalls(method)

    async def call(request: object, context: Context) -> Any:
        began, status = calls.begin(), "UNKNOWN"
        try:
            reply = await answer(request, context)
            # The servicer may set a code without raising.
            status = code_of(context)
            return reply
        except asyncio.CancelledError:
            status = "CANCELLED"
            raise
        except grpc.aio.AbortError:
            status = code_of(context)
            raise
        finally:
            calls.end(began, status)

    return call
