"""Queries over the segments that some versions added to a dataset, in place of all its segments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meta.client import MetaClient
from meta.v1 import common_pb2
from segments.location import StoreLocation
from segplane.gateway.queries.broker import Broker
from segplane.gateway.queries.kept_datasets import KeptDatasets
from segplane.gateway.queries.processes.remote import RemoteDataset
from segplane.query.tables import NamedTable
from segplane.read.bounds import TimeBounds
from segplane.read.files.files import DatasetFile
from segplane.read.views.view_sql import table_with


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """Files that versions up to `version` added to a dataset, and the dataset's promoted columns.

    They were visible a moment ago. No pin keeps them: the deletion grace of a replaced segment is
    longer than a query.
    """

    name: str
    dataset_id: str
    version: int
    files: tuple[DatasetFile, ...]
    promoted: tuple[common_pb2.PromotedColumn, ...]


class LiveFilesBroker(Broker):
    """Opens the added files where the query names their dataset; all else is as ever."""

    def __init__(
        self,
        added: LiveFiles,
        caller: str,
        connect: Callable[[], MetaClient],
        store: StoreLocation | None,
        kept: KeptDatasets,
    ) -> None:
        super().__init__(caller, connect, store, kept)
        self._added = added

    def _table(self, request: Any) -> NamedTable | None:
        added = self._added
        if str(request["name"]) != added.name:
            return super()._table(request)
        return table_with(
            added.promoted, added.name, added.dataset_id, is_complete=True, has_words=True
        )

    def _open(self, request: Any) -> RemoteDataset:
        added = self._added
        if str(request["name"]) != added.name:
            return super()._open(request)
        bounds = TimeBounds(request["start"], request["end"])
        files = [f for f in added.files if bounds.overlap(f.start_time, f.end_time)]
        shown = self._opened(added.dataset_id, files)
        return RemoteDataset(added.dataset_id, added.version, shown, added.promoted, bounds)
