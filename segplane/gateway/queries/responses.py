"""Answers over HTTP: results piece by piece, refusals as JSON."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import structlog
from anyio import to_thread
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from segplane.gateway.http.bodies import answer
from segplane.gateway.http.refusals import QueryRefusal, Stopped
from segplane.gateway.queries.run import QueryRun

log = structlog.get_logger()


def refuse_kusto(refusal: QueryRefusal) -> Response:
    """Return a refusal in the form of Kusto's."""
    message = str(refusal)
    error = {
        "code": refusal.type,
        "message": message,
        "@type": refusal.type,
        "@message": message,
        "@context": {},
        "@permanent": not refusal.retry_secs,
    }
    return answer({"error": error}, refusal.status, refusal.headers())


# A JSON list of sentences about records that the result may lack.
WARNINGS_HEADER = "segplane-warnings"


def page_too_large(bytes_max: int) -> Stopped:
    """Return the refusal of a page that is made of too much data."""
    return Stopped(
        f"the page needs more than {bytes_max:,} bytes of data: ask for less time, or fewer columns"
    )


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A whole result in its task's format, and warnings about records that it may lack."""

    content: bytes
    warnings: Sequence[str]


class ResultResponse(Response):
    """A result that begins with `head`; the rest is sent as fast as it is read.

    A result that cannot be had whole ends without the end of its encoding, so that no client takes
    a part for all.
    """

    def __init__(
        self,
        head: bytes,
        run: QueryRun,
        media_type: str,
        finish: Callable[[str], Awaitable[None]],
    ) -> None:
        self._head, self._run, self._finish = head, run, finish
        headers = {WARNINGS_HEADER: json.dumps(run.warnings)} if run.warnings else None
        super().__init__(media_type=media_type, headers=headers)
        # Its length is not known.
        self.raw_headers = [(n, v) for n, v in self.raw_headers if n != b"content-length"]

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about records that the result may lack."""
        return tuple(self._run.warnings)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield it piece by piece in place of sending it; the query ends with the generator.

        Raises QueryRefusal.
        """
        outcome, piece = "broken", self._head
        try:
            while piece:
                yield piece
                piece = await self._run.piece()
            outcome = "done"
        finally:
            await asyncio.shield(self._finish(outcome))

    async def whole(self, bytes_max: int) -> QueryResult:
        """Read all of it in place of sending it. Raises QueryRefusal."""
        content = bytearray()
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) > bytes_max:
                    raise page_too_large(bytes_max)
        return QueryResult(bytes(content), self.warnings)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        outcome = "broken"
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            piece = self._head
            while piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await self._run.piece()
            outcome = "done"
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except QueryRefusal as refusal:
            log.warning("result_cut_off", reason=str(refusal))
        finally:
            await asyncio.shield(self._finish(outcome))


class PieceResponse(Response):
    """Pieces that a thread makes one after the other, sent as fast as they are read.

    They end once the caller has left.
    """

    def __init__(
        self,
        pieces: Generator[bytes],
        hangup: "asyncio.Task[None]",
        finish: Callable[[], Awaitable[None]],
    ) -> None:
        self._pieces, self._hangup, self._finish = pieces, hangup, finish
        super().__init__(media_type="application/octet-stream")
        self.raw_headers = [(n, v) for n, v in self.raw_headers if n != b"content-length"]

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send them."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while not self._hangup.done():
                piece = await to_thread.run_sync(next, self._pieces, b"")
                await send({"type": "http.response.body", "body": piece, "more_body": bool(piece)})
                if not piece:
                    break
        finally:
            await asyncio.shield(self._end())

    async def _end(self) -> None:
        await to_thread.run_sync(self._pieces.close)
        await self._finish()
