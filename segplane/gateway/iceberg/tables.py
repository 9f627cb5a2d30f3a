"""Tables: each dataset at its current version, or at the one that a name asks for."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from dataplane.dataset_layout import UnknownLayout, read_layout
from dataplane.location import Locator
from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, ReplyTooLarge, VersionExpired
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import SegmentInfo
from segments.parquet.spec import PromotedColumn
from segments.store.open import open_stores
from segplane.gateway.http import metrics
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.recent_values import RecentValues
from segplane.gateway.http.tenant_clients import TenantClients
from segplane.gateway.iceberg.metadata import data_files
from segplane.gateway.iceberg.metadata.contents import Contents, OtherDataset
from segplane.gateway.iceberg.metadata.documents import Document, document
from segplane.gateway.iceberg.metadata.publication import Publisher
from segplane.gateway.iceberg.metadata.schema import TableSchema, table_schema
from segplane.gateway.iceberg.namespaces import NAMESPACE, whole_name
from segplane.gateway.iceberg.refusals import TableMissing, TableRefused
from segplane.gateway.iceberg.version_names import split_version
from segplane.gateway.iceberg.views import catalog_view, parse_view_name, view_metadata

log = structlog.get_logger()
_ATTEMPTS = 3
SNAPSHOTS_MAX = 100
FOLLOWED_MAX = 1_000
VERSIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A document that meta keeps for a grace from now on, and the URL of its object."""

    document: Document
    url: str
    dataset_id: str


@dataclass(slots=True)
class _Followed:
    """A dataset whose changes are followed."""

    contents: Contents
    publisher: Publisher
    lock: threading.Lock = field(default_factory=threading.Lock)


