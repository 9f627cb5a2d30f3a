"""Routes by which callers get access to the objects of a table."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.iceberg.access.access import Delegation, StoreAccess
from segplane.gateway.iceberg.refusals import OtherTable
from segplane.gateway.iceberg.responses import read_object
from segplane.gateway.iceberg.table_names import TableNames

# A name is looked up again for an object of another dataset, at most so often.
RECHECK_SECS = 0.5
Actions = dict[tuple[str, str], Callable[[Request, str, DatasetScope], Awaitable[Response]]]
_CREDENTIALS = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"
# A client may use a signature again for the same object.
_CACHED_BY_CALLER = {"Cache-Control": "private"}


class AccessRoutes:
    """Answers requests for signatures and keys."""

    def __init__(self, names: TableNames, access: StoreAccess) -> None:
        self._names = names
        self._access = access

    async def sign(self, request: Request, table: str, scope: DatasetScope) -> Response:
        """Sign a read of one of a table's objects."""
        body = await read_object(request)
        return await run_in_threadpool(self._sign, body, table, scope)

    async def keys(self, _: Request, table: str, scope: DatasetScope) -> Response:
        """Give keys for a table's objects."""
        return await run_in_threadpool(self._keys, table, scope)

    async def delegate(self, request: Request, table: str, dataset_id: str) -> Delegation:
        """Return the kind of access that a client gets when it loads a table.

        The dataset is that of the loaded table: the name may mean another one by now.
        """
        kind = self._access.kind(request.headers.get("x-iceberg-access-delegation", ""))
        if not kind:
            return Delegation("")
        return await run_in_threadpool(self._access.delegate, kind, table, dataset_id)

    def actions(self) -> Actions:
        """Return the routes below a table, by method and name."""
        return {("POST", "sign"): self.sign, ("GET", "credentials"): self.keys}

    def endpoints(self) -> list[str]:
        """Name the routes that can be used."""
        return [_CREDENTIALS] if self._access.gives_keys else []

    def _sign(self, body: dict[str, Any], table: str, scope: DatasetScope) -> Response:
        dataset_id = self._names.dataset_id(table, scope)
        try:
            signed = self._access.sign(body, dataset_id)
        except OtherTable:
            # Another gateway may have shown a dataset that was created again already.
            fresh_id = self._names.dataset_id(table, scope, RECHECK_SECS)
            if fresh_id == dataset_id:
                raise
            signed = self._access.sign(body, fresh_id)
        return answer(signed, headers=_CACHED_BY_CALLER)

    def _keys(self, table: str, scope: DatasetScope) -> Response:
        given = self._access.keys(table, self._names.dataset_id(table, scope))
        return answer({"storage-credentials": self._access.storage_credentials(given)})
