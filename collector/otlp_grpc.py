"""OTLP over gRPC: requests are taken as raw bytes and answered once they are committed.

    handler = OtlpHandler(intake)
    server.add_generic_rpc_handlers((handler,))

An export is one message either way, so the server may read it as a unary call, which is faster, or
as a stream of one, which lets it check the token and the room before any byte of the body is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

import grpc

from collector.intake import Intake
from collector.refusal import Refused, malformed, unavailable
from collector.responses import protobuf_answer
from segments.signals import TRAITS, Signal

METHODS: dict[str, Signal] = {row.grpc_method: signal for signal, row in TRAITS.items()}
SERVICES = tuple(method.split("/")[1] for method in METHODS)
READ_TIMEOUT_SECS = 30.0
_STATUS_KEY = "grpc-status-details-bin"
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]
Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"


class OtlpHandler(grpc.GenericRpcHandler):
    """The three Export methods."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._at_once = {signal: self._unary(signal) for signal in METHODS.values()}
        self._checked_first = {signal: self._stream(signal) for signal in METHODS.values()}

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Choose how to read this call; called when its headers are in, before its body is."""
        signal = METHODS.get(details.method)
        if signal is None:
            return None
        if self._intake.may_read(signal, token_of(details.invocation_metadata)):
            return self._at_once[signal]
        return self._checked_first[signal]

    def _unary(self, signal: Signal) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def export(payload: bytes, context: Context) -> bytes:
            return await self._answer(signal, payload, context)

        return grpc.unary_unary_rpc_method_handler(export)

    def _stream(self, signal: Signal) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def export(_: object, context: Context) -> bytes:
            try:
                await self._intake.admit(signal, token_of(context.invocation_metadata()))
                payload = await self._read(context)
            except Refused as refused:
                return await self._abort(signal, context, refused)
            return await self._answer(signal, payload, context)

        return grpc.stream_unary_rpc_method_handler(export)

    async def _read(self, context: Context) -> bytes:
        try:
            with self._intake.reading():
                async with asyncio.timeout(READ_TIMEOUT_SECS):
                    payload = await context.read()
        except TimeoutError:
            raise unavailable("body did not arrive in time") from None
        if not isinstance(payload, bytes):
            raise malformed("call carries no export request")
        return payload

    async def _answer(self, signal: Signal, payload: bytes, context: Context) -> bytes:
        try:
            token_secret = token_of(context.invocation_metadata())
            num_rejected = await self._intake.accept(signal, token_secret, payload)
        except Refused as refused:
            return await self._abort(signal, context, refused)
        return protobuf_answer(signal, num_rejected)

    async def _abort(self, signal: Signal, context: Context, refused: Refused) -> bytes:
        self._intake.count_refused(signal, refused.refusal)
        status = refused.refusal.status()
        await context.abort(
            _CODES[status.code], status.message, ((_STATUS_KEY, status.SerializeToString()),)
        )
        raise AssertionError("abort raises")


def token_of(metadata: Metadata | None) -> str:
    """Return the token secret in a call's headers; empty if there is none."""
    for name, value in metadata or ():
        text = value if isinstance(value, str) else ""
        if name == "x-ingest-token":
            return text
        if name == "authorization" and text[:7].lower() == "bearer ":
            return text[7:].strip()
    return ""
