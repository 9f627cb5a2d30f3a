"""Pages that are sent while they are made."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send


class StreamedPage(HTMLResponse):
    """A page in pieces. Their generator is closed when the browser leaves."""

    def __init__(self, pieces: AsyncGenerator[str]) -> None:
        super().__init__()
        self._pieces = pieces
        # Its length is not known.
        del self.headers["content-length"]

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        async with aclosing(self._pieces):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for piece in self._pieces:
                await send(
                    {"type": "http.response.body", "body": piece.encode(), "more_body": True}
                )
            await send({"type": "http.response.body", "body": b"", "more_body": False})
