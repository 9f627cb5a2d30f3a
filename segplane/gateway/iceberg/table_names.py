"""Datasets that names of tables mean to a caller, known for a while."""

import time
from collections.abc import Callable
from dataclasses import replace

from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.iceberg.refusals import TableMissing
from segplane.gateway.iceberg.tables import Tables
from segplane.gateway.iceberg.version_names import split_version

KNOWN_MAX = 1_000


class TableNames:
    """Ids of datasets by the names of tables, shared by all callers; safe for many threads."""

    def __init__(
        self,
        tables: Tables,
        refresh_secs: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables = tables
        self._refresh_secs = refresh_secs
        self._monotonic = monotonic
        # By tenant and a table's name, the time of the question and the ids of possible datasets.
        self._known: RecentValues[tuple[str, str], tuple[float, list[str]]] = RecentValues(
            KNOWN_MAX
        )

    def narrow(self, name: str, scope: DatasetScope) -> DatasetScope:
        """Return the one dataset that a name means to a caller who is limited to some.

        Another one of that name does not exist for the caller. Raises TableMissing, MetaError.
        """
        return replace(scope, dataset_ids=frozenset((self.dataset_id(name, scope),)))

    def dataset_id(
        self, name: str, scope: DatasetScope, known_secs_max: float = float("inf")
    ) -> str:
        """Return the dataset of a table, also if the version in its name has expired.

        A name known for longer than `known_secs_max` is looked up again. Raises TableMissing,
        MetaError.
        """
        for dataset_id in self._ids(name, scope, min(self._refresh_secs, known_secs_max)):
            if scope.covers(dataset_id):
                return dataset_id
        raise TableMissing(f"there is no table {name!r}")

    def _ids(self, name: str, scope: DatasetScope, known_secs_max: float) -> list[str]:
        now, key = self._monotonic(), (scope.tenant, name)
        asked_at, ids = self._known.find(key) or (float("-inf"), [])
        if now - asked_at <= known_secs_max:
            return ids
        at_version = split_version(name)
        names = [name, *(at_version[:1] if at_version else ())]
        answers = (self._tables.find_dataset_id(each, scope) for each in names)
        ids = [dataset_id for dataset_id in answers if dataset_id is not None]
        # Names that do not exist are not kept, so that guesses displace no name that does.
        if ids:
            self._known.keep(key, (now, ids))
        else:
            self._known.forget(key)
        return ids
