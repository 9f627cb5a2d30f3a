"""Common parts of HTTP answers: refusals, error bodies, CORS, and the rest of refused bodies.

A refusal is a google.rpc.Status in the form of its request.

A sender sees its answer once it has sent its body, unless it reads while it writes. So the rest of
a refused body is read and dropped, at a bounded pace: read as fast as they come, the bodies of 80
senders that are refused took the event loop from all others.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

from aiohttp import web
from google.protobuf.json_format import MessageToJson

from collector.refusal import TOKEN_LIMIT, Refusal
from meta.errors import Code, QuotaExceeded
from meta.process.host_names import HostNames

# Rate of all connections together.
BYTES_PER_SEC = 16 * 1024 * 1024
# After this time the connection is closed even if a part of the body is left.
DISCARD_SECS = 10.0
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
# It names no versions, because they show an attacker which faults to try.
SERVER = "segplane"
CORS_MAX_AGE_SECS = 7200
HEALTH_PATH = "/healthz"
_CODES = {HTTPStatus.NOT_FOUND: Code.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED: Code.UNIMPLEMENTED}
PROTOBUF = "application/x-protobuf"
JSON = "application/json"
# OTLP/HTTP clients send a 429 again. Longer than they commonly try, so that they give up at once
# rather than come back for nothing; short enough that a raised limit is noticed by the others.
QUOTA_RETRY_AFTER_SECS = 3600
_STATUSES = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


@web.middleware
async def json_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give refusals of the router, such as 404 and 405, the body that exports' refusals have."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        status = HTTPStatus(error.status)
        code = _CODES.get(status, Code.INVALID_ARGUMENT)
        message = f"{request.method} {request.path}: {status.phrase.lower()}"
        response = web.json_response({"code": code.value, "message": message}, status=status)
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response


async def name_server(_: web.Request, response: web.StreamResponse) -> None:
    """Replace the server name that the library sends, which has its versions."""
    response.headers["Server"] = SERVER


@dataclass(frozen=True, slots=True)
class OwnHosts:
    """Middleware that answers 421 to requests for other host names; health has any name."""

    hosts: HostNames

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, or refuse it."""
        names = request.headers.getall("Host", [])
        address = request.get_extra_info("sockname")
        port = address[1] if address else None
        is_own = len(names) == 1 and self.hosts.include(names[0], port)
        if request.path != HEALTH_PATH and not is_own:
            raise web.HTTPMisdirectedRequest
        return await handler(request)


@dataclass(frozen=True, slots=True)
class Cors:
    """Lets pages of the given origins send; `*` = any."""

    origins: tuple[str, ...]

    def is_allowed(self, origin: str) -> bool:
        """Whether a page of this origin may send."""
        return bool(origin) and ("*" in self.origins or origin in self.origins)

    async def preflight(self, request: web.Request) -> web.StreamResponse:
        """Answer a browser's question before an export."""
        if not self.is_allowed(request.headers.get("Origin", "")):
            raise web.HTTPMethodNotAllowed("OPTIONS", ["POST"])
        asked_headers = request.headers.get("Access-Control-Request-Headers", "")
        return web.Response(
            status=HTTPStatus.NO_CONTENT,
            headers={
                "Access-Control-Allow-Methods": "POST",
                "Access-Control-Allow-Headers": asked_headers,
                "Access-Control-Max-Age": str(CORS_MAX_AGE_SECS),
            },
        )

    async def mark(self, request: web.Request, response: web.StreamResponse) -> None:
        """Let a page of an allowed origin read an answer."""
        origin = request.headers.get("Origin", "")
        if self.is_allowed(origin):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = "Retry-After"
            response.headers["Vary"] = "Origin"


@dataclass(slots=True)
class UnreadBodies:
    """Middleware of one application."""

    bytes_per_sec: float = BYTES_PER_SEC
    _free_at: float = 0.0

    @web.middleware
    async def discard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, then drop the part that is not sent or not read yet."""
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


def _status_of(refusal: Refusal) -> HTTPStatus:
    if refusal.reason in (QuotaExceeded.reason, TOKEN_LIMIT):
        return HTTPStatus.TOO_MANY_REQUESTS
    return _STATUSES[refusal.code]


def answer_refusal(
    refusal: Refusal, content_type: str, status: HTTPStatus | None = None
) -> web.Response:
    """Answer with a refusal, in the form that the request had; None = the status of its code."""
    status = status or _status_of(refusal)
    message = refusal.status()
    body = message.SerializeToString()
    if content_type == JSON:
        body = MessageToJson(message, indent=None).encode()
    response = web.Response(body=body, status=status, content_type=content_type)
    if status is HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="segplane"'
    if refusal.reason == QuotaExceeded.reason:
        response.headers["Retry-After"] = str(QUOTA_RETRY_AFTER_SECS)
    if refusal.retry_after_secs is not None:
        response.headers["Retry-After"] = str(math.ceil(refusal.retry_after_secs))
    return response
