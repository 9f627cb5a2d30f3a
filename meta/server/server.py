"""The composition root: builds the server, runs it and drains it."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
import structlog
from grpc_health.v1.health import SERVICE_NAME as HEALTH_NAME
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection import aio as reflection_aio

from meta.commits.change_feed import ChangeFeed
from meta.commits.merge_debts import MergeDebts
from meta.commits.merge_registrar import MergeRegistrar
from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument
from meta.event_loop import EventLoop
from meta.process.exits import ConfigError
from meta.process.health_calls import HealthCalls
from meta.process.memory import spare_collections
from meta.process.shutdown import Shutdown
from meta.rpc import connections
from meta.rpc.authentication import Authentication
from meta.rpc.handlers import handlers_of
from meta.rpc.pipeline import Pipeline
from meta.rpc.restrictions import count_health_call
from meta.rpc.slow_calls import SlowCalls
from meta.self_report import Progress, SelfReport, memory, name_of
from meta.server import jobs
from meta.server.database_start import open_database
from meta.services import operations
from meta.services.catalog.service import CatalogServicer
from meta.services.deletion.segment_deletion import SegmentDeletionServicer
from meta.services.lookup.segment_lookup import SegmentLookupServicer
from meta.services.merging.janitor import JanitorServicer
from meta.services.merging.merge_task import MergeTaskServicer
from meta.services.messages import checks, cursors
from meta.services.registration.nursery import NurseryServicer
from meta.services.resources import locked_calls
from meta.services.server_parts import ServerParts
from meta.services.streams.ingest_token import IngestTokenServicer
from meta.services.streams.ingestion import IngestionServicer
from meta.store.access import token_secrets
from meta.store.access.token_secrets import TokenHasher
from meta.store.catalog import datasets
from meta.store.engine.pool import Database, Transaction
from meta.store.segments import object_stores
from meta.watches import background, health, witness_watch

log = structlog.get_logger()
MESSAGE_BYTES_MAX = 4 * 1024 * 1024
HEALTH_CHECK_BYTES_MAX = 4 * 1024
REFLECTION_METHOD = "/grpc.reflection.%s.ServerReflection/ServerReflectionInfo"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A started server; `port` is the one that it is bound to."""

    server: grpc.aio.Server
    health_server: grpc.aio.Server | None
    loop: EventLoop
    port: int
    database: Database
    health: health_aio.HealthServicer
    names: tuple[str, ...]
    feed: ChangeFeed
    reports: ProcessReports
    pipeline: Pipeline
    debts: MergeDebts

    def report(self, state: health.DatabaseState) -> None:
        """Set the health status that health checks are answered with."""
        self.loop.run(health.report(self.health, self.names, state))

    def stop(self, drain_secs: float) -> None:
        """Refuse new calls, wait `drain_secs` for running ones, close the database."""
        self.loop.run(self.health.enter_graceful_shutdown())
        # Watchers would last for all of the drain.
        self.loop.run(self.feed.close())
        self.loop.run(self.server.stop(drain_secs))
        if self.health_server is not None:
            self.loop.run(self.health_server.stop(0))
        # Last, since processes report their ends during the drain.
        if background.attempt("processes", self.reports.save):
            background.attempt("server_costs", self.reports.costs.end)
        self.loop.run(self.pipeline.denials.save())
        self.loop.close()
        witness_watch.end(self.database)
        self.database.close()


@dataclass(frozen=True, slots=True)
class _Methods(grpc.GenericRpcHandler):
    """All handlers, wrapped, by the full name of their method.

    One dictionary is faster than grpc.aio's own registration, which searches a list of handlers at
    every call.
    """

    pipeline: Pipeline
    unknown: Any
    handlers: dict[str, Any] = field(default_factory=dict)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """The handler of a call."""
        return self.handlers.get(handler_call_details.method, self.unknown)

    def add(self, service: str, find: Callable[[str], Any]) -> None:
        """Add a service of ours, whose functions `find` finds by the names of their methods."""
        for name, handler in handlers_of(service, find):
            method = f"/{service}/{name}"
            guarded = locked_calls.guarded(name, handler)
            self.handlers[method] = self.pipeline.wrap(guarded, method)


