"""The gateway's HTTP application: authentication, health, and the catalog."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from meta import telemetry
from meta.call_metrics import HttpRequests
from meta.client.addresses import network_of
from meta.telemetry import joined
from segplane.gateway.console.console import Console
from segplane.gateway.http import metrics
from segplane.gateway.http.paths import ROUTE, Paths
from segplane.gateway.http.readers import (
    TENANT_HEADER,
    CatalogReader,
    CatalogReaders,
    tenant_named,
)
from segplane.gateway.http.refusals import NotAllowed, NotKnown
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.access import oauth
from segplane.gateway.iceberg.catalog import IcebergCatalog, asked_tenant, asked_warehouse
from segplane.gateway.iceberg.route_paths import route_of
from segplane.gateway.management.service import Management
from segplane.gateway.queries.fresh import FreshPayloads
from segplane.gateway.queries.kusto import KustoService
from segplane.gateway.queries.service import QueryService

log = structlog.get_logger()
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
_TOO_SOON = 503
_DESCRIPTION = """Segplane's gateway.

/v1       queries and management; /v1/openapi.json describes them
/iceberg  an Iceberg REST catalog
/healthz  health

The console for browsers is off: GATEWAY_CONSOLE=true serves it at /ui/.
"""


class Gateway:
    """The routes of one gateway."""

    def __init__(
        self,
        catalog: IcebergCatalog,
        readers: CatalogReaders,
        is_meta_ready: Callable[[], bool],
        queries: QueryService | None = None,
        console: Console | None = None,
    ) -> None:
        self._catalog = catalog
        self._readers = readers
        self._is_meta_ready = is_meta_ready
        self._queries = queries
        self._console = console
        self.is_draining = False
        self._check: asyncio.Future[bool] | None = None
        self._one_thread = CapacityLimiter(1)

    @property
    def has_console(self) -> bool:
        """True if pages for people are served."""
        return self._console is not None

    def application(self) -> Starlette:
        """Build the ASGI application."""
        routes = [
            Route("/healthz", self._health),
            Route("/iceberg/{path:path}", _measured(self._iceberg), methods=_METHODS),
        ]
        if self._console is not None:
            respond = _measured(self._console.respond)
            routes.append(Route("/ui/{path:path}", respond, methods=_METHODS))
            routes += [Route(path, _measured(self._console.welcome)) for path in ("/", "/ui")]
        else:
            routes.append(Route("/", _describe))
        routes.append(Route("/{path:path}", _measured(self._paths().respond), methods=_METHODS))
        application = Starlette(routes=routes)
        # A redirect would name the host that the caller claims.
        application.router.redirect_slashes = False
        return application

    def _paths(self) -> Paths:
        """Return the routes below /v1 and /v2."""
        if self._queries is None:
            return Paths({})
        endpoints = self._queries.endpoints() | KustoService(self._queries).endpoints()
        endpoints |= FreshPayloads(self._queries).endpoints()
        return Paths(endpoints | Management(self._queries).endpoints())

    def drain(self) -> None:
        """End answers that last as long as their readers; on the event loop."""
        self.is_draining = True
        if self._console is not None:
            self._console.drain()

    def close(self) -> None:
        """End what outlives requests."""
        if self._queries is not None:
            self._queries.close()

    async def _health(self, _: Request) -> Response:
        """200 while the gateway can serve; needs no token."""
        if self.is_draining:
            return PlainTextResponse("draining\n", _TOO_SOON)
        if not await self._find_readiness():
            return PlainTextResponse("meta is not ready\n", _TOO_SOON)
        return PlainTextResponse("ok\n")

    async def _find_readiness(self) -> bool:
        """Ask meta once for all callers that ask at a time: they need no token."""
        if self._check is None or self._check.done():
            check = to_thread.run_sync(self._is_meta_ready, limiter=self._one_thread)
            self._check = asyncio.ensure_future(check)
        return await asyncio.shield(self._check)

    async def _iceberg(self, request: Request) -> tuple[str, Response]:
        name, response = await self._respond(request)
        request.scope[ROUTE] = route_of(name)
        return name, response

    async def _respond(self, request: Request) -> tuple[str, Response]:
        host = network_of(request.client.host) if request.client else ""
        try:
            if (request.method, request.path_params["path"]) == ("POST", oauth.PATH):
                return "token", await oauth.give_token(request, self._readers, host)
            reader = await self._reader(request, host)
            return await self._catalog.respond(request, reader)
        except Exception as error:
            response = responses.refusal(error)
            if response is None:
                log.exception("request_failed", path=request.scope["path"])
                message = "the gateway made a mistake: its log says more"
                return "failed", responses.refuse(responses.SERVER_ERROR, message)
            is_refused = isinstance(error, NotKnown | NotAllowed)
            return "refused" if is_refused else "failed", response

    async def _reader(self, request: Request, host: str) -> CatalogReader:
        """Return the caller, in the tenant of the path, of the warehouse or of the header."""
        header, sent_tenant = request.headers.get("authorization", ""), tenant_named(request)
        if warehouse := asked_warehouse(request):
            try:
                return await self._readers.find(header, host, tenant=warehouse)
            except NotAllowed:
                # Clients of one tenant may call its warehouse as they like.
                pass
        tenant = asked_tenant(request)
        if tenant and sent_tenant:
            by_header = await self._readers.find(header, host, tenant=sent_tenant)
            if by_header.tenant != tenant:
                raise NotAllowed(f"the path is of another tenant than {TENANT_HEADER} names")
        return await self._readers.find(header, host, tenant=tenant or sent_tenant)


async def _describe(_: Request) -> Response:
    return PlainTextResponse(_DESCRIPTION)


def _measured(
    respond: Callable[[Request], Awaitable[tuple[str, Response]]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that counts its answers, by the name of the requested resource."""
    requests = HttpRequests()

    async def endpoint(request: Request) -> Response:
        started = time.monotonic()
        # Paths are the callers': they are not names of spans.
        with joined(f"http {request.method}", request.headers.items) as span:
            name, response = await respond(request)
        secs, status = time.monotonic() - started, response.status_code
        metrics.REQUEST_SECONDS.labels(name, str(status)).observe(secs)
        key = request.method, request.scope.get(ROUTE, ""), status
        requests.end(key, secs, telemetry.exemplar(span))
        return response

    return endpoint
