"""Composition of one collector process: servers, intake, flusher, start and shutdown.

Ports open first; exports are UNAVAILABLE until the store that meta names has passed its probe.
"""

import asyncio
import threading
from contextlib import AsyncExitStack, suppress
from functools import partial

import grpc
import structlog
from aiohttp import web
from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from collector.auth import TokenCache
from collector.config import Settings, split_bind
from collector.ingestion import Ingestion
from collector.intake.conversion import ConversionPool
from collector.intake.intake import Intake
from collector.intake.quotas import Quotas
from collector.intake.token_limits import IntakeLimits
from collector.otlp.export import CommittedDigests
from collector.retry import Backoff
from collector.servers.http_bodies import Bodies
from collector.servers.http_connections import IdleConnections, idle_max, listen_http
from collector.servers.otlp_grpc import SERVICES, OtlpHandler
from collector.servers.otlp_http import OtlpHttp
from collector.streams.buffer import Buffer, MemoryBudget
from collector.streams.flusher import Flusher
from dataplane import meta_connection
from dataplane.clocks import watch_skew
from dataplane.location import Locator
from dataplane.readiness import MetaReadiness
from dataplane.reporting import Reporter, process_report
from meta import metrics
from meta.client.addresses import is_loopback_host
from meta.errors import MetaError
from meta.process.exits import ConfigError
from meta.process.health_calls import WAITING_CALLS, HealthCalls
from meta.process.memory import spare_collections
from meta.process.shutdown import Shutdown
from meta.process.supervision import watch_parent
from meta.self_report import SelfReport
from segments.store.open import open_store

log = structlog.get_logger()
# Answers of the last flush reach their senders before connections are cut.
ANSWER_SECS = 5.0
CONNECTION_IDLE_MS, HANDSHAKE_MS = 600_000, 10_000
META_CHECK_SECS = 2.0


async def serve(settings: Settings, shutdown: Shutdown) -> bool:
    """Run one collector; true if all that was taken in was committed before the end."""
    stop = _stop_of(shutdown)
    if settings.process_index is not None:
        watch_parent(shutdown.request)
    async with AsyncExitStack() as stack:
        client = stack.enter_context(meta_connection.connect(settings))
        stack.callback(shutdown.request)
        watch_skew(client, metrics.CLOCK_SKEW["collector"], shutdown)
        ingestion = Ingestion(client, settings.collector_id)
        stack.callback(ingestion.close)
        locator = Locator(client, f"collector/{settings.collector_id}", settings.object_store)
        collector = Collector(settings, ingestion, locator, MetaReadiness(client, locator))
        await collector.listen(stack)
        if not await _prepare(settings, locator, stop):
            return True
        reporter = Reporter(collector.report(), locator).start()
        is_clean = await collector.work(stop)
        await asyncio.to_thread(reporter.end, is_orderly=is_clean)
        return is_clean


