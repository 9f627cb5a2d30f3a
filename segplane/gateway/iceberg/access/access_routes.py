"""Routes by which callers get access to the objects of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from segplane.gateway.http.bodies import answer
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.iceberg.access.access import StoreAccess
from segplane.gateway.iceberg.refusals import OtherTable
from segplane.gateway.iceberg.table_names import TableNames

# A name is looked up again for an object of another dataset, at most so often.
RECHECK_SECS = 0.5
# Answers of requests below a table, by method and name: each gets the JSON of a POST, the table's
# name, and the caller's scope.
Actions = dict[tuple[str, str], Callable[[dict[str, Any], str, DatasetScope], Response]]
# A client may use a signature again for the same object.
_CACHED_BY_CALLER = {"Cache-Control": "private"}


@dataclass(frozen=True, slots=True)
class AccessRoutes:
    """Answers requests for signatures and keys."""

    names: TableNames
    access: StoreAccess

    def actions(self) -> Actions:
        """Return the routes below a table, by method and name."""
        return {("POST", "sign"): self._sign, ("GET", "credentials"): self._keys}

    def _sign(self, body: dict[str, Any], table: str, scope: DatasetScope) -> Response:
        dataset_id = self.names.dataset_id(table, scope)
        try:
            signed = self.access.sign(body, dataset_id)
        except OtherTable:
            # Another gateway may have shown a dataset that was created again already.
            fresh_id = self.names.dataset_id(table, scope, RECHECK_SECS)
            if fresh_id == dataset_id:
                raise
            signed = self.access.sign(body, fresh_id)
        return answer(signed, headers=_CACHED_BY_CALLER)

    def _keys(self, _: dict[str, Any], table: str, scope: DatasetScope) -> Response:
        given = self.access.keys(table, self.names.dataset_id(table, scope), scope)
        return answer({"storage-credentials": self.access.storage_credentials(given)})