class Tables:
    """Describes datasets as tables; safe for many threads.

    A dataset that is not in the scope of a call does not exist for it.
    """

    def __init__(self, clients: TenantClients, locator: Locator, segments_max: int) -> None:
        self._clients = clients
        self._locator = locator
        self._segments_max = segments_max
        # By tenant and name, the least recently used first; together they hold at most
        # `segments_max` segments.
        self._followed: OrderedDict[tuple[str, str], _Followed] = OrderedDict()
        # Sentences about objects that published versions lack, by dataset and version.
        self._left_out: RecentValues[tuple[str, int], list[str]] = RecentValues(VERSIONS_MAX)
        self._lock = threading.Lock()
        # One at a time: a version that is read from its beginning takes memory.
        self._reading = threading.Lock()

    def exists(self, name: str, scope: DatasetScope) -> bool:
        """True if a table has this name."""
        try:
            self._resolve(name, scope)
        except TableMissing:
            return False
        return True

    def described(self, segment: SegmentInfo) -> data_files.DataFile | data_files.UnreadableFile:
        """Describe a segment as a file of a table. Raises StoreError."""
        if segment.foreign.state:
            store = open_stores(self._locator.stores, is_brief=True)
            segment = data_files.told_apart(segment, store)
        return data_files.data_file(segment, self._locator.stores)

    def identify(self, name: str, scope: DatasetScope) -> tuple[str, str, int | None]:
        """Return the id and name of a table's dataset, and the version that the name asks for.

        Raises TableMissing, TableRefused, MetaError.
        """
        table, dataset_name, version = self._resolve(name, scope)
        return table.dataset_id, dataset_name, version

    def find_dataset_id(self, dataset_name: str, scope: DatasetScope) -> str | None:
        """Return the id of a dataset of a tenant, of all that it has. Raises MetaError."""
        reply = self._find(dataset_name, None, replace(scope, dataset_ids=None))
        return None if reply is None else reply.dataset_id

    def is_taken(self, name: str, scope: DatasetScope) -> bool:
        """True if a table or the view of a signal has this name, before a view of the catalog."""
        view = parse_view_name(name)
        if self.find_dataset_id(name, scope) is not None:
            return True
        return view is not None and self.find_dataset_id(view.dataset_name, scope) is not None

    def find_view(
        self, name: str, scope: DatasetScope, namespace: str = NAMESPACE
    ) -> dict[str, Any]:
        """Describe a view: of one signal, else of the catalog, which are in the default namespace.

        Raises TableMissing, TableRefused, MetaError.
        """
        # A dataset of this name comes first.
        if self._find(whole_name(namespace, name), None, scope) is not None:
            raise TableMissing(f"there is no view {name!r}: a table has this name")
        view, table = parse_view_name(name), None
        if view is not None:
            table = self._find(whole_name(namespace, view.dataset_name), None, scope)
        if view is None or table is None:
            if scope.dataset_ids is not None or namespace != NAMESPACE:
                # No view of the catalog exists for a caller that is limited to datasets.
                raise TableMissing(f"there is no view {name!r}")
            return catalog_view(self._clients.of(scope), name, NAMESPACE)
        return view_metadata(view, table.dataset_id, namespace, _promoted(table, str(view)))

    def load(self, name: str, scope: DatasetScope) -> LoadedTable:
        """Describe a table and have meta keep what describes it.

        Raises TableMissing, TableRefused, MetaError, StoreError.
        """
        attempts = 0
        while True:
            try:
                return self._load(name, scope)
            except (OtherDataset, NotFound, VersionExpired) as error:
                # The dataset, or a registered object, went while it was read.
                log.info("table_load_repeated", cause=repr(error))
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise TableRefused(f"table {name!r} cannot be read: {error}") from error

    def _load(self, name: str, scope: DatasetScope) -> LoadedTable:
        table, dataset_name, version = self._resolve(name, scope)
        schema = table_schema(_promoted(table, dataset_name))
        if version is None:
            return self._load_current(table, dataset_name, schema, scope)
        meta = self._clients.of(scope)
        publisher = self._publisher(meta, table.dataset_id)
        snapshots = list(table.snapshots)
        is_published = bool(snapshots) and snapshots[-1].version == version
        left_out = self._left_out.find((table.dataset_id, version))
        if not is_published or left_out is None:
            with self._reading:
                contents = self._contents(table.dataset_id, dataset_name)
                with expiry_explained(dataset_name, version):
                    contents.load(meta, version)
                contents.check_readable(meta)
                left_out = contents.note_left_out()
                self._left_out.keep((table.dataset_id, version), left_out)
                if not is_published:
                    snapshots.append(publisher.publish(contents, schema, table.epoch))
        return self._hand_out(publisher, table, dataset_name, schema, snapshots, left_out)

    def _load_current(
        self,
        table: pb.GetDatasetTableResponse,
        dataset_name: str,
        schema: TableSchema,
        scope: DatasetScope,
    ) -> LoadedTable:
        meta = self._clients.of(scope)
        followed = self._follow(meta, table, (scope.tenant, dataset_name))
        with followed.lock:
            contents, publisher = followed.contents, followed.publisher
            contents.check_readable(meta)
            contents.adopt_version(meta, [snapshot.version for snapshot in table.snapshots])
            snapshots = [s for s in table.snapshots if s.version <= contents.version]
            if not snapshots or snapshots[-1].version != contents.version:
                snapshots.append(publisher.publish(contents, schema, table.epoch))
            left_out = contents.note_left_out()
            return self._hand_out(publisher, table, dataset_name, schema, snapshots, left_out)

    def _follow(
        self, meta: MetaClient, table: pb.GetDatasetTableResponse, key: tuple[str, str]
    ) -> _Followed:
        """The segments at the current version of a dataset, by its tenant and name."""
        with self._lock:
            followed = self._followed.get(key)
        stores = self._locator.stores
        if followed is not None and followed.contents.belongs_to(table.dataset_id, stores):
            try:
                with followed.lock:
                    followed.contents.follow(meta)
            except (OtherDataset, VersionExpired, ReplyTooLarge) as error:
                log.info("table_read_again", dataset_id=table.dataset_id, cause=str(error))
            else:
                with self._lock:
                    self._followed.move_to_end(key)
                return followed
        with self._reading:
            contents = self._contents(table.dataset_id, key[1])
            contents.load(meta)
        followed = _Followed(contents, self._publisher(meta, table.dataset_id))
        with self._lock:
            self._followed[key] = followed
            self._followed.move_to_end(key)
            self._evict()
        return followed

    def _hand_out(
        self,
        publisher: Publisher,
        table: pb.GetDatasetTableResponse,
        dataset_name: str,
        schema: TableSchema,
        snapshots: list[pb.TableSnapshot],
        left_out: Sequence[str],
    ) -> LoadedTable:
        listed = snapshots[-SNAPSHOTS_MAX:]
        described = document(table.dataset_id, publisher.root, schema, listed, left_out)
        url = publisher.hand_out(described, dataset_name, table.epoch)
        return LoadedTable(described, url, table.dataset_id)

    def _resolve(
        self, name: str, scope: DatasetScope
    ) -> tuple[pb.GetDatasetTableResponse, str, int | None]:
        """The dataset of a table's name, and the version that the name asks for."""
        reply = self._find(name, None, scope)
        if reply is not None:
            return reply, name, None
        at_version = split_version(name)
        if at_version is None:
            raise TableMissing(f"there is no table {name!r}")
        dataset_name, version = at_version
        with expiry_explained(dataset_name, version):
            reply = self._find(dataset_name, version, scope)
        if reply is None:
            raise TableMissing(f"there is no table {dataset_name!r}")
        return reply, dataset_name, version

    def _find(
        self, dataset_name: str, version: int | None, scope: DatasetScope
    ) -> pb.GetDatasetTableResponse | None:
        request = pb.GetDatasetTableRequest(dataset_name=dataset_name, version=version)
        try:
            reply = self._clients.of(scope).operations.GetDatasetTable(request)
        except NotFound:
            return None
        except InvalidArgument:
            if version is None:
                # No dataset can have this name.
                return None
            raise
        return reply if scope.covers(reply.dataset_id) else None

    def _contents(self, dataset_id: str, dataset_name: str) -> Contents:
        stores = self._locator.stores
        store = open_stores(stores, is_brief=True)
        return Contents(dataset_id, dataset_name, stores, self._segments_max, store)

    def _publisher(self, meta: MetaClient, dataset_id: str) -> Publisher:
        location = self._locator.store_location
        store = open_stores(self._locator.stores, is_brief=True)
        return Publisher(meta, store, dataset_id, location.root)

    def _evict(self) -> None:
        def held() -> int:
            return sum(table.contents.segments for table in self._followed.values())

        while len(self._followed) > 1 and (
            len(self._followed) > FOLLOWED_MAX or held() > self._segments_max
        ):
            self._followed.popitem(last=False)
        metrics.FOLLOWED_SEGMENTS.set(held())


@contextmanager
def expiry_explained(dataset_name: str, version: int) -> Iterator[None]:
    """Refuse a version that has expired: to ask for it again is of no use."""
    try:
        yield
    except VersionExpired as error:
        raise TableRefused(
            f"version {version} of {dataset_name!r} has expired, its segments may be deleted: read"
            " a newer one, and pin it (PinVersion) if it is to stay readable"
        ) from error


def _promoted(table: pb.GetDatasetTableResponse, dataset_name: str) -> tuple[PromotedColumn, ...]:
    try:
        return read_layout((), table.promoted_columns).promoted
    except UnknownLayout as error:
        raise TableRefused(f"dataset {dataset_name}: {error}") from error
