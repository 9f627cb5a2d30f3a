"""The datasets and views that a query names, as the query language and SQL know them."""

from collections.abc import Iterator, Mapping

from kql.scope import CheckedQuery
from kql.typed import Table
from meta.client import MetaClient
from meta.errors import NotFound, RoleRefused
from meta.v1 import catalog_pb2
from segplane.query.errors import QueryError
from segplane.read.bounds import Moment
from segplane.read.errors import sentence
from segplane.read.lookup import all_datasets, view_names
from segplane.read.opening import state_at
from segplane.read.views.view_sql import ViewUnreadable, compiled_view, table_of

NamedTable = Table | CheckedQuery


class CatalogTables(Mapping[str, NamedTable]):
    """Datasets and views by name, read when they are first asked for.

    A dataset comes before a view of the same name. With a version or a time, datasets have the
    names and the columns of then, and views their datasets' of today. Raises QueryError for a view
    that cannot be read, MetaError if meta cannot be asked.
    """

    def __init__(self, client: MetaClient, as_of: Moment | None = None) -> None:
        self._client = client
        self._as_of = as_of
        self._known: dict[str, NamedTable | None] = {}
        self._names: tuple[str, ...] | None = None

    @property
    def views(self) -> tuple[str, ...]:
        """The views that were asked for, by name."""
        return tuple(n for n, table in self._known.items() if isinstance(table, CheckedQuery))

    def __getitem__(self, name: str) -> NamedTable:
        if name not in self._known:
            self._known[name] = self._find(name)
        table = self._known[name]
        if table is None:
            raise KeyError(name)
        return table

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            datasets = (dataset.name for dataset in all_datasets(self._client))
            self._names = tuple(dict.fromkeys((*datasets, *view_names(self._client))))
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _find(self, name: str) -> NamedTable | None:
        try:
            return self._dataset(name)
        except NotFound as error:
            if "as_of_nanos" in error.metadata:
                raise QueryError(sentence(error)) from None
        try:
            return compiled_view(self._client, name, is_complete=True)
        except (NotFound, RoleRefused):
            # Views do not exist for a caller who is limited to datasets.
            return None
        except ViewUnreadable as error:
            raise QueryError(str(error)) from None

    def _dataset(self, name: str) -> Table:
        as_of = self._as_of
        if as_of is None or isinstance(as_of, int):
            request = catalog_pb2.GetDatasetRequest(name=name, at_version=as_of)
            dataset_id, version = self._client.catalog.GetDataset(request).id, as_of
        else:
            dataset_id, version = state_at(self._client, name, as_of)
        return table_of(self._client, dataset_id, name, version, is_complete=True, has_words=True)
