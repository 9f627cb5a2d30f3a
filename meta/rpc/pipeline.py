"""The path of every call: authentication, admission, its message, execution, reply or refusal.

A call begins at its headers: a caller without permission is refused before a message is read.
Nothing that a client sends leaves here as INTERNAL or UNKNOWN.
"""

import asyncio
from contextlib import aclosing
from functools import partial
from typing import Any

import grpc

from meta import access, telemetry
from meta.access import Principal
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, Overloaded, RoleRefused, TokenUnknown, Unauthenticated
from meta.process.call_places import LATE, CallPlaces, NoMessage
from meta.roles import REFLECTION_METHODS
from meta.rpc import execution, request_id, status
from meta.rpc.admission import STREAMS, WATCHES, Admission
from meta.rpc.authentication import Authentication
from meta.rpc.call_counts import UNKNOWN_METHOD, RpcCalls
from meta.rpc.decoding import LARGE_BYTES, LargeRequests, parse
from meta.rpc.denials import Denials
from meta.rpc.execution import Execute
from meta.rpc.refusal_pace import Caller, RefusalPace
from meta.rpc.request_id import Context
from meta.rpc.restrictions import EVERYBODY, STRANGER, SUBJECT, count_restricted, who
from meta.rpc.thread_shares import CallCost, ThreadShares
from meta.store.access import denied_calls
from meta.store.engine import call_scope
from meta.store.engine.call_scope import CallScope

# A subject holds at most such a part of the threads; the rest is for others.
THREADS_SHARE = 4
# They have their own places, and last.
WATCH_METHODS = frozenset({"/meta.v1.OperationsService/WatchDataset"})
# Calls whose messages have not come yet, and of which gRPC may hold all but the last byte.
UNREAD_MAX, UNREAD_SECS = 64, 60.0
# Anybody may ask a server without authentication which calls it has.
REFLECTIONS_MAX, REFLECTION_SECS = 16, 600.0
# Refusals of callers without a valid credential that wait; further ones are sent at once.
STRANGERS_MAX = 1_024
STRANGERS: Caller = "strangers", ""
# A reader that takes nothing for so long is dropped.
WRITE_SECS = 30.0
# Refusals that are logged once a minute for each host, and else counted.
DENIED = (RoleRefused, TokenUnknown, Unauthenticated)


