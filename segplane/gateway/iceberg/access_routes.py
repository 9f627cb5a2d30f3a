"""Routes by which callers get access to the objects of a table."""

import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.iceberg.access import Delegation, StoreAccess
from segplane.gateway.iceberg.bodies import read_object
from segplane.gateway.iceberg.responses import answer
from segplane.gateway.iceberg.tables import Tables

Actions = dict[tuple[str, str], Callable[[Request, str], Awaitable[Response]]]
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
KNOWN_MAX = 1_000
# A client may use a signature again for the same object.
_CACHED_BY_CALLER = {"Cache-Control": "private"}


class AccessRoutes:
    """Answers requests for signatures and keys; a table's dataset is known for a while."""

    def __init__(
        self,
        tables: Tables,
        access: StoreAccess,
        refresh_secs: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables = tables
        self._access = access
        self._refresh_secs = refresh_secs
        self._monotonic = monotonic
        # By name of table: when it was asked for, and its dataset's id.
        self._known: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._lock = threading.Lock()

    async def sign(self, request: Request, table: str) -> Response:
        """Sign a read of one of a table's objects."""
        body = await read_object(request)
        return await run_in_threadpool(
            lambda: answer(self._access.sign(body, self._dataset_id(table)), _CACHED_BY_CALLER)
        )

    async def keys(self, _: Request, table: str) -> Response:
        """Give keys for a table's objects."""
        return await run_in_threadpool(self._keys, table)

    async def delegate(self, request: Request, table: str) -> Delegation:
        """Return what a client that loads a table gets of what it asks for."""
        kind = self._access.kind(request.headers.get("x-iceberg-access-delegation", ""))
        if not kind:
            return Delegation("")
        return await run_in_threadpool(
            lambda: self._access.delegate(kind, table, self._dataset_id(table))
        )

    def actions(self) -> Actions:
        """Return the routes below a table, by method and name."""
        return {("POST", "sign"): self.sign, ("GET", "credentials"): self.keys}

    def endpoints(self) -> list[str]:
        """Name the routes that can be used."""
        return [_CREDENTIALS] if self._access.gives_keys else []

    def _keys(self, table: str) -> Response:
        given = self._access.keys(table, self._dataset_id(table))
        return answer({"storage-credentials": self._access.storage_credentials(given)})

    def _dataset_id(self, table: str) -> str:
        now = self._monotonic()
        with self._lock:
            asked_at, dataset_id = self._known.get(table, (float("-inf"), ""))
        if now - asked_at <= self._refresh_secs:
            return dataset_id
        dataset_id = self._tables.dataset_id(table)
        with self._lock:
            self._known[table] = now, dataset_id
            self._known.move_to_end(table)
            while len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        return dataset_id