class Collector:
    """The parts of one collector."""

    def __init__(
        self,
        settings: Settings,
        ingestion: Ingestion,
        locator: Locator,
        readiness: MetaReadiness,
    ) -> None:
        self._settings = settings
        self._locator, self._readiness = locator, readiness
        self._shares_ports = settings.process_index is not None
        tokens = TokenCache(ingestion, settings.token_cache_secs)
        self._budget = MemoryBudget(
            settings.buffer_size_bytes_max, settings.token_buffer_size_bytes_max
        )
        self._buffer = Buffer(
            timeout_set_ms=lambda: locator.worker_settings.flush_timeout_ms,
        )
        digests = CommittedDigests(settings.dedupe_secs)
        self._flusher = Flusher(settings, ingestion, tokens, self._buffer, digests)
        self._health = health_aio.HealthServicer()
        self._intake = Intake(
            tokens,
            Quotas(ingestion, settings.usage_cache_secs),
            self._budget,
            self._buffer,
            digests,
            ConversionPool(settings.conversion_processes),
            ConversionPool(settings.conversion_processes),
            IntakeLimits.of(settings),
        )

    def report(self) -> SelfReport:
        """Return what the collector says of itself."""
        settings, progress = self._settings, self._flusher.progress
        return process_report("collector", settings, progress, settings.grpc_bind, settings.tls)

    async def listen(self, stack: AsyncExitStack) -> None:
        """Open both ports; raises ConfigError if one cannot be had."""
        settings = self._settings
        for bind in (settings.grpc_bind, settings.http_bind):
            if settings.tls is None and not is_loopback_host(split_bind(bind)[0]):
                log.warning("plain_text_port", bind=bind)
        grpc_port = await self._listen_grpc(stack)
        http_port = await self._listen_http(stack)
        log.info("listening", grpc_port=grpc_port, http_port=http_port)

    async def _listen_grpc(self, stack: AsyncExitStack) -> int:
        health = HealthCalls(self._health, partial(_count_restricted, "health"))
        server = grpc.aio.server(
            # Health first: a probe is answered regardless of other open calls.
            handlers=(health, OtlpHandler(self._intake)),
            options=(
                ("grpc.max_concurrent_streams", self._settings.concurrent_exports_max),
                ("grpc.max_connection_idle_ms", CONNECTION_IDLE_MS),
                ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
                *WAITING_CALLS,
                ("grpc.max_receive_message_length", self._settings.export_size_bytes_max),
                # Two collectors on one port would each get half of the exports by accident.
                ("grpc.so_reuseport", int(self._shares_ports)),
                # Otherwise a window grows with the connection's speed, and bodies that nobody reads
                # yet fill it: 80 stalled ones took up to 415 MB in place of 210. A body that is
                # read has a window of its own size all the same.
                ("grpc.http2.bdp_probe", 0),
            ),
        )
        await self._set_health(is_serving=False)
        try:
            port = self._add_grpc_port(server)
        except RuntimeError as error:
            raise _taken("COLLECTOR_GRPC_BIND", self._settings.grpc_bind) from error
        await server.start()
        stack.push_async_callback(server.stop, ANSWER_SECS)
        return port

    def _add_grpc_port(self, server: grpc.aio.Server) -> int:
        if self._settings.tls is None:
            return server.add_insecure_port(self._settings.grpc_bind)
        credentials = self._settings.tls.grpc_credentials()
        return server.add_secure_port(self._settings.grpc_bind, credentials)

    async def _listen_http(self, stack: AsyncExitStack) -> int:
        settings = self._settings
        host, port = split_bind(settings.http_bind)
        bodies = Bodies(settings.export_size_bytes_max)
        runner = web.AppRunner(
            OtlpHttp(self._intake, bodies, settings.cors_origins, settings.hosts).application(),
            handle_signals=False,
            shutdown_timeout=ANSWER_SECS,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        idle = IdleConnections(idle_max(), _count_restricted)
        free = metrics.FREE_PLACES["collector"].labels("connections")
        free.set_function(lambda: idle.most - len(idle))
        try:
            listener = await listen_http(
                runner, idle, host, port, settings.tls, shares_port=self._shares_ports
            )
        except OSError as error:
            raise _taken("COLLECTOR_HTTP_BIND", settings.http_bind) from error
        # Runs before the connections end, so that no new one comes.
        stack.callback(listener.close)
        bound: int = listener.sockets[0].getsockname()[1]
        return bound

    async def work(self, stop: asyncio.Event) -> bool:
        """Take exports until `stop`, then commit them and end the stream."""
        flushing = asyncio.create_task(self._flusher.run())
        self._intake.is_open = True
        await self._set_health(is_serving=True)
        spare_collections()
        log.info("ready", collector_id=self._settings.collector_id)
        watching = asyncio.create_task(self._watch_meta())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((stopping, flushing), return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        self._intake.is_open = False
        await self._set_health(is_serving=False)
        self._buffer.drain()
        try:
            async with asyncio.timeout(self._settings.drain_secs):
                await flushing
                await self._flusher.stop()
        except (TimeoutError, MetaError) as error:
            # Nothing of it was acknowledged; the next incarnation adopts babies that were put.
            size_bytes = self._budget.size_bytes
            log.error("shutdown_incomplete", buffered_bytes=size_bytes, error=repr(error))
            return False
        finally:
            self._flusher.close()
            await self._intake.close()
        log.info("stopped")
        return True

    async def _watch_meta(self) -> None:
        """Report NOT_SERVING while meta is unreachable: nothing could be acknowledged."""
        store_location = self._locator.store_location
        while True:
            await asyncio.sleep(META_CHECK_SECS)
            is_reachable = await asyncio.to_thread(self._readiness.check)
            if is_reachable != self._intake.is_meta_reachable:
                log.warning("meta_health", is_reachable=is_reachable)
                self._intake.is_meta_reachable = is_reachable
                await self._set_health(is_serving=is_reachable)
            if store_location != self._locator.store_location:
                store_location = self._locator.store_location
                self._flusher.reopen()

    async def _set_health(self, *, is_serving: bool) -> None:
        status = health_pb2.HealthCheckResponse.SERVING
        if not is_serving:
            status = health_pb2.HealthCheckResponse.NOT_SERVING
        for service in ("", *SERVICES):
            await self._health.set(service, status)


def _count_restricted(why: str) -> None:
    metrics.RESTRICTED_CALLS.labels("stranger", why).inc()


async def _prepare(settings: Settings, locator: Locator, stop: asyncio.Event) -> bool:
    """Find the store and prove that it never overwrites; false if the process is to stop.

    Raises StoreError, which ends the process: a collector without a store can keep nothing.
    """
    asking = asyncio.create_task(_ask_location(settings, locator))
    stopping = asyncio.create_task(stop.wait())
    if settings.object_store is None:
        await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
    asking.cancel()
    stopping.cancel()
    if stop.is_set():
        return False
    if settings.object_store is None:
        asking.result()
    store = open_store(locator.store_location)
    await asyncio.to_thread(store.probe)
    return True


async def _ask_location(settings: Settings, locator: Locator) -> None:
    backoff = Backoff()
    while True:
        try:
            return await asyncio.to_thread(locator.ask)
        except MetaError as error:
            log.warning("meta_unreachable", meta_address=settings.meta_address, reason=error.reason)
            await backoff.wait()


def _stop_of(shutdown: Shutdown) -> asyncio.Event:
    """Return an event of this loop that a shutdown sets."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def follow() -> None:
        shutdown.wait()
        # Requested at the collector's end, for all that waits for it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=follow, name="shutdown", daemon=True).start()
    return stop


def _taken(setting: str, bind: str) -> ConfigError:
    return ConfigError(f"{bind} cannot be opened (in use?): end what holds it or set {setting}")