class Pipeline:
    """Wraps the handlers of all methods; one a server, made on its event loop."""

    def __init__(
        self, authentication: Authentication, settings: Settings, transactions: Transactions
    ) -> None:
        self.denials = Denials(
            store=lambda counts: transactions.write(lambda tx: denied_calls.add(tx, counts))
        )
        self._authentication = authentication
        self.admission = Admission(settings)
        self.pace = RefusalPace(settings.concurrent_rpcs_max)
        self._strangers = RefusalPace(STRANGERS_MAX)
        self._large_requests = LargeRequests(self.pace)
        self.unread = CallPlaces(UNREAD_MAX, UNREAD_SECS, _gave_way)
        self._reflections = CallPlaces(REFLECTIONS_MAX, REFLECTION_SECS, _reflection_ended)
        # Less, since the database's pool has a connection for every second thread.
        self.threads = ThreadShares(max(1, settings.threads // THREADS_SHARE))

    def wrap(self, handler: Any, method: str) -> Any:
        """The handler of one method (`/package.Service/Method`), wrapped."""
        # Registered as if requests were streams, so that gRPC does not read a message first. They
        # are the same on the wire, and cost the same.
        if handler.request_streaming or handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(
                self._stream(handler, method), response_serializer=handler.response_serializer
            )
        return grpc.stream_unary_rpc_method_handler(self._unary(handler, method))

    def unknown(self) -> Any:
        """The handler of every method that the server does not have."""

        def refuse(_request: bytes) -> bytes:
            raise NotImplementedError

        handler = grpc.unary_unary_rpc_method_handler(refuse, _as_is, _as_is)
        return self.wrap(handler, UNKNOWN_METHOD)

    def _unary(self, handler: Any, method: str) -> Any:
        calls = RpcCalls(method)
        is_in_thread = execution.is_in_thread(handler)
        execute = self._in_share(
            execution.of_handler(handler, calls.rpc), is_in_thread=is_in_thread
        )

        async def call(_: object, context: Context) -> bytes:
            began = calls.begin()
            scope, cost = CallScope.enter(context.time_remaining), CallCost()
            raw = b""
            try:
                principal = await self._authentication.check(method, context)
                with self.admission.admit(principal):
                    raw = await self._read(principal, context)
                    reply = await execute(raw, context, cost)
                calls.succeed(began, cost.exemplar)
                return reply
            except asyncio.CancelledError:
                # The caller has left or its deadline has passed: free the thread and connection.
                scope.cancel_soon()
                calls.end(began, "CANCELLED")
                raise
            except Exception as error:  # noqa: BLE001 - the top of a call
                refusal = self._refuse(error, calls, began, context)
                paced_for = _paced_for(error)
            # gRPC keeps the exception that `abort` raises with the call, in a reference cycle. It
            # must hold no frame that holds the request: so `abort` is called here, in the outermost
            # frame, after the handler's error is freed and without the request.
            del raw
            if paced_for is not None:
                await self._wait(paced_for, cost.cpu_secs)
            await context.abort(*refusal)
            raise AssertionError("abort raises")

        return call

    async def _read(self, principal: Principal, context: Context) -> bytes:
        """Read the message of a call that is admitted."""
        caller = "unread", principal.account
        if not principal.is_shared:
            # A subject whose calls have no messages waits before it displaces others again.
            await self.pace.after_earlier(caller)
        try:
            holder = "" if principal.is_shared else principal.account
            return await self.unread.read(context, holder)
        except NoMessage:
            raise InvalidArgument("the call has no message") from None
        except grpc.aio.AbortError:
            count_restricted(who(principal), "unread")
            if not principal.is_shared:
                self.pace.delay(caller)
            raise

    async def _wait(self, paced_for: Caller, cpu_secs: float) -> None:
        """Wait until a refusal may be sent."""
        is_stranger = paced_for is STRANGERS
        pace = self._strangers if is_stranger else self.pace
        if await pace.wait(paced_for, cpu_secs):
            count_restricted(STRANGER if is_stranger else SUBJECT, "pace")

    def _in_share(self, execute: Execute, *, is_in_thread: bool) -> Execute:
        """Execution within the share that the caller's subject may occupy."""

        async def occupy(
            raw: bytes, context: Context, principal: Principal, cost: CallCost
        ) -> bytes:
            if len(raw) <= LARGE_BYTES:
                return await execute(raw, context, cost)
            subject = "" if principal.is_shared else principal.account
            work = partial(execute, raw, context, cost)
            return await self._large_requests.run(subject, len(raw), work, call_scope.cancel_soon)

        async def run(raw: bytes, context: Context, cost: CallCost) -> bytes:
            principal = access.current.get()
            if not is_in_thread:
                return await occupy(raw, context, principal, cost)
            is_bounded = not principal.is_shared
            async with self.threads.thread(principal.account, cost, is_bounded=is_bounded):
                reply = await occupy(raw, context, principal, cost)
                cost.wire_bytes = len(raw) + len(reply)
                return reply

        return run

    def _stream(self, handler: Any, method: str) -> Any:
        calls = RpcCalls(method)
        kind = WATCHES if method in WATCH_METHODS else STREAMS
        answer = self._answers(handler, method)
        is_reflection = method in REFLECTION_METHODS

        async def call(requests: Any, context: Context) -> None:
            began = calls.begin()
            scope = CallScope.enter(context.time_remaining)
            try:
                principal = await self._authentication.check(method, context)
                if is_reflection:
                    # It has no part in the places of streams that work needs.
                    await self._reflections.run(context, answer(requests, context))
                else:
                    span = telemetry.served(calls.rpc, context.invocation_metadata)
                    with self.admission.admit(principal, kind), span:
                        await answer(requests, context)
                calls.end(began, "OK")
                return
            except asyncio.CancelledError:
                scope.cancel_soon()
                calls.end(began, "CANCELLED")
                raise
            except Exception as error:  # noqa: BLE001 - the top of a stream
                refusal = self._refuse(error, calls, began, context)
                paced_for = _paced_for(error)
            if paced_for is not None:
                await self._wait(paced_for, 0.0)
            await context.abort(*refusal)

        return call

    def _answers(self, handler: Any, method: str) -> Any:
        """The coroutine that writes the replies of a stream that is admitted."""
        inner = handler.stream_stream or handler.unary_stream

        # A token that has ended ends its streams: it is checked before every reply.
        async def answer(received: Any, context: Context) -> None:
            if handler.request_streaming:
                requests = self._large_requests.decode_each(received, handler.request_deserializer)
                async with aclosing(requests), aclosing(inner(requests)) as replies:
                    async for reply in replies:
                        await self._authentication.check(method, context)
                        await context.write(reply)
                return
            raw = await self._read(access.current.get(), context)
            request = parse(raw, handler.request_deserializer)
            async with aclosing(inner(request)) as replies:
                async for reply in replies:
                    await self._authentication.check(method, context)
                    await _write(context, reply)

        return answer

    def _refuse(
        self, error: Exception, calls: RpcCalls, began: float, context: Context
    ) -> status.Refusal:
        """Log and count a refused call; returns the error that aborts it."""
        if isinstance(error, grpc.aio.BaseError):
            # The handler has aborted the call itself, as health does, or the caller has left.
            calls.abort(began, context)
            raise error
        call_id = request_id.of_call(context)
        refusal = status.as_meta_error(error, call_id)
        # A denied caller must not be able to fill a disk.
        if not isinstance(refusal, DENIED) or self.denials.note(context.peer(), refusal.reason):
            subject = access.current.get().subject
            request_id.log_refusal(error, refusal.reason, calls.rpc, call_id, subject)
        calls.refuse(began, refusal.code.name)
        return status.refusal(refusal, call_id)


async def _write(context: Context, reply: Any) -> None:
    try:
        async with asyncio.timeout(WRITE_SECS):
            await context.write(reply)
    except TimeoutError:
        raise Overloaded(
            f"the reader took nothing for {WRITE_SECS:g} s: resume where it is"
        ) from None


def _gave_way(context: Context, why: str) -> status.Refusal:
    """The refusal of a call that has lost its place to newer ones, or to time."""
    text = "did not come in time" if why == LATE else "was not there while newer calls came"
    return status.refusal(Overloaded(f"the call's message {text}"), request_id.of_call(context))


def _reflection_ended(context: Context, _why: str) -> status.Refusal:
    count_restricted(EVERYBODY, "reflection")
    error = Overloaded("the reflection stream gave way to newer ones: ask again")
    return status.refusal(error, request_id.of_call(context))


def _paced_for(error: Exception) -> Caller | None:
    """The caller of a call that was refused before it was any work; None of others."""
    principal = access.current.get()
    if isinstance(error, Unauthenticated):
        return STRANGERS
    if isinstance(error, RoleRefused):
        return "subject", principal.account
    if principal.is_shared or not isinstance(error, Overloaded | InvalidArgument):
        return None
    return "subject", principal.account


def _as_is(raw: bytes) -> bytes:
    return raw