def start(settings: Settings, *, shares_port: bool = False) -> RunningServer:
    """Migrate, then serve on `settings.bind`. Raises ConfigError or Unavailable."""
    database = open_database(settings)
    database.continuity.is_inspection = settings.is_inspection
    if not settings.is_inspection:
        witness_watch.begin(database, settings)
    transactions = Transactions(database)
    loop = EventLoop(settings.threads)
    try:
        if not (database.continuity.refusal or settings.is_inspection):
            transactions.write(lambda tx: _prepare(tx, settings))
        return loop.run(_serve(settings, transactions, loop, shares_port=shares_port))
    except ConfigError:
        loop.close()
        witness_watch.end(database)
        database.close()
        raise


def _prepare(tx: Transaction, settings: Settings) -> None:
    missing = object_stores.configure(
        tx, {store.name: store.location.url() for store in settings.named_stores}
    )
    if missing:
        raise ConfigError(
            f"META_OBJECT_STORES does not name {', '.join(missing)}: segments are in there, or"
            " datasets have it as the store of new ones"
        )
    name = settings.default_dataset
    if datasets.find_default(tx) is None:
        try:
            if checks.new_dataset_name(name, "META_DEFAULT_DATASET").group is not None:
                raise ConfigError("META_DEFAULT_DATASET has a slash, which is for groups")
        except InvalidArgument as error:
            raise ConfigError(error.message) from error
    datasets.ensure_default(tx, name)


async def _serve(
    settings: Settings, transactions: Transactions, loop: EventLoop, *, shares_port: bool
) -> RunningServer:
    # This precedes the server's start, because its calls inherit the context.
    cursors.sign_with(await asyncio.to_thread(transactions.read, token_secrets.cursor_key))
    checker = health_aio.HealthServicer()
    # A call's token is checked again while it runs, and its refusal counted later.
    of_server = Transactions(transactions.database, is_of_calls=False)
    authentication = Authentication(settings, of_server)
    pipeline = Pipeline(authentication, settings, of_server)
    methods = _Methods(pipeline, pipeline.unknown())
    feed = ChangeFeed(transactions, settings.watchers_max)
    reports = ProcessReports(transactions)
    debts = _register(methods, transactions, settings, feed, reports)
    names = tuple(dict.fromkeys(method.split("/")[1] for method in methods.handlers))
    # Health checks bypass the pipeline, so that calls of strangers cannot delay a probe.
    methods.handlers.update(HealthCalls(checker, count_health_call).handlers)
    _add_reflection(methods, (*names, HEALTH_NAME, reflection.SERVICE_NAME))
    server = grpc.aio.server(
        handlers=(methods,),
        options=[
            # Otherwise two servers on one port would both start and share the calls by accident.
            ("grpc.so_reuseport", int(shares_port)),
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
            *connections.options(settings),
        ],
    )
    port = _listen(server, settings)
    health_server = _health_server(settings, checker, shares_port=shares_port)
    await health.report(checker, names, health.DatabaseState.UP)
    await server.start()
    if health_server is not None:
        await health_server.start()
    database = transactions.database
    return RunningServer(
        server, health_server, loop, port, database, checker, names, feed, reports, pipeline, debts
    )


def _listen(server: grpc.aio.Server, settings: Settings) -> int:
    try:
        if settings.tls is None:
            return server.add_insecure_port(settings.bind)
        return server.add_secure_port(settings.bind, settings.tls.grpc_credentials())
    except RuntimeError as error:
        raise ConfigError(
            f"cannot listen on {settings.bind}: is another meta running? choose META_BIND"
        ) from error


