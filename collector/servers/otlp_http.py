"""OTLP over HTTP: protobuf and JSON, plain or compressed.

aiohttp, because it shares the gRPC server's event loop: a slow client costs a socket, no thread.
"""

from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from collector.intake.intake import Intake
from collector.otlp.export import count_refused
from collector.otlp.partial_success import PartialSuccess, json_answer, protobuf_answer
from collector.refusal import Refusal, Refused
from collector.servers.http_bodies import Bodies, admit
from collector.servers.http_connections import CountedRequests, heads, kept, note_trace
from collector.servers.http_conventions import (
    HEALTH_PATH,
    JSON,
    PROTOBUF,
    Cors,
    OwnHosts,
    UnreadBodies,
    answer_refusal,
    json_errors,
    name_server,
)
from collector.servers.records_http import (
    RECORDS_PATH,
    RECORDS_PATH_IN_GROUP,
    RecordsHttp,
)
from meta.errors import Code
from meta.process.host_names import HostNames
from meta.telemetry import joined
from segments.signals import TRAITS, Signal

PATHS: dict[str, Signal] = {row.http_path: signal for signal, row in TRAITS.items()}


@dataclass(frozen=True, slots=True)
class OtlpHttp:
    """The routes of one collector."""

    intake: Intake
    bodies: Bodies
    cors_origins: tuple[str, ...] = ()
    hosts: HostNames | None = None

    def application(self) -> web.Application:
        """Build the aiohttp application."""
        middlewares = [CountedRequests().count, heads, UnreadBodies().discard, json_errors]
        if self.hosts is not None:
            middlewares.append(OwnHosts(self.hosts).check)
        app = web.Application(middlewares=middlewares)
        app.on_response_prepare.append(name_server)
        cors = Cors(self.cors_origins)
        if self.cors_origins:
            app.on_response_prepare.append(cors.mark)
        takers = dict.fromkeys(PATHS, self.export)
        records = RecordsHttp(self.intake, self.bodies)
        takers[RECORDS_PATH] = takers[RECORDS_PATH_IN_GROUP] = records.take
        for path, taker in takers.items():
            for each in (path, f"{path}/"):
                app.router.add_post(each, taker)
                if self.cors_origins:
                    app.router.add_options(each, cors.preflight)
        app.router.add_get(HEALTH_PATH, self.healthz)
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
            return answer_refusal(refusal, PROTOBUF, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        signal = PATHS[request.path.removesuffix("/")]
        try:
            result = await self._accept(request, signal, content_type == JSON)
        except Refused as refused:
            count_refused(signal, refused.refusal)
            return answer_refusal(refused.refusal, content_type)
        answer = json_answer if content_type == JSON else protobuf_answer
        body = answer(signal, result)
        return web.Response(body=body, content_type=content_type)

    async def _accept(self, request: web.Request, signal: Signal, is_json: bool) -> PartialSuccess:
        admission = await admit(self.intake, request, signal)
        with admission, kept(request), joined(f"export.{signal}", request.headers.items) as span:
            note_trace(request, span)
            body = await self.bodies.read(request, admission.charge)
            if is_json:
                return await self.intake.accept_json(admission, body)
            return await self.intake.accept(admission, body)
