"""Execution of unary handlers: coroutines on the event loop, plain functions in a thread.

A coroutine must not block the loop; a plain function has its thread from the bytes of its request
to the bytes of its reply.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from meta import telemetry
from meta.rpc.decoding import decode, parse
from meta.rpc.request_id import Context

Execute: TypeAlias = Callable[[bytes, Context], Coroutine[Any, Any, bytes]]


def of_handler(handler: Any, rpc: str) -> Execute:
    """The function that decodes a request, runs the handler and serializes its reply."""
    if inspect.iscoroutinefunction(handler.unary_unary):
        return _on_loop(handler, rpc)
    return _in_thread(handler, rpc)


def _in_thread(handler: Any, rpc: str) -> Execute:
    def work(raw: bytes, context: Context) -> bytes:
        with telemetry.span(rpc):
            reply = handler.unary_unary(parse(raw, handler.request_deserializer), context)
            serialized: bytes = handler.response_serializer(reply)
            return serialized

    return lambda raw, context: asyncio.to_thread(work, raw, context)


def _on_loop(handler: Any, rpc: str) -> Execute:
    async def execute(raw: bytes, context: Context) -> bytes:
        request = await decode(raw, handler.request_deserializer)
        with telemetry.span(rpc):
            reply = await handler.unary_unary(request, context)
        serialized: bytes = handler.response_serializer(reply)
        return serialized

    return execute
