"""A thread of a call may go on after the call is over; gRPC has freed the call's memory by then."""

import asyncio
from collections.abc import Callable
from typing import Any

import grpc

from meta import access
from meta.access import Origin
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.rpc.authentication import Authentication
from meta.rpc.request_id import Context
from meta.store.engine.pool import Database

CALLS = 20


class KeepingOrigins(grpc.GenericRpcHandler):
    """Answers every call, and keeps what an audited one would ask for later."""

    def __init__(self, authentication: Authentication) -> None:
        self._authentication = authentication
        self.origins: list[Callable[[], Origin]] = []

    def service(self, details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """One handler for all methods."""

        async def answer(raw: bytes, context: Context) -> bytes:
            await self._authentication.check(details.method, context)
            self.origins.append(access.origin.get())
            return raw

        return grpc.unary_unary_rpc_method_handler(answer)


def test_the_origin_of_a_call_outlives_it(meta_settings: Settings) -> None:
    database = Database(meta_settings.database)

    async def scenario() -> list[Origin]:
        handler = KeepingOrigins(Authentication(meta_settings, Transactions(database)))
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call: Any = channel.unary_unary("/meta.v1.CatalogService/CreateSchema")
            for number in range(CALLS):
                await call(b"", timeout=30.0, metadata=(("x-request-id", f"call {number}"),))
        await server.stop(None)
        return [origin() for origin in handler.origins]

    try:
        origins = asyncio.run(scenario())
    finally:
        database.close()

    assert origins == [Origin("127.0.0.1", f"call {number}") for number in range(CALLS)]
