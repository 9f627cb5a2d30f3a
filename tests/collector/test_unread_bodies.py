"""Bodies of refused requests: their senders read the answer, and cost others little."""

import asyncio
import http.client
import time

from aiohttp import web

from collector.servers.http_conventions import UnreadBodies
from tests.support.collector.ground import Ground
from tests.support.collector.http import PROTOBUF
from tests.support.collector.process import StartCollector
from tests.support.collector.seat import run

MIB = 1024 * 1024
BODY_BYTES, CONNECTIONS, BYTES_PER_SEC = 2 * MIB, 2, 4 * MIB
# What the server had in its buffers when the last byte came need not be dropped.
BUFFERED_BYTES = MIB


async def refuse(_: web.Request) -> web.Response:
    return web.Response(status=429)


def post_twice(port: int) -> list[int]:
    """Send two bodies on one connection; the second is answered once the first was dropped."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    statuses = []
    for _ in range(2):
        connection.request("POST", "/", bytes(BODY_BYTES))
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    return statuses


def test_refused_bodies_are_dropped_at_a_bounded_pace_over_all_connections() -> None:
    async def steps() -> float:
        app = web.Application(middlewares=[UnreadBodies(BYTES_PER_SEC).discard])
        app.router.add_post("/", refuse)
        runner = web.AppRunner(app, lingering_time=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        began = time.monotonic()
        try:
            statuses = await asyncio.gather(
                *(asyncio.to_thread(post_twice, runner.addresses[0][1]) for _ in range(CONNECTIONS))
            )
        finally:
            await runner.cleanup()
        assert statuses == [[429, 429]] * CONNECTIONS
        return time.monotonic() - began

    elapsed_secs = run(steps())

    assert elapsed_secs >= CONNECTIONS * (BODY_BYTES - BUFFERED_BYTES) / BYTES_PER_SEC


def test_a_sender_reads_its_refusal_after_a_large_body_and_sends_on(
    ground: Ground, start_collector: StartCollector
) -> None:
    token = ground.new_token()
    collector = start_collector()
    connection = http.client.HTTPConnection("127.0.0.1", collector.http_port, timeout=60)
    statuses = []
    for token_secret, body in (("it_unknown", bytes(8 * MIB)), (token.token_secret, b"")):
        headers = {"X-Ingest-Token": token_secret, "Content-Type": PROTOBUF}
        connection.request("POST", "/v1/logs", body, headers)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [401, 200]