def _health_server(
    settings: Settings, checker: health_aio.HealthServicer, *, shares_port: bool
) -> grpc.aio.Server | None:
    """A server of health checks alone, in plain text: probes seldom have certificates."""
    if not settings.health_bind:
        return None
    server = grpc.aio.server(
        handlers=(HealthCalls(checker, count_health_call),),
        options=[
            ("grpc.so_reuseport", int(shares_port)),
            ("grpc.max_receive_message_length", HEALTH_CHECK_BYTES_MAX),
            *connections.options(settings),
        ],
    )
    try:
        server.add_insecure_port(settings.health_bind)
    except RuntimeError as error:
        raise ConfigError(
            f"cannot listen on {settings.health_bind}: choose META_HEALTH_BIND"
        ) from error
    return server


def _register(
    methods: _Methods,
    transactions: Transactions,
    settings: Settings,
    feed: ChangeFeed,
    reports: ProcessReports,
) -> MergeDebts:
    """Add the eleven services; returns the merge debts that they know."""
    part = (transactions, settings)
    registrar = MergeRegistrar(transactions, settings.database.commit_batches)
    debts = MergeDebts(transactions, settings.merge_debt_segments, settings.merge_policy)
    hasher = TokenHasher(settings.peppers)
    parts = ServerParts(transactions, settings, feed, registrar, hasher, debts, reports)
    servicers = {
        "Catalog": CatalogServicer(*part),
        "Ingestion": IngestionServicer(*part, reports),
        "IngestToken": IngestTokenServicer(*part),
        "Nursery": NurseryServicer(parts),
        "MergeTask": MergeTaskServicer(*part),
        "SegmentDeletion": SegmentDeletionServicer(*part),
        "SegmentLookup": SegmentLookupServicer(*part),
        "Janitor": JanitorServicer(*part),
    }
    for name, servicer in servicers.items():
        methods.add(f"meta.v1.{name}Service", partial(getattr, servicer))
    methods.add("meta.v1.OperationsService", operations.find_in(operations.OPERATIONS, parts))
    methods.add("meta.v1.ResourcesService", operations.find_in(operations.RESOURCES, parts))
    methods.add("meta.v1.StatusService", operations.find_in(operations.STATUS, parts))
    return debts


def _add_reflection(methods: _Methods, names: Iterable[str]) -> None:
    """Serve reflection v1alpha, and the same servicer under the name of v1."""
    servicer = reflection_aio.ReflectionServicer(names)
    answer = partial(servicer.ServerReflectionInfo, unused_context=None)
    methods.add(reflection.SERVICE_NAME, lambda _: answer)
    methods.handlers[REFLECTION_METHOD % "v1"] = methods.handlers[REFLECTION_METHOD % "v1alpha"]


def run(settings: Settings, shutdown: Shutdown) -> None:
    """Serve until shutdown is requested, then drain; raises ReleaseTooLow if that was the cause."""
    running = start(settings, shares_port=settings.processes > 1)
    spare_collections()
    log.info("meta_started", bind=settings.bind, port=running.port)
    if settings.is_unsafe_grace:
        log.warning("unsafe_short_grace", grace_secs=settings.lifetimes.tombstone_grace)
    self_report = SelfReport(
        "meta",
        name_of(settings.process_name, f":{running.port}", settings.metrics),
        settings,
        Progress(),
        checks=(memory, SlowCalls(), running.debts.check),
        certificates=[settings.tls.certificate_file] if settings.tls is not None else (),
    )
    running.reports.server = self_report
    running_jobs = jobs.start(running.database, running.report, settings, shutdown, running.reports)
    shutdown.wait()
    log.info("meta_draining", drain_secs=settings.drain_secs)
    self_report.end()
    running_jobs.join(settings.drain_secs)
    running.stop(settings.drain_secs)
    log.info("meta_stopped")
    running_jobs.releases.check()
