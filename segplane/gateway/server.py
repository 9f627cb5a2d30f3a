"""One gateway process: connection to meta, HTTP server, start and shutdown."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Any, cast

import structlog
import uvicorn
from starlette.types import ASGIApp

from dataplane import meta_connection
from dataplane.location import Locator
from dataplane.readiness import MetaReadiness
from dataplane.reporting import Reporter, process_report
from meta.call_metrics import ClientCalls
from meta.client import MetaClient
from meta.metrics import FREE_PLACES
from meta.process.exits import ConfigError
from meta.process.shutdown import Shutdown
from meta.self_report import Progress
from segplane.gateway.app import Gateway
from segplane.gateway.browsers import BrowserGuard
from segplane.gateway.config import Settings
from segplane.gateway.console.console import Console, Visitors
from segplane.gateway.console.policy import BrowserPolicy
from segplane.gateway.console.sessions.visitors import SessionVisitors
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.console.templating import Templates
from segplane.gateway.http.callers import GATEWAY, Caller, OwnTokens
from segplane.gateway.http.connection import (
    BoundedConnection,
    ConnectionLimits,
    UnfinishedRequests,
)
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.path_stripper import PathStripper
from segplane.gateway.http.readers import TENANT, CatalogReaders
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg.access.access import StoreAccess
from segplane.gateway.iceberg.catalog import IcebergCatalog
from segplane.gateway.iceberg.scans.scan_plans import ScanPlanner
from segplane.gateway.iceberg.tables import Tables
from segplane.gateway.queries.processes.pool import WAITING_MAX, ProcessPool
from segplane.gateway.queries.service import QueryService
from segplane.gateway.queries.settings import QuerySettings

log = structlog.get_logger()
# More connections, or requests at a time, are answered 503.
CONCURRENT_REQUESTS_MAX = 512
_BACKLOG = 1_024
_KEEP_ALIVE_SECS = 30
_TICK_SECS = 1.0


def serve(settings: Settings, shutdown: Shutdown) -> None:
    """Serve until SIGTERM or SIGINT. Raises ConfigError if the address cannot be had."""
    with meta_connection.connect(settings, TENANT) as meta, listen(settings) as listener:
        locator = Locator(meta, "gateway", settings.object_store)
        if not locator.wait(shutdown):
            return
        gateway = build(settings, meta, locator)
        server = http_server(settings, gateway)
        # It works on requests alone, and tells each caller what fails. Queries spill to the folder.
        report = process_report(
            "gateway",
            settings,
            Progress(),
            settings.bind,
            settings.tls,
            folders=(Path(gettempdir()),),
        )
        reporter = Reporter(report, locator).start()
        log.info("gateway_started", port=listener.getsockname()[1])
        try:
            asyncio.run(_run(server, gateway, listener, shutdown))
        finally:
            gateway.close()
        reporter.end()
    log.info("gateway_stopped")


def build(
    settings: Settings,
    meta: MetaClient,
    locator: Locator,
    pool: ProcessPool | None = None,
    visitors: Visitors | None = None,
) -> Gateway:
    """Compose a gateway from its connections; `visitors` replace the console's sessions."""
    readiness = MetaReadiness(meta, locator)
    clients = TenantClients(meta)
    tables = Tables(clients, locator, settings.segments_max)
    access = StoreAccess(settings.access, lambda: locator.stores)
    catalog = IcebergCatalog(
        clients,
        tables,
        lambda: locator.store_location,
        access,
        ScanPlanner(clients, tables),
        refresh_secs=settings.refresh_secs,
    )
    own_tokens = OwnTokens(settings.auth_token, settings.auth_token_file)
    readers = CatalogReaders(meta, own_tokens, has_credential=_has_credential(settings))
    queries = QueryService(
        settings.queries,
        readers,
        partial(_client, settings),
        settings.object_store,
        pool or _pool(settings.queries),
        _rights(settings),
    )
    console = _console(settings.console, queries, readers, visitors)
    return Gateway(catalog, readers, readiness.check, queries, console)


def _console(
    settings: ConsoleSettings,
    queries: QueryService,
    readers: CatalogReaders,
    visitors: Visitors | None,
) -> Console | None:
    if visitors is None and not settings.is_on:
        return None
    policy = BrowserPolicy(settings.public_url)
    templates = Templates(policy.root)
    visitors = visitors or SessionVisitors(settings, readers, templates)
    return Console(queries, visitors, policy, templates)


