"""OTLP over HTTP: protobuf and JSON, plain or compressed.

aiohttp, because it shares the gRPC server's event loop: a slow client costs a socket, no thread.
"""

import asyncio
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus

from aiohttp import web
from google.protobuf.json_format import MessageToJson

from collector.buffer import Charge
from collector.decompress import DECOMPRESSORS
from collector.export import count_refused
from collector.http_connections import heads, kept
from collector.http_conventions import Cors, UnreadBodies, json_errors, name_server
from collector.intake import Intake
from collector.otlp_grpc import token_of
from collector.partial_success import PartialSuccess, json_answer, protobuf_answer
from collector.refusal import TOKEN_LIMIT, Refusal, Refused, malformed, too_large, unavailable
from meta.client.addresses import network_of
from meta.errors import Code, QuotaExceeded
from segments.signals import TRAITS, Signal

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
PATHS: dict[str, Signal] = {row.http_path: signal for signal, row in TRAITS.items()}
READ_TIMEOUT_SECS = 30.0
DECOMPRESSION_THREADS = 2
# OTLP/HTTP clients send a 429 again. Longer than they commonly try, so that they give up at once
# rather than come back for nothing; short enough that a raised limit is noticed by the others.
QUOTA_RETRY_AFTER_SECS = 3600
_STATUSES = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.UNAUTHENTICATED: HTTPStatus.UNAUTHORIZED,
    Code.PERMISSION_DENIED: HTTPStatus.FORBIDDEN,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}


@dataclass(frozen=True, slots=True)
class OtlpHttp:
    """The routes of one collector."""

    intake: Intake
    cors_origins: tuple[str, ...] = ()
    # Apart from the pools that flushes and validation need.
    decompression: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(DECOMPRESSION_THREADS, "decompression")
    )

    def application(self) -> web.Application:
        """Build the aiohttp application."""
        app = web.Application(middlewares=[heads, UnreadBodies().discard, json_errors])
        app.on_response_prepare.append(name_server)
        cors = Cors(self.cors_origins)
        if self.cors_origins:
            app.on_response_prepare.append(cors.mark)
        for path in (*PATHS, *(f"{path}/" for path in PATHS)):
            app.router.add_post(path, self.export)
            if self.cors_origins:
                app.router.add_options(path, cors.preflight)
        app.router.add_get("/healthz", self.healthz)
        return app

    async def healthz(self, _: web.Request) -> web.Response:
        """Answer 200 while exports can be taken."""
        is_serving = self.intake.is_open and self.intake.is_meta_reachable
        status = HTTPStatus.OK if is_serving else HTTPStatus.SERVICE_UNAVAILABLE
        text = "SERVING" if is_serving else "NOT_SERVING"
        return web.json_response({"status": text}, status=status)

    async def export(self, request: web.Request) -> web.Response:
        """Take one export and answer once it is committed."""
        content_type = request.content_type
        if content_type not in (PROTOBUF, JSON):
            text = f"content type is {content_type}, expected {PROTOBUF} or {JSON}"
            refusal = Refusal(Code.INVALID_ARGUMENT, text)
            return _refused(refusal, PROTOBUF, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        signal = PATHS[request.path.removesuffix("/")]
        try:
            result = await self._accept(request, signal, content_type == JSON)
        except Refused as refused:
            count_refused(signal, refused.refusal)
            return _refused(refused.refusal, content_type, _status_of(refused.refusal))
        answer = json_answer if content_type == JSON else protobuf_answer
        body = answer(signal, result)
        return web.Response(body=body, content_type=content_type)

    async def _accept(self, request: web.Request, signal: Signal, is_json: bool) -> PartialSuccess:
        token_secret = token_of([(name.lower(), value) for name, value in request.headers.items()])

        def host() -> str:
            return network_of(request.remote or "")

        with await self.intake.admit(signal, token_secret, host) as admission, kept(request):
            body = await self._body(request, admission.charge)
            if is_json:
                return await self.intake.accept_json(admission, body)
            return await self.intake.accept(admission, body)

    async def _body(self, request: web.Request, charge: Charge) -> bytes:
        """Read a body and decompress it."""
        size_bytes_max = self.intake.limits.export_size_bytes_max
        encoding = _encoding(request)
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECS):
                body = await read_body(request, size_bytes_max, charge)
        except TimeoutError:
            raise unavailable("body did not arrive in time") from None
        except (ConnectionError, web.RequestPayloadError) as error:
            # Nobody may be left to read this; raised all the same, so that the call ends here.
            raise malformed("body ended before its end") from error
        if encoding in ("", "identity"):
            return body
        plain = await asyncio.get_running_loop().run_in_executor(
            self.decompression, DECOMPRESSORS[encoding], body, size_bytes_max
        )
        charge.grow_to(len(body) + len(plain))
        charge.set(len(plain))
        return plain


async def read_body(request: web.Request, size_bytes_max: int, charge: Charge) -> bytes:
    """Read a body as it was sent, charging its bytes; raises Refused beyond `size_bytes_max`."""
    declared_bytes = request.content_length or 0
    if declared_bytes > size_bytes_max:
        raise too_large(size_bytes_max)
    if declared_bytes:
        # Before the first byte: bodies that wait for room half read would wait for one another.
        await charge.reserve(declared_bytes)
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > size_bytes_max:
            raise too_large(size_bytes_max)
        charge.grow_to(len(body))
    return bytes(body)


def _encoding(request: web.Request) -> str:
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in DECOMPRESSORS:
        known = ", ".join(filter(None, DECOMPRESSORS))
        raise malformed(f"content encoding is {encoding}, expected one of {known}")
    return encoding


def _status_of(refusal: Refusal) -> HTTPStatus:
    if refusal.reason in (QuotaExceeded.reason, TOKEN_LIMIT):
        return HTTPStatus.TOO_MANY_REQUESTS
    return _STATUSES[refusal.code]


def _refused(refusal: Refusal, content_type: str, status: HTTPStatus) -> web.Response:
    """The google.rpc.Status of a refusal, in the form that the request had."""
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
