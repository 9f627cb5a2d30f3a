"""Execution of unary handlers: coroutines on the event loop, plain functions in a thread.

A coroutine must not block the loop; a plain function has its thread from the bytes of its request
to the bytes of its reply.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from meta import telemetry
from meta.errors import VersionNotReached
from meta.event_loop import in_thread
from meta.rpc.decoding import decode, parse
from meta.rpc.request_id import Context
from meta.rpc.thread_shares import CallCost
from meta.store.engine import call_scope

Execute: TypeAlias = Callable[[bytes, Context, CallCost], Coroutine[Any, Any, bytes]]
Run: TypeAlias = Callable[[bytes, Context], Coroutine[Any, Any, bytes]]
# Bound of the wait for min_version: another instance lags by one commit, not by more.
VERSION_WAIT_SECS = 0.5
VERSION_POLL_FIRST_SECS = 0.02


def is_in_thread(handler: Any) -> bool:
    """True for a handler that occupies a thread while it runs."""
    return not inspect.iscoroutinefunction(handler.unary_unary)


def of_handler(handler: Any, rpc: str) -> Execute:
    """Return the function that decodes a request, runs the handler and serializes its reply."""
    return _in_thread(handler, rpc) if is_in_thread(handler) else _on_loop(handler, rpc)


def _in_thread(handler: Any, rpc: str) -> Execute:
    def work(raw: bytes, context: Context, cost: CallCost) -> bytes:
        with cost.counted(), telemetry.served(rpc, context.invocation_metadata) as span:
            cost.exemplar = telemetry.exemplar(span)
            reply = handler.unary_unary(parse(raw, handler.request_deserializer))
            return _serialized(handler, reply)

    async def execute(raw: bytes, context: Context, cost: CallCost) -> bytes:
        deadline = time.monotonic() + VERSION_WAIT_SECS
        pause_secs = VERSION_POLL_FIRST_SECS
        while True:
            try:
                return await in_thread(work, raw, context, cost, on_cancel=call_scope.cancel_soon)
            except VersionNotReached:
                if time.monotonic() > deadline:
                    raise
            # The wait is on the loop: callers that wait for a version must not occupy the threads.
            await asyncio.sleep(pause_secs)
            pause_secs *= 2

    return execute


def _on_loop(handler: Any, rpc: str) -> Execute:
    async def execute(raw: bytes, context: Context, cost: CallCost) -> bytes:
        request = await decode(raw, handler.request_deserializer, cost)
        with telemetry.served(rpc, context.invocation_metadata) as span:
            cost.exemplar = telemetry.exemplar(span)
            reply = await handler.unary_unary(request)
        return _serialized(handler, reply)

    return execute


def _serialized(handler: Any, reply: Any) -> bytes:
    """The bytes of a reply, which a handler may have written itself."""
    if isinstance(reply, bytes):
        return reply
    serialized: bytes = handler.response_serializer(reply)
    return serialized
