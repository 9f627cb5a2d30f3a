"""Serves the requests of one query process, which is not trusted."""

import json
import pickle
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog

from dataplane.processes.child_process import receive, send
from kql.scope import GROUP_DATASETS_MAX
from meta.client import MetaClient
from meta.errors import MetaError, NotFound, RoleRefused
from segments.errors import ObjectMissing, SegmentsError
from segments.keys import join_key, store_of
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.gateway.http import metrics
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.refusals import QueryRefusal
from segplane.gateway.queries.kept_datasets import DatasetUse, KeptDatasets
from segplane.gateway.queries.processes import wire
from segplane.gateway.queries.processes.remote import PROVIDER, RemoteDataset
from segplane.gateway.queries.requests import no_dataset
from segplane.query.errors import QueryError
from segplane.query.tables import CatalogTables, NamedTable
from segplane.read.bounds import TimeBounds
from segplane.read.errors import PinLost, ReadError, meta_refusals
from segplane.read.files.files import DatasetFile, newest_files
from segplane.read.group_opening import GroupFiles, find_group_files
from segplane.read.lookup import settings_at
from segplane.read.opening import state_at

DATASETS_MAX = 64
FILES_MAX = 100_000
_RETRY_SECS = 2
# Proxies take headers of 8 KiB in all.
WARNINGS_BYTES_MAX = 4_096
_FURTHER = "further segments are skipped: `segplane segments find --unreadable` names them"
_WARNING_CHARACTERS_MAX = 1_000
log = structlog.get_logger()


