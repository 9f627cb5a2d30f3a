"""POST /v1/query: a query of one caller, from its request to its answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

import structlog
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from meta.client import MetaClient
from meta.client.addresses import network_of
from meta.errors import MetaError, NotFound
from meta.v1 import catalog_pb2
from segments.location import StoreLocation
from segplane.gateway.http import metrics
from segplane.gateway.http.bodies import body
from segplane.gateway.http.callers import Caller
from segplane.gateway.http.datasets import check_group
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.hangups import gone, unless
from segplane.gateway.http.paths import values_of
from segplane.gateway.http.readers import READING_ROLES, CatalogReaders, tenant_named
from segplane.gateway.http.refusals import (
    NotAllowed,
    NotNow,
    NotThere,
    QueryRefusal,
)
from segplane.gateway.http.responses import Endpoint, answered, refuse
from segplane.gateway.queries.accounts import Account, Accounts
from segplane.gateway.queries.added_files import LiveFiles, LiveFilesBroker
from segplane.gateway.queries.broker import Broker
from segplane.gateway.queries.kept_datasets import KeptDatasets
from segplane.gateway.queries.processes.pool import ProcessPool
from segplane.gateway.queries.processes.wire import ProcessLimits, QueryTask
from segplane.gateway.queries.requests import (
    MEDIA_TYPES,
    asked_preview,
    asked_query,
    no_dataset,
)
from segplane.gateway.queries.responses import PieceResponse, QueryResult, ResultResponse
from segplane.gateway.queries.run import HEAD_BYTES, DiedWaiting, QueryRun
from segplane.gateway.queries.settings import QuerySettings

log = structlog.get_logger()
# Of the results that a page is made of.
PAGE_BYTES_MAX = 32 * 2**20
_RETRY_SECS = 2
# Share of a query's memory for DuckDB's buffers; the rest is for memory it does not count.
_BUFFERS_SHARE = 0.6
Value = TypeVar("Value")


class QueryService:
    """Runs queries, each with its caller's rights and within its caller's limits."""

    def __init__(
        self,
        settings: QuerySettings,
        readers: CatalogReaders,
        connect: Callable[[Caller], MetaClient],
        store: StoreLocation | None,
        pool: ProcessPool,
        rights: GatewayRights,
    ) -> None:
        self.settings = settings
        self.rights = rights
        self._readers = readers
        self._connect = connect
        self.store = store
        self._accounts = Accounts(settings)
        self._pool = pool
        self._kept = KeptDatasets()
        self._limits = ProcessLimits(
            int(settings.memory_bytes * _BUFFERS_SHARE),
            settings.memory_bytes,
            settings.spill_bytes,
            settings.threads_each,
        )

    def close(self) -> None:
        """End the processes of queries, and close the datasets that they read."""
        self._pool.close()
        self._kept.close()

    def endpoints(self) -> dict[str, Endpoint]:
        """Return what answers each method and path."""
        return {
            "POST /v1/query": partial(answered, "query", self._respond, refuse),
            "GET /v1/datasets/{name}/preview": partial(answered, "preview", self._preview, refuse),
        }

    async def _respond(self, request: Request) -> Response:
        caller = await self.caller(request)
        return await self.run(request, caller, asked_query(await body(request)))

    async def _preview(self, request: Request) -> Response:
        """Answer with a dataset's newest records; to those who may not read it, it is not there."""
        values = values_of(request)
        try:
            caller = await self.caller(request)
        except NotAllowed:
            raise no_dataset(values.get("name") or values["id"]) from None
        name = values.get("name", "")
        if not name or "group" in values:
            name = (await self.read_catalog(caller, partial(dataset_at, values))).name
        return await self.run(request, caller, asked_preview(request, name))

    def deadline(self) -> float:
        """Return when a request that comes now ends, of the monotonic clock."""
        return time.monotonic() + self.settings.secs

    async def read_catalog(self, caller: Caller, read: Callable[[MetaClient], Value]) -> Value:
        """Read the catalog with a caller's rights, as one of its queries. Raises QueryRefusal.

        The calls of meta end if this is cancelled, since their connection is closed.
        """
        clients: list[MetaClient] = []

        def connected() -> Value:
            with self._connect(caller) as client:
                clients.append(client)
                return read(client)

        async with self._accounts.admitted(caller) as account:
            started_at = time.monotonic()
            try:
                return await to_thread.run_sync(connected, abandon_on_cancel=True)
            except asyncio.CancelledError:
                for client in clients:
                    client.close()
                raise
            except MetaError as error:
                raise failure_of(error) or QueryRefusal(str(error)) from error
            finally:
                self._accounts.use(account, 0, time.monotonic() - started_at)

    async def caller(self, request: Request, roles: tuple[str, ...] = READING_ROLES) -> Caller:
        """Return the caller, of one of some roles; raises QueryRefusal."""
        # Not every query asks meta for a table.
        return await self._known(request, partial(self._readers.find_caller, roles=roles))

    async def _known(self, request: Request, find: Callable[..., Awaitable[Value]]) -> Value:
        if not self.settings.concurrent:
            raise NotThere("this gateway runs no queries: GATEWAY_QUERY_CONCURRENT is 0")
        header = request.headers.get("authorization", "")
        host = network_of(request.client.host) if request.client else ""
        try:
            return await find(header, host, tenant=tenant_named(request))
        except MetaError as error:
            raise failure_of(error) or QueryRefusal(str(error)) from error

    async def author(self, request: Request) -> Caller:
        """Return the caller of a change, by its own token; raises QueryRefusal."""
        return await self._known(request, self._readers.find_author)

    async def run(
        self, request: Request, caller: Caller, task: QueryTask, added: LiveFiles | None = None
    ) -> ResultResponse:
        """Run a query until the first bytes of its result. Raises QueryRefusal, CallerGone.

        With `added`, the query reads these files of their dataset alone.
        """
        deadline = time.monotonic() + self.settings.secs
        hangup = asyncio.create_task(gone(request))
        outcome = "failed"
        async with AsyncExitStack() as stack:
            stack.callback(hangup.cancel)
            try:
                admission = stack.enter_async_context(self._accounts.admitted(caller))
                account = await unless(hangup, admission)
                broker = partial(self._broker, caller, task, added)
                starting = partial(self._started, stack, hangup, broker, account, task, deadline)
                run = await starting()
                # Rows of a page are shown as they come.
                head_bytes = 1 if task.page else HEAD_BYTES
                try:
                    head = await run.head(head_bytes)
                except DiedWaiting:
                    # The others that wait may have died with it.
                    run = await starting(is_new=True)
                    head = await run.head(head_bytes)
                media_type = MEDIA_TYPES.get(task.format, MEDIA_TYPES["json"])
                finish = partial(_finish, stack.pop_all())
                return ResultResponse(head, run, media_type, finish)
            except QueryRefusal as refusal:
                outcome = "gone" if hangup.done() else refusal.type
                raise
            finally:
                if outcome != "failed":
                    metrics.QUERIES.labels(outcome).inc()

    async def result(
        self, request: Request, caller: Caller, task: QueryTask, bytes_max: int = PAGE_BYTES_MAX
    ) -> QueryResult:
        """Run a query to its end, for a page. Raises QueryRefusal, CallerGone."""
        response = await self.run(request, caller, task)
        return await response.whole(bytes_max)

    async def stream(
        self, request: Request, caller: Caller, begin: Callable[[], Generator[bytes]]
    ) -> PieceResponse:
        """Answer with pieces that count as one of a caller's queries. Raises QueryRefusal."""
        hangup = asyncio.create_task(gone(request))
        async with AsyncExitStack() as stack:
            stack.callback(hangup.cancel)
            admission = stack.enter_async_context(self._accounts.admitted(caller))
            account, started_at = await unless(hangup, admission), time.monotonic()
            stack.callback(lambda: self._accounts.use(account, 0, time.monotonic() - started_at))
            pieces = await to_thread.run_sync(begin)
            return PieceResponse(pieces, hangup, stack.pop_all().aclose)
        raise AssertionError("nothing suppresses an error")

    def connect(self, caller: Caller) -> MetaClient:
        """Return a client of meta with a caller's rights, which the caller closes."""
        return self._connect(caller)

    def _broker(self, caller: Caller, task: QueryTask, added: LiveFiles | None) -> Broker:
        connect = partial(self._connect, caller)
        if added is not None:
            return LiveFilesBroker(added, caller.name, connect, self.store, self._kept)
        return Broker(caller.name, connect, self.store, self._kept, task.as_of)

    async def _started(
        self,
        stack: AsyncExitStack,
        hangup: "asyncio.Task[None]",
        make_broker: Callable[[], Broker],
        account: Account,
        task: QueryTask,
        deadline: float,
        *,
        is_new: bool = False,
    ) -> QueryRun:
        broker = await to_thread.run_sync(make_broker)
        try:
            process = await self._pool.take(self._limits, is_new=is_new)
        except BaseException as error:
            await to_thread.run_sync(broker.close)
            if isinstance(error, OSError):
                message = f"no process can be started for the query now: {error}"
                raise NotNow(message, "", _RETRY_SECS) from error
            raise
        scanned_bytes_max = self._accounts.scanned_bytes_left(account)
        run = QueryRun(process, broker, self.settings, scanned_bytes_max, deadline)
        metrics.RUNNING_QUERIES.inc()

        async def close() -> None:
            try:
                scanned_bytes, secs = await run.close()
            finally:
                self._pool.refill(self._limits)
            self._accounts.use(account, scanned_bytes, secs)
            metrics.RUNNING_QUERIES.dec()
            metrics.SCANNED_BYTES.inc(scanned_bytes)
            metrics.QUERY_SECONDS.observe(secs)

        stack.push_async_callback(lambda: asyncio.shield(asyncio.ensure_future(close())))
        # Nobody reads the result any more.
        hangup.add_done_callback(lambda _: run.stop("the caller has left"))
        await run.start(task)
        return run


def dataset_at(values: Mapping[str, str], client: MetaClient) -> catalog_pb2.GetDatasetResponse:
    """Return the dataset that a path names, with a caller's rights. Raises NotThere."""
    request = catalog_pb2.GetDatasetRequest()
    if "name" in values:
        request.name = values["name"]
    else:
        request.id = values["id"]
    try:
        check_group(client, values)
        return client.catalog.GetDataset(request)
    except NotFound:
        raise no_dataset(request.name or request.id) from None


async def _finish(stack: AsyncExitStack, outcome: str) -> None:
    """Release a query's resources, and count its outcome."""
    metrics.QUERIES.labels(outcome).inc()
    await stack.aclose()
