"""OTLP over gRPC: requests are taken as raw bytes and answered once they are committed.

    handler = OtlpHandler(intake)
    server.add_generic_rpc_handlers((handler,))

An export is read as a stream of one message, so that its token and its room are checked before the
body is read; the two forms are the same on the wire, and cost the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import grpc

from collector.intake.admission import AdmittedExport
from collector.intake.intake import Intake
from collector.otlp.export import count_refused
from collector.otlp.partial_success import protobuf_answer
from collector.refusal import Refused, malformed, unavailable
from meta import telemetry
from meta.call_metrics import MethodCalls
from meta.client.addresses import host_of
from meta.telemetry import joined
from segments.signals import TRAITS, Signal

METHODS: dict[str, Signal] = {row.grpc_method: signal for signal, row in TRAITS.items()}
SERVICES = tuple(method.split("/")[1] for method in METHODS)
# It is sent twice, in headers of which clients take 8 KiB.
MESSAGE_CHARS_MAX = 2_000
_STATUS_KEY = "grpc-status-details-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


@dataclass(frozen=True, slots=True)
class ReadTimes:
    """Seconds after which a read counts as slow, and after which it is given up."""

    slow_secs: float
    timeout_secs: float


READ_TIMES = ReadTimes(slow_secs=1.0, timeout_secs=30.0)


class OtlpHandler(grpc.GenericRpcHandler):
    """The three Export methods."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._handlers = {method: self._handler(method) for method in METHODS}

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Return the handler of a method; it is called before the call's body is read."""
        return self._handlers.get(details.method)

    def _handler(self, method: str) -> grpc.RpcMethodHandler[bytes, bytes]:
        signal, calls = METHODS[method], MethodCalls(method)

        async def export(_: object, context: Context) -> bytes:
            began, status, exemplar = calls.begin(), "UNKNOWN", None
            token_secret = token_of(context.invocation_metadata())

            def host() -> str:
                return host_of(context.peer())

            try:
                admission = await self._intake.admit(signal, token_secret, host)
                with admission, joined(f"export.{signal}", context.invocation_metadata) as span:
                    exemplar = telemetry.exemplar(span)
                    payload = await self._read(context, admission)
                    result = await self._intake.accept(admission, payload)
                status = "OK"
                return protobuf_answer(signal, result)
            except Refused as refused:
                status = refused.refusal.code.name
                return await self._abort(signal, context, refused)
            except asyncio.CancelledError:
                status = "CANCELLED"
                raise
            finally:
                calls.end(began, status, exemplar)

        return grpc.stream_unary_rpc_method_handler(export)

    async def _read(self, context: Context, admission: AdmittedExport) -> bytes:
        """Read the one message of a call, whose size is not known before it is there."""
        size_bytes_max = self._intake.limits.export_size_bytes_max
        # An eighth, so that a token may have several exports on the way.
        reserved_bytes_max = min(size_bytes_max, admission.limits.memory_bytes // 8)
        expected_bytes = admission.activity.expected_bytes(reserved_bytes_max)
        await admission.charge.reserve(expected_bytes)
        payload = await read_in_time(context, admission, size_bytes_max, READ_TIMES)
        if not isinstance(payload, bytes):
            raise malformed("call carries no export request")
        if len(payload) > expected_bytes:
            admission.activity.distrust()
        admission.charge.grow_to(len(payload))
        admission.charge.set(len(payload))
        return payload

    async def _abort(self, signal: Signal, context: Context, refused: Refused) -> bytes:
        count_refused(signal, refused.refusal)
        status = refused.refusal.status()
        if len(status.message) > MESSAGE_CHARS_MAX:
            status.message = f"{status.message[:MESSAGE_CHARS_MAX]}..."
        await context.abort(
            _CODES[status.code], status.message, ((_STATUS_KEY, status.SerializeToString()),)
        )
        raise AssertionError("abort raises")


async def read_in_time(
    context: Context,
    admission: AdmittedExport,
    size_bytes_max: int,
    times: ReadTimes,
) -> object:
    """Read a message; raises Refused if it does not arrive in time, or is slow without room."""
    limit = _SlowRead(admission, size_bytes_max, times)
    try:
        return await context.read()
    except asyncio.CancelledError:
        if limit.refused and not limit.task.uncancel():
            raise limit.refused from None
        raise
    finally:
        limit.timer.cancel()


class _SlowRead:
    """Timer of a read: a slow one is expected to have the largest size, then it is given up.

    One timer for both: nearly every read ends before the first time, and takes one timer then.
    """

    def __init__(self, admission: AdmittedExport, size_bytes_max: int, times: ReadTimes) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.refused: Refused | None = None
        self._admission = admission
        self._size_bytes_max = size_bytes_max
        self._times = times
        self._loop = asyncio.get_running_loop()
        self.timer = self._loop.call_later(times.slow_secs, self._expect_the_largest)

    def _expect_the_largest(self) -> None:
        self._admission.activity.distrust()
        rest_secs = self._times.timeout_secs - self._times.slow_secs
        self.timer = self._loop.call_later(rest_secs, self._give_up)
        try:
            self._admission.charge.grow_to(self._size_bytes_max)
        except Refused as refused:
            self._cancel(refused)

    def _give_up(self) -> None:
        self._cancel(unavailable("body did not arrive in time"))

    def _cancel(self, refused: Refused) -> None:
        self.refused = refused
        self.task.cancel()


def token_of(metadata: Metadata | None) -> str:
    """Return the token secret in a call's headers; empty if there is none."""
    for name, value in metadata or ():
        text = value if isinstance(value, str) else ""
        if name == "x-ingest-token":
            return text
        if name == "authorization" and text[:7].lower() == "bearer ":
            return text[7:].strip()
    return ""