class Broker:
    """Reads the catalog with a caller's rights, and the files that its query opens.

    `failure` is the reason why meta or the store did not answer, if they did not.
    """

    def __init__(
        self,
        caller: str,
        connect: Callable[[], MetaClient],
        store: StoreLocation | None,
        kept: KeptDatasets,
        as_of: int | datetime | None = None,
    ) -> None:
        self._caller = caller
        self._connect = connect
        self._store = store
        self._kept = kept
        self._client = connect()
        self._as_of = as_of
        self._tables = CatalogTables(self._client, as_of)
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._uses: dict[str, DatasetUse] = {}
        self._files: dict[str, tuple[ObjectStore, int]] = {}
        # Called when the process begins with the query.
        self.on_begin: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self.read_bytes = 0
        # Bytes of the opened files by dataset.
        self.opened_bytes = Counter[str]()
        self.outcome: dict[str, str] | None = None
        # Warnings for the caller: about files that are not read, and about the query.
        self.warnings: list[str] = []
        self.failure: QueryRefusal | None = None

    def serve(self, lane: socket.socket) -> None:
        """Answer the requests of one connection until it ends."""
        while True:
            try:
                request = json.loads(receive(lane, wire.REQUEST_BYTES_MAX))
                send(lane, *self._reply(request))
            except (EOFError, OSError, ValueError):
                return

    def _reply(self, request: Any) -> tuple[bytes, bytes]:
        try:
            return wire.DONE, self._answer(request)
        except ObjectMissing as error:
            self.failure = self.failure or failure_of(error)
            return wire.MISSING, str(error).encode()
        except (QueryError, ReadError, MetaError, SegmentsError) as error:
            self.failure = self.failure or failure_of(error)
            return wire.REFUSED, str(error).encode()
        except (KeyError, TypeError) as error:
            return wire.REFUSED, f"this is not a request: {error!r}".encode()

    def _answer(self, request: Any) -> bytes:
        match request["op"]:
            case "read":
                return self._read(request["path"], request["offset"], request["length"])
            case op if op in _PICKLED:
                with self._lock:
                    return pickle.dumps(getattr(self, f"_{op}")(request))
            case "left_out" | "warn" as kind:
                keep = self._leave_out if kind == "left_out" else self._warn
                keep(list(request["texts"]))
                return b""
            case "begin":
                self.on_begin()
                return b""
            case "end":
                self.on_end()
                self.outcome = {n: str(request[n]) for n in ("kind", "message", "excerpt")}
                return b""
        raise KeyError(request["op"])

    def _table(self, request: Any) -> NamedTable | None:
        name = str(request["name"])
        # A kept dataset has the columns of now.
        use = self._found(name) if self._as_of is None else None
        return self._tables.get(name) if use is None else use.table(name)

    def _version(self, request: Any) -> int | None:
        """Return the version to read, the greatest that one of some datasets had at the time."""
        as_of = self._as_of
        if not isinstance(as_of, datetime):
            return as_of
        names = list(map(str, request["names"]))[:DATASETS_MAX]
        return max((state_at(self._client, name, as_of)[1] for name in names), default=None)

    def _names(self, _: Any) -> tuple[str, ...]:
        return tuple(self._tables)

    def _group(self, request: Any) -> tuple[Sequence[str], dict[str, NamedTable]]:
        """Return the names of a group's datasets, and their columns unless there are too many."""
        most = min(int(request["most"]), GROUP_DATASETS_MAX)
        names = self._tables.names_in(str(request["name"]), most)
        members = set(self._tables.members.values()) & set(names)
        return names, {member: self._tables[member] for member in members}

    def _open_group(self, request: Any) -> GroupFiles:
        """List the files of datasets whose groups the query has named. Raises ReadError."""
        names = [self._tables.members[dataset_id] for dataset_id in request["ids"]]
        bounds = TimeBounds(request["start"], request["end"])
        with meta_refusals(self._client):
            listed = find_group_files(self._client, names, bounds, request["as_of"])
        _check_files(sum(map(len, listed.files.values())))
        for dataset_id, files in listed.files.items():
            self.opened_bytes[dataset_id] += sum(file.size_bytes for file in files)
        shown = {key: tuple(map(self._shown, files)) for key, files in listed.files.items()}
        return replace(listed, files=shown)

    def _open(self, request: Any) -> RemoteDataset:
        bounds, nanos = TimeBounds(request["start"], request["end"]), 0
        use, version = self._use(str(request["name"]), request["as_of"], bounds)
        if request["adjusts_time"]:
            # A kept dataset may have been opened before the present one was set.
            nanos = settings_at(self._client, use.dataset_id, None).time_adjustment_nanos
            bounds = bounds.moved(-nanos)
        return self._remote(use, version, bounds, use.files(bounds), nanos)

    def _newest(self, request: Any) -> RemoteDataset:
        """Open the files of a dataset that can hold its newest rows."""
        name, limit, always = str(request["name"]), int(request["limit"]), TimeBounds()
        try:
            use, version = self._use(name, None, always)
        except ReadError as error:
            if isinstance(error.__cause__, NotFound | RoleRefused):
                self.failure = self.failure or no_dataset(name)
            raise
        return self._remote(use, version, always, newest_files(use.files(always), limit))

    def _use(self, name: str, as_of: int | None, bounds: TimeBounds) -> tuple[DatasetUse, int]:
        """Return a dataset that is open at a version, None = the current one, and the version.

        Raises ReadError.
        """
        use = self._uses.get(name) or self._found(name)
        if use is not None and not use.is_at(as_of):
            # Since it was found another dataset was opened, at a later version.
            self._forget(name)
            use = self._found(name)
        if use is None or not use.is_at(as_of):
            self._forget(name)
            self._check_number()
            use = self._kept.open(self._caller, self._connect, name, as_of, bounds)
            self._uses[name] = use
        return use, use.through if as_of is None else as_of

    def _found(self, name: str) -> DatasetUse | None:
        """Return a dataset that is still open from an earlier query, and begin to use it."""
        self._check_number()
        use = self._kept.find(self._caller, self._client, name)
        if use is not None:
            self._forget(name)
            self._uses[name] = use
        return use

    def _forget(self, name: str) -> None:
        use = self._uses.pop(name, None)
        if use is not None:
            use.end()

    def _check_number(self) -> None:
        if len(self._uses) == DATASETS_MAX:
            raise ReadError(f"a query reads at most {DATASETS_MAX} datasets")

    def _remote(
        self,
        use: DatasetUse,
        version: int,
        bounds: TimeBounds,
        files: Sequence[DatasetFile],
        adjustment: int = 0,
    ) -> RemoteDataset:
        id_, shown = use.dataset_id, self._opened(use.dataset_id, files)
        return RemoteDataset(id_, version, shown, use.promoted_columns, bounds, adjustment)

    def _opened(self, dataset_id: str, files: Sequence[DatasetFile]) -> tuple[DatasetFile, ...]:
        """Return the files of a dataset as the process sees them, and count their bytes."""
        _check_files(len(files))
        self.opened_bytes[dataset_id] += sum(file.size_bytes for file in files)
        return tuple(map(self._shown, files))

    def _leave_out(self, texts: list[Any]) -> None:
        """Keep warnings for the caller: a few sentences, since a header carries them."""
        for text in map(str, texts):
            log.warning("segment_left_out", text=text[:_WARNING_CHARACTERS_MAX])
            metrics.LEFT_OUT_SEGMENTS.inc()
            if _FURTHER in self.warnings:
                continue
            is_short = len(json.dumps([*self.warnings, text])) < WARNINGS_BYTES_MAX
            self.warnings.append(text if is_short else _FURTHER)

    def _warn(self, texts: list[Any]) -> None:
        """Keep warnings about the query itself, as far as there is room."""
        for text in (str(text)[:_WARNING_CHARACTERS_MAX] for text in texts):
            if len(json.dumps([*self.warnings, text])) < WARNINGS_BYTES_MAX:
                self.warnings.append(text)

    def _shown(self, file: DatasetFile) -> DatasetFile:
        """Return a file as the process sees it: local ones as they are, others by their key."""
        # The override is of the default store.
        store = file.store if store_of(file.key) else self._store or file.store
        if store.provider == "file":
            return replace(file, store=store, url="/" + join_key(store.path, file.key))
        self._files[file.key] = open_store(store), file.size_bytes
        return replace(file, store=StoreLocation(PROVIDER, "", "", "", ""), url=file.key)

    def _read(self, path: str, offset: int, length: int) -> bytes:
        store, size = self._files[path]
        if not (0 <= offset <= size and 0 < length <= wire.READ_BYTES_MAX):
            raise KeyError("range")
        piece = store.get_range(path, offset, length)
        with self._counting:
            self.read_bytes += len(piece)
        return piece

    def check(self) -> str:
        """Return why the query must end, "" if it need not: its files may have been deleted."""
        try:
            for use in tuple(self._uses.values()):
                use.check()
        except PinLost as error:
            return str(error)
        return ""

    def close(self) -> None:
        """End the use of the opened datasets."""
        with self._lock:
            for name in tuple(self._uses):
                self._forget(name)
            self._client.close()


# Answers that are values, read one at a time, by a method of the same name.
_PICKLED = frozenset(("table", "version", "names", "group", "open", "open_group", "newest"))


def _check_files(number: int) -> None:
    if number > FILES_MAX:
        raise ReadError(
            f"the query has to read {number:,} files, at most {FILES_MAX:,} can be: ask for less"
            " time"
        )
