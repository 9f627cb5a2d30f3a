"""The rest of HTTP bodies that are refused: read and dropped, at a bounded pace.

A sender sees its answer once it has sent its body, unless it reads while it writes. Read as fast as
they come, the bodies of 80 senders that are refused took the event loop from all others.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from collector.http_conventions import Handler

# Of all connections together.
BYTES_PER_SEC = 16 * 1024 * 1024
# After this the connection is closed, whatever is left.
DISCARD_SECS = 10.0


@dataclass(slots=True)
class UnreadBodies:
    """Middleware of one application."""

    bytes_per_sec: float = BYTES_PER_SEC
    _free_at: float = 0.0

    @web.middleware
    async def discard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, then drop what its sender has not sent or we have not read."""
        response = await handler(request)
        if request.content.is_eof():
            return response
        # Without a sender, or with one that is too slow, the server closes the connection.
        with suppress(ConnectionError, web.RequestPayloadError, TimeoutError):
            await response.prepare(request)
            await response.write_eof()
            async with asyncio.timeout(DISCARD_SECS):
                while not request.content.is_eof():
                    await self._pace(len(await request.content.readany()))
        return response

    async def _pace(self, size_bytes: int) -> None:
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + size_bytes / self.bytes_per_sec
        await asyncio.sleep(self._free_at - now)
