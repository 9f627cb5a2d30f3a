"""Routes of the catalog below /iceberg/v1, all of them read-only."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import unquote

from anyio import CapacityLimiter, to_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from segments.ids import is_canonical_uuid
from segments.location import StoreLocation
from segplane.gateway.http.bodies import answer, json_text
from segplane.gateway.http.readers import CatalogReader, DatasetScope, may_name_tenant
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg import responses
from segplane.gateway.iceberg.access.access import VENDED, Delegation, StoreAccess, warehouse_of
from segplane.gateway.iceberg.access.access_routes import AccessRoutes
from segplane.gateway.iceberg.name_lists import NameLists
from segplane.gateway.iceberg.namespaces import (
    NAMESPACE,
    Namespaces,
    is_nested,
    outermost,
    whole_name,
)
from segplane.gateway.iceberg.refusals import TableMissing, TableRefused
from segplane.gateway.iceberg.responses import read_object, refuse
from segplane.gateway.iceberg.scans.scan_plans import PLAN_ENDPOINTS, ScanPlanner
from segplane.gateway.iceberg.table_names import TableNames
from segplane.gateway.iceberg.tables import LoadedTable, Tables

PREFIX = "/iceberg/v1/"
CACHED_MAX = 1_000
# Loads at a time: they wait for one another, and must not keep lists and views waiting.
LOADS_MAX = 32
_ENDPOINTS = (
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}",
)
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
# A name, and the only dataset that it may mean, or all.
_LoadKey = tuple[str, DatasetScope]
_NO_CONTENT = 204
_NOT_MODIFIED = 304


def parts_of(request: Request) -> list[str]:
    """Return the parts of a path below the prefix, as they were sent: a name may hold a slash."""
    path = request.scope["raw_path"].decode("latin-1").removeprefix(PREFIX).rstrip("/")
    return [unquote(part) for part in path.split("/")]


def asked_tenant(request: Request) -> str:
    """Return the tenant that a path begins with, by its id; "" = none."""
    first = parts_of(request)[0]
    return f"//{first}" if is_canonical_uuid(first) else ""


def asked_warehouse(request: Request) -> str:
    """Return the warehouse that a request for the configuration names, "" = none."""
    if parts_of(request) != ["config"]:
        return ""
    warehouse = request.query_params.get("warehouse", "")
    if is_canonical_uuid(warehouse):
        return f"//{warehouse}"
    return warehouse if may_name_tenant(warehouse) else ""


class IcebergCatalog:
    """Answers requests; equal ones at the same time are computed once."""

    def __init__(
        self,
        clients: TenantClients,
        tables: Tables,
        store: Callable[[], StoreLocation],
        access: StoreAccess,
        plans: ScanPlanner,
        *,
        refresh_secs: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._namespaces = Namespaces(clients, refresh_secs, monotonic)
        self._lists = NameLists(clients, tables, self._namespaces)
        self._tables = tables
        self._names = TableNames(tables, refresh_secs, monotonic)
        self._store = store
        self._access = access
        self._actions = AccessRoutes(self._names, access).actions() | plans.actions()
        self._refresh_secs = refresh_secs
        self._monotonic = monotonic
        self._threads = CapacityLimiter(LOADS_MAX)
        # The begin of each load, and its result; the least recently loaded first.
        self._loads: OrderedDict[_LoadKey, tuple[float, asyncio.Task[LoadedTable]]] = OrderedDict()

    async def respond(self, request: Request, reader: CatalogReader) -> tuple[str, Response]:
        """Answer a request below the prefix; returns the name of its route for metrics too."""
        scope = reader.scope
        parts = parts_of(request)
        # The tenant, which the caller was found in.
        parts = parts[1:] if is_canonical_uuid(parts[0]) else parts
        is_there = len(parts) > 1 and await self._exists_namespace(parts[1], reader)
        if (missing := await self._missing(parts, reader)) is not None:
            return "namespace", missing
        match parts:
            case ["namespaces", namespace, "tables", name, *_] if is_there:
                # Checked first, so that nothing reveals it to callers that may not read it.
                scope = await self._narrow(whole_name(namespace, name), scope)
        match parts:
            case ["namespaces", namespace, "tables", name, action, *rest] if is_there:
                # The name of one of many, such as a plan, has a slash.
                action += "/" * len(rest)
                act = self._actions.get((request.method, action))
                if act is not None:
                    body = await read_object(request) if request.method == "POST" else {}
                    return action.rstrip("/"), await run_in_threadpool(
                        act, body, whole_name(namespace, name), scope
                    )
        if request.method not in ("GET", "HEAD"):
            return "write", refuse(responses.UNSUPPORTED, responses.READ_ONLY)
        match parts:
            case ["config"]:
                return "config", self._config(scope)
            case ["namespaces"]:
                return "namespaces", await run_in_threadpool(
                    self._namespaces.lists, request, reader
                )
            case ["namespaces", namespace, *rest]:
                if not is_there:
                    message = f"there is no namespace {namespace!r}: each is a group of datasets"
                    return "namespace", refuse(responses.NO_NAMESPACE, message)
                return await self._in_namespace(request, reader, scope, namespace, rest)
        return "unknown", refuse(responses.NOT_FOUND, f"there is no {request.scope['path']}")

    async def _missing(self, parts: list[str], reader: CatalogReader) -> Response | None:
        """Refuse a table or view that no namespace has, whatever meta knows by its name."""
        match parts:
            case ["namespaces", namespace, "tables" | "views" as kind, name, *_]:
                if is_nested(namespace):
                    # Engines look for metadata tables, such as web.files, as tables of a namespace
                    # web first, and continue only if there is no such table.
                    is_missing = await self._exists_namespace(outermost(namespace), reader)
                else:
                    # A name with a slash in the default namespace is of a release before 0.3.0.
                    is_missing = (namespace == NAMESPACE and "/" in name) and (
                        await run_in_threadpool(self._namespaces.is_of_group, name, reader.scope)
                    )
                if is_missing:
                    missing = responses.NO_TABLE if kind == "tables" else responses.NO_VIEW
                    return refuse(missing, f"there is no {kind[:-1]} {name!r} there")
        return None

    async def _exists_namespace(self, namespace: str, reader: CatalogReader) -> bool:
        if namespace == NAMESPACE:
            return True
        return await run_in_threadpool(self._namespaces.exists, namespace, reader)

    async def _narrow(self, name: str, scope: DatasetScope) -> DatasetScope:
        """Return a caller's scope for a name. Raises TableMissing."""
        if scope.dataset_ids is None:
            return scope
        return await run_in_threadpool(self._names.narrow, name, scope)

    async def _in_namespace(
        self,
        request: Request,
        reader: CatalogReader,
        scope: DatasetScope,
        namespace: str,
        parts: list[str],
    ) -> tuple[str, Response]:
        match parts:
            case [] if request.method == "HEAD":
                return "namespace", Response(status_code=_NO_CONTENT)
            case []:
                return "namespace", answer({"namespace": [namespace], "properties": {}})
            case ["tables" | "views" as kind]:
                return kind, await run_in_threadpool(
                    self._lists.listed, request, reader, namespace, kind
                )
            case ["views", name]:
                return "view", await run_in_threadpool(self._view, request, namespace, name, scope)
            case ["tables", name] if request.method == "HEAD":
                return "table_exists", await run_in_threadpool(
                    self._exists, whole_name(namespace, name), scope
                )
            case ["tables", name]:
                return "table", await self._table(request, whole_name(namespace, name), scope)
        return "unknown", refuse(responses.NOT_FOUND, f"there is no {request.scope['path']}")

    def _config(self, scope: DatasetScope) -> Response:
        endpoints = [*_ENDPOINTS, *PLAN_ENDPOINTS, *[_CREDENTIALS] * self._access.gives_keys]
        # A tenant's warehouse keeps its address when the tenant is renamed.
        overrides = {"prefix": warehouse_of(scope)} if scope.tenant else {}
        return answer({"defaults": {}, "overrides": overrides, "endpoints": endpoints})

    def _exists(self, name: str, scope: DatasetScope) -> Response:
        if self._tables.exists(name, scope):
            return Response(status_code=_NO_CONTENT)
        return refuse(responses.NO_TABLE, f"there is no table {name!r}")

    def _view(self, request: Request, namespace: str, name: str, scope: DatasetScope) -> Response:
        try:
            metadata = self._tables.find_view(name, scope, namespace)
        except TableMissing as error:
            return refuse(responses.NO_VIEW, str(error))
        if request.method == "HEAD":
            return Response(status_code=_NO_CONTENT)
        return answer({"metadata-location": metadata["location"], "metadata": metadata})

    async def _table(self, request: Request, name: str, scope: DatasetScope) -> Response:
        snapshots = request.query_params.get("snapshots", "all")
        if snapshots not in ("all", "refs"):
            message = f"snapshots is {snapshots!r}, expected all or refs"
            return refuse(responses.BAD_REQUEST, message)
        loaded = await self._load(name, scope)
        given = Delegation("")
        if kind := self._access.kind(request.headers.get("x-iceberg-access-delegation", "")):
            # The dataset is that of the loaded table: the name may mean another one by now.
            given = await run_in_threadpool(
                self._access.delegate, kind, name, loaded.dataset_id, scope
            )
        # The object too: an equal document may have been deleted and written again elsewhere.
        described = f"{loaded.url} {snapshots} {given.kind}"
        etag = f'"{sha256(described.encode()).hexdigest()}"'
        headers = {"ETag": etag}
        if given.kind == VENDED:
            # Keys expire, so that an answer is for one use.
            headers = {"Cache-Control": "no-store"}
        elif etag in _etags(request.headers.get("if-none-match", "")):
            return Response(status_code=_NOT_MODIFIED, headers=headers)
        document = loaded.document
        text = document.json_text if snapshots == "all" else document.current_text
        head = answer({"metadata-location": loaded.url, **self._table_config(given)}).body
        # The document is large, and JSON already.
        body = f'{bytes(head).decode()[:-1]},"metadata":{text}}}'
        return json_text(body, headers=headers)

    def _table_config(self, given: Delegation) -> dict[str, object]:
        """The location of the objects, and the caller's access to them."""
        store = self._store()
        if store.provider != "s3":
            return {"config": given.config}
        config: dict[str, str] = {}
        if store.region:
            config |= {"s3.region": store.region, "client.region": store.region}
        if store.endpoint:
            config |= {"s3.endpoint": store.endpoint, "s3.path-style-access": "true"}
        described: dict[str, object] = {"config": config | given.config}
        if credentials := self._access.storage_credentials(given):
            described["storage-credentials"] = credentials
        return described

    async def _load(self, name: str, scope: DatasetScope) -> LoadedTable:
        now, key = self._monotonic(), (name, scope)
        began, task = self._loads.get(key, (now, None))
        is_over = task is not None and task.done()
        if task is None or (is_over and (now - began > self._refresh_secs or _has_failed(task))):
            load = to_thread.run_sync(self._tables.load, name, scope, limiter=self._threads)
            task = asyncio.create_task(load)
            # The result is read even if all waiting callers have left.
            task.add_done_callback(_has_failed)
            self._loads[key] = now, task
            self._loads.move_to_end(key)
            self._forget_oldest()
        # A caller that leaves does not end what others wait for.
        return await asyncio.shield(task)

    def _forget_oldest(self) -> None:
        for key in list(self._loads)[: len(self._loads) - CACHED_MAX]:
            if self._loads[key][1].done():
                del self._loads[key]


def _has_failed(task: asyncio.Task[LoadedTable]) -> bool:
    """True for a failure that the next caller need not meet.

    A table that cannot be read may have taken all of its segments to find out.
    """
    if task.cancelled():
        return True
    error = task.exception()
    return error is not None and not isinstance(error, TableRefused)


def _etags(header: str) -> set[str]:
    return {part.strip().removeprefix("W/") for part in header.split(",")}