def _pool(settings: QuerySettings) -> ProcessPool:
    return ProcessPool(settings.threads_each, min(WAITING_MAX, settings.concurrent))


def _has_credential(settings: Settings) -> bool:
    """True if meta may know the gateway by a token or a certificate."""
    has_certificate = settings.meta_tls is not None and bool(settings.meta_tls.cert_file)
    return bool(settings.meta_auth_token or settings.meta_auth_token_file or has_certificate)


def _client(settings: Settings, caller: Caller) -> MetaClient:
    """Open a client of meta with a caller's token, or the gateway's own, in its tenant."""
    if not caller.token:
        return meta_connection.connect(settings, caller.tenant)
    return MetaClient(
        settings.meta_address,
        auth_token=caller.token,
        tenant=caller.tenant,
        tls=settings.meta_tls,
        observer=ClientCalls(settings.meta_address),
    )


def _rights(settings: Settings) -> GatewayRights:
    """Return the ways in which the gateway acts for callers by other rights than theirs."""
    connect = partial(_client, settings, GATEWAY)
    replays = Caller("replays", settings.replay_token)
    connect_replays = partial(_client, settings, replays) if replays.token else None
    if settings.meta_auth_token:
        # Gateways with one credential open the positions of one another.
        return GatewayRights(connect, connect_replays, settings.meta_auth_token.encode())
    return GatewayRights(connect, connect_replays)


async def _run(
    server: "HttpServer", gateway: Gateway, listener: socket.socket, shutdown: Shutdown
) -> None:
    def follow() -> None:
        shutdown.wait()
        gateway.is_draining = True
        server.stop()

    threading.Thread(target=follow, name="shutdown", daemon=True).start()
    await server.serve([listener])


class HttpServer(uvicorn.Server):
    """A server that leaves signals to the process: uvicorn's raises them again at its end.

    It wakes once a second for the header with the date, where uvicorn's wakes ten times.
    """

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain = drain
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = asyncio.Event()

    def stop(self) -> None:
        """Drain and end `serve`, from any thread."""
        self.should_exit = True
        # The loop may have ended by another way.
        with suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._is_stopped.set)

    async def main_loop(self) -> None:
        """Run until `should_exit` is set."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_stopped.wait(), _TICK_SECS)
        self._drain()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take over nothing."""
        yield


_LIMITS = ConnectionLimits()


def http_server(
    settings: Settings, gateway: Gateway, limits: ConnectionLimits = _LIMITS
) -> HttpServer:
    """An HTTP server of a gateway, to be run on a listener."""
    unfinished = UnfinishedRequests(limits.unfinished_max)
    application: ASGIApp = BrowserGuard(
        gateway.application(),
        settings.answered_hosts(),
        bool(settings.auth_token),
        gateway.has_console,
    )
    public_url = settings.console.public_url
    if public_url is not None and public_url.path:
        application = PathStripper(application, public_url.path)
    config = uvicorn.Config(
        application,
        forwarded_allow_ips=list(settings.trusted_proxies),
        http=cast(Any, partial(BoundedConnection, limits, unfinished)),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        limit_concurrency=CONCURRENT_REQUESTS_MAX,
        timeout_keep_alive=_KEEP_ALIVE_SECS,
        timeout_graceful_shutdown=round(settings.drain_secs),
        lifespan="off",
        ws="none",
    )
    config.load()
    if settings.tls is not None:
        # A context in place of file names lets a renewed certificate be used without a restart.
        config.ssl = settings.tls.ssl_context()
    server = HttpServer(config, gateway.drain)
    connections = server.server_state.connections
    FREE_PLACES["gateway"].labels("connections").set_function(
        lambda: CONCURRENT_REQUESTS_MAX - len(connections)
    )
    return server


def listen(settings: Settings) -> socket.socket:
    """Open the gateway's port. Raises ConfigError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address, is_v6 = (settings.host, settings.port), family is socket.AF_INET6
    try:
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=is_v6)
    except OSError as error:
        raise ConfigError(f"GATEWAY_BIND {settings.bind} cannot be had: {error}") from error
