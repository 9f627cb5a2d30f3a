"""The datasets and views that a query names, as the query language and SQL know them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice

from kql.scope import CheckedQuery, GroupedTables
from kql.typed import Table
from meta.client import MetaClient
from meta.errors import NotFound, RoleRefused
from meta.v1 import catalog_pb2, resources_pb2
from segplane.query.errors import QueryError
from segplane.read import groups
from segplane.read.bounds import Moment
from segplane.read.errors import sentence
from segplane.read.group_opening import GroupMember
from segplane.read.lookup import all_datasets, settings_at, view_names
from segplane.read.opening import state_at
from segplane.read.views.view_sql import ViewUnreadable, compiled_view, table_of, table_with

NamedTable = Table | CheckedQuery
# Calls of meta at a time.
_THREADS = 8


class CatalogTables(GroupedTables):
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
        # Names of the datasets of groups that are read whole, by id.
        self.members: dict[str, str] = {}

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

    def names_in(self, group: str, most: int) -> Sequence[str]:
        """Return the names of a group's datasets, whose columns are read together.

        Raises QueryError at another version, since a group is read as it is now.
        """
        if self._as_of is not None:
            raise QueryError("all datasets of a group are read as they are now: leave out --as-of")
        prefix = f"{group}/" if group else ""
        try:
            datasets = list(islice(groups.all_datasets(self._client, group), most + 1))
        except NotFound:
            return []
        if len(datasets) <= most:
            with ThreadPoolExecutor(_THREADS) as pool:
                tables = list(pool.map(partial(self._member, prefix), datasets))
            for dataset, table in zip(datasets, tables, strict=True):
                if table is not None:
                    self._known[table.name] = table
                    self.members[dataset.id] = table.name
        return [f"{prefix}{dataset.name}" for dataset in datasets]

    def _member(self, prefix: str, dataset: resources_pb2.Resource) -> Table | None:
        """Return a dataset of a group; None if it was deleted meanwhile."""
        try:
            settings = settings_at(self._client, dataset.id, None)
        except NotFound:
            return None
        columns = tuple(settings.promoted_columns.columns)
        table = table_with(
            columns,
            f"{prefix}{dataset.name}",
            dataset.id,
            is_complete=True,
            has_words=True,
            automatic=settings.automatic_columns,
        )
        return replace(table, member=GroupMember(dataset.id, columns))

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
