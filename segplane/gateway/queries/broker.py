"""Answers to what one query's process asks for; the process may ask for anything."""

import json
import pickle
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import structlog

from meta.client import MetaClient
from meta.errors import (
    DeadlineExceeded,
    MetaError,
    NotFound,
    Overloaded,
    RoleRefused,
    Unauthenticated,
    Unavailable,
)
from segments.errors import ObjectMissing, SegmentsError
from segments.keys import join_key
from segments.location import StoreLocation
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segments.store_names import store_of
from segplane.gateway.http import metrics
from segplane.gateway.http.refusals import (
    NotAllowed,
    NotKnown,
    NotNow,
    QueryRefusal,
)
from segplane.gateway.queries import wire
from segplane.gateway.queries.previews import no_dataset
from segplane.gateway.queries.remote import PROVIDER, RemoteDataset
from segplane.query.errors import QueryError
from segplane.query.tables import CatalogTables
from segplane.read.bounds import TimeBounds
from segplane.read.dataset import OpenDataset
from segplane.read.errors import PinLost, ReadError
from segplane.read.files import DatasetFile, newest_files
from segplane.read.opening import open_through

DATASETS_MAX = 64
FILES_MAX = 100_000
_RETRY_SECS = 2
# Proxies take headers of 8 KiB in all.
WARNINGS_BYTES_MAX = 4_096
_FURTHER = "further segments are left out: `segplane segments list --unreadable` names them"
_WARNING_CHARACTERS_MAX = 1_000
log = structlog.get_logger()


class Broker:
    """Reads the catalog with a caller's rights, and the files that its query opens.

    `failure` is the reason why meta or the store did not answer, if they did not.
    """

    def __init__(self, connect: Callable[[], MetaClient], store: StoreLocation | None) -> None:
        self._connect = connect
        self._store = store
        self._client = connect()
        self._tables = CatalogTables(self._client)
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._stack = ExitStack()
        self._stack.callback(self._client.close)
        self._opened: list[OpenDataset] = []
        self._files: dict[str, tuple[ObjectStore, int]] = {}
        # Called when the process begins with the query.
        self.on_begin: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self.read_bytes = 0
        self.outcome: dict[str, str] | None = None
        # Warnings for the caller about files that are not read.
        self.warnings: list[str] = []
        self.failure: QueryRefusal | None = None

    def serve(self, lane: socket.socket) -> None:
        """Answer the requests of one connection until it ends."""
        while True:
            try:
                request = json.loads(wire.receive(lane, wire.REQUEST_BYTES_MAX))
                wire.send(lane, *self._reply(request))
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
            return wire.REFUSED, f"this is no request: {error!r}".encode()

    def _answer(self, request: Any) -> bytes:
        match request["op"]:
            case "read":
                return self._read(request["path"], request["offset"], request["length"])
            case "table":
                with self._lock:
                    return pickle.dumps(self._tables.get(str(request["name"])))
            case "names":
                with self._lock:
                    return pickle.dumps(tuple(self._tables))
            case "open":
                with self._lock:
                    return pickle.dumps(self._open(request))
            case "newest":
                with self._lock:
                    return pickle.dumps(self._open_newest(request))
            case "left_out":
                self._leave_out(list(request["texts"]))
                return b""
            case "begin":
                self.on_begin()
                return b""
            case "end":
                self.on_end()
                self.outcome = {n: str(request[n]) for n in ("kind", "message", "excerpt")}
                return b""
        raise KeyError(request["op"])

    def _open(self, request: Any) -> RemoteDataset:
        bounds = TimeBounds(request["start"], request["end"])
        columns = [str(name) for name in request["columns"]]
        opened = self._opened_now(str(request["name"]), bounds, columns, request["as_of"])
        return self._remote(opened, opened.files())

    def _open_newest(self, request: Any) -> RemoteDataset:
        """Open the files of a dataset that can hold its newest rows."""
        name, limit = str(request["name"]), int(request["limit"])
        try:
            opened = self._opened_now(name, TimeBounds(), None, None)
        except ReadError as error:
            if isinstance(error.__cause__, NotFound | RoleRefused):
                self.failure = self.failure or no_dataset(name)
            raise
        return self._remote(opened, newest_files(opened.files(), limit))

    def _opened_now(
        self, name: str, bounds: TimeBounds, columns: list[str] | None, as_of: int | None
    ) -> OpenDataset:
        if len(self._opened) == DATASETS_MAX:
            raise ReadError(f"a query reads at most {DATASETS_MAX} datasets")
        # The process looks at files of others: they are not opened here.
        opened = open_through(self._connect(), name, bounds, columns, as_of, looks_at_files=False)
        self._stack.callback(opened.close)
        self._opened.append(opened)
        return opened

    def _remote(self, opened: OpenDataset, files: Sequence[DatasetFile]) -> RemoteDataset:
        if len(files) > FILES_MAX:
            raise ReadError(
                f"the query has to read {len(files):,} files, at most {FILES_MAX:,} can be: ask"
                " for less time"
            )
        shown = tuple(map(self._shown, files))
        return RemoteDataset(opened.dataset_id, opened.version, shown, opened.promoted_columns)

    def _leave_out(self, texts: list[Any]) -> None:
        """Keep warnings for the caller: a few sentences, since a header carries them."""
        for text in map(str, texts):
            log.warning("segment_left_out", text=text[:_WARNING_CHARACTERS_MAX])
            metrics.LEFT_OUT_SEGMENTS.inc()
            if _FURTHER in self.warnings:
                continue
            is_short = len(json.dumps([*self.warnings, text])) < WARNINGS_BYTES_MAX
            self.warnings.append(text if is_short else _FURTHER)

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
            for opened in tuple(self._opened):
                opened.check()
        except PinLost as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Release the opened datasets."""
        with self._lock:
            self._stack.close()


def failure_of(error: Exception) -> QueryRefusal | None:
    """Return the refusal of a request that failed for a reason beyond the query."""
    cause = error if isinstance(error, MetaError) else error.__cause__
    match cause if isinstance(cause, MetaError) else error:
        case Unavailable() | Overloaded() | DeadlineExceeded():
            return NotNow(f"the metadata server cannot answer now: {error}", "", _RETRY_SECS)
        case Unauthenticated():
            return NotKnown("the token is unknown, expired or revoked: create another one")
        case RoleRefused():
            return NotAllowed(str(error))
        case SegmentsError():
            return NotNow(f"the object store cannot be used now: {error}", "", _RETRY_SECS)
    return None
