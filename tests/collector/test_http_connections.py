"""Connections of the HTTP port that wait for a head."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from collector.servers.http_connections import IdleConnections, heads, listen_http
from tests.support.collector.seat import run

HEAD_SECS = 0.8


@asynccontextmanager
async def connected(
    closed: list[str],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a port and connect to it; `closed` gets the reason for each connection it closes."""
    app = web.Application(middlewares=[heads])
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    idle = IdleConnections(10, closed.append, HEAD_SECS)
    server = await listen_http(runner, idle, "127.0.0.1", 0, None, shares_port=False)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()
        await runner.cleanup()


async def answer(_: web.Request) -> web.Response:
    return web.Response(text="here")


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *parts: bytes) -> bytes:
    """Send a request in parts; returns the first line and the body of the answer."""
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.01)
    head = await reader.readuntil(b"\r\n\r\n")
    return head.split(b"\r\n")[0] + b" " + await reader.readexactly(4)


def test_a_connection_stays_between_heads_that_come_in_time() -> None:
    closed: list[str] = []

    async def scenario() -> list[bytes]:
        async with connected(closed) as (reader, writer):
            first = await ask(reader, writer, b"GET / HTTP/1.1\r\n", b"Host: a\r\n", b"\r\n")
            await asyncio.sleep(1.5 * HEAD_SECS)
            return [first, await ask(reader, writer, b"GET / HTTP/1.1\r\n", b"Host: a\r\n\r\n")]

    assert run(scenario()) == [b"HTTP/1.1 200 OK here"] * 2
    assert closed == []


def test_a_later_head_has_to_come_in_time_too() -> None:
    closed: list[str] = []

    async def scenario() -> bytes:
        async with connected(closed) as (reader, writer):
            await ask(reader, writer, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            writer.write(b"GET / HTTP/1.1\r\n")
            try:
                async with asyncio.timeout(5 * HEAD_SECS):
                    return await reader.read()
            except ConnectionResetError:
                return b""

    assert run(scenario()) == b""
    assert closed == ["head"]
