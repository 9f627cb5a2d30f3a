"""Requests of a query's process to the gateway: tables, opened datasets, bytes of files."""

from __future__ import annotations

import io
import json
import pickle
import queue
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pyarrow import fs

from dataplane.processes.child_process import receive, send
from kql.pushdown.reads import DatasetRead
from kql.scope import GroupedTables
from meta.v1 import common_pb2
from segments.signals import SIGNALS
from segplane.gateway.queries.processes.wire import DONE, MISSING, READ_BYTES_MAX, REPLY_BYTES_MAX
from segplane.query.errors import QueryError
from segplane.query.tables import NamedTable
from segplane.read.bounds import TimeBounds
from segplane.read.dataset import OpenDataset
from segplane.read.errors import ReadError
from segplane.read.files.files import DatasetFile
from segplane.read.files.filesystems import path_of, provide
from segplane.read.files.left_out import readable, texts
from segplane.read.files.store_files import ReadOnlyFiles
from segplane.read.group_opening import GroupFiles, MemberRead, hull
from segplane.read.pins import VersionPin

# Stores of this kind are read through the gateway.
PROVIDER = "gateway"


@dataclass(frozen=True, slots=True)
class RemoteDataset:
    """A dataset that the gateway has opened and keeps from deletion."""

    dataset_id: str
    version: int
    files: tuple[DatasetFile, ...]
    promoted: tuple[common_pb2.PromotedColumn, ...]
    # Bounds of time without the adjustment.
    bounds: TimeBounds
    time_adjustment: int = 0


class FileMissing(QueryError):
    """The store has no such object."""


class Lanes:
    """Connections to the gateway; each carries one request at a time."""

    def __init__(self, lanes: Sequence[socket.socket]) -> None:
        self._free: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        for lane in lanes:
            self._free.put(lane)

    def ask(self, **request: Any) -> bytes:
        """Return the reply to a request. Raises QueryError with the gateway's reason."""
        lane = self._free.get()
        try:
            send(lane, json.dumps(request).encode())
            reply = receive(lane, REPLY_BYTES_MAX)
        finally:
            self._free.put(lane)
        if reply[:1] == MISSING:
            raise FileMissing(reply[1:].decode())
        if reply[:1] != DONE:
            raise QueryError(reply[1:].decode())
        return bytes(memoryview(reply)[1:])

    def ask_value(self, **request: Any) -> Any:
        """Return the value that a request asks for. Raises QueryError."""
        # The gateway's own: it trusts us with nothing, and we it with everything.
        return pickle.loads(self.ask(**request))  # noqa: S301


class RemoteTables(GroupedTables):
    """Datasets and views by name, as the caller may see them."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._known: dict[str, NamedTable | None] = {}
        self._names: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> NamedTable:
        if name not in self._known:
            self._known[name] = self._lanes.ask_value(op="table", name=name)
        table = self._known[name]
        if table is None:
            raise KeyError(name)
        return table

    def names_in(self, group: str, most: int) -> Sequence[str]:
        """Return the names of a group's datasets. Raises QueryError."""
        names, tables = self._lanes.ask_value(op="group", name=group, most=most)
        self._known.update(tables)
        in_group: Sequence[str] = names
        return in_group

    def __iter__(self) -> Iterator[str]:
        if self._names is None:
            self._names = self._lanes.ask_value(op="names")
        return iter(self._names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _RemotePin(VersionPin):
    """A pin that the gateway keeps: it ends this process if it is lost."""

    def __init__(self, dataset_id: str, version: int) -> None:
        self.dataset_id, self.version = dataset_id, version

    def check(self) -> None:
        """Do nothing."""

    def verify(self) -> None:
        """Do nothing."""

    def keep_for(self, user: object, *, is_lazy: bool = False) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def open_remote(
    lanes: Lanes, adjusts_time: bool, read: DatasetRead, bounds: TimeBounds, as_of: int | None
) -> OpenDataset:
    """Open a dataset through the gateway. Raises ReadError."""
    try:
        opened: RemoteDataset = lanes.ask_value(
            op="open",
            name=read.name,
            columns=list(read.columns),
            start=bounds.start,
            end=bounds.end,
            as_of=as_of,
            adjusts_time=adjusts_time,
        )
    except QueryError as error:
        raise ReadError(str(error)) from None
    return _dataset(lanes, read.name, opened, read.columns).checked()


@contextmanager
def open_remote_group(
    lanes: Lanes, reads: Sequence[MemberRead], as_of: int | None
) -> Iterator[tuple[OpenDataset, ...]]:
    """Open datasets of groups through the gateway. Raises ReadError."""
    bounds = hull(reads)
    try:
        listed: GroupFiles = lanes.ask_value(
            op="open_group",
            ids=[read.member.dataset_id for read in reads],
            start=bounds.start,
            end=bounds.end,
            as_of=as_of,
        )
    except QueryError as error:
        raise ReadError(str(error)) from None
    _learn_sizes(lanes, chain.from_iterable(listed.files.values()))
    pins = (_RemotePin(read.member.dataset_id, listed.version) for read in reads)
    opened = tuple(listed.opened(read, pin) for read, pin in zip(reads, pins, strict=True))
    if left_out := [item for dataset in opened for item in dataset.left_out]:
        lanes.ask(op="left_out", texts=texts(left_out))
    yield opened


def open_empty(read: DatasetRead, bounds: TimeBounds, as_of: int | None) -> OpenDataset:
    """Open a dataset without files, which needs no gateway."""
    return OpenDataset(read.name, _RemotePin("", as_of or 0), SIGNALS, bounds, (), (), read.columns)


def open_newest(lanes: Lanes, name: str, limit: int) -> OpenDataset:
    """Open those files of a dataset that can hold its newest rows. Raises QueryError."""
    opened: RemoteDataset = lanes.ask_value(op="newest", name=name, limit=limit)
    return _dataset(lanes, name, opened, None)


def _dataset(
    lanes: Lanes,
    name: str,
    opened: RemoteDataset,
    columns: Sequence[str] | None,
) -> OpenDataset:
    _learn_sizes(lanes, opened.files)
    pin = _RemotePin(opened.dataset_id, opened.version)
    files, left_out = readable(name, opened.files)
    if left_out:
        lanes.ask(op="left_out", texts=texts(left_out))
    return OpenDataset(
        name,
        pin,
        SIGNALS,
        opened.bounds,
        files,
        opened.promoted,
        columns,
        time_adjustment=opened.time_adjustment,
    )


def _learn_sizes(lanes: Lanes, files: Iterable[DatasetFile]) -> None:
    sizes = {path_of(f): f.size_bytes for f in files if f.store.provider == PROVIDER}
    _RemoteFiles.of(lanes).sizes.update(sizes)


class _RemoteFiles(ReadOnlyFiles):
    """Files that the gateway reads for this process; no others are there."""

    kind = PROVIDER
    _only: _RemoteFiles | None = None

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.sizes: dict[str, int] = {}

    @classmethod
    def of(cls, lanes: Lanes) -> _RemoteFiles:
        """Return the process's one, known to readers from its first use on."""
        if cls._only is None:
            cls._only = cls(lanes)
            provide(PROVIDER, fs.PyFileSystem(cls._only))
        return cls._only

    def open_file(self, path: str) -> _RemoteFile:
        """Open a file by its key."""
        return _RemoteFile(self._lanes, path, self.sizes[path])

    def size(self, path: str) -> int:
        """Return a file's size."""
        return self.sizes[path]


class _RemoteFile(io.RawIOBase):
    """One file, read piece by piece."""

    def __init__(self, lanes: Lanes, path: str, size: int) -> None:
        self._lanes, self._path, self._size = lanes, path, size
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(0, start + offset)
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        """Read so many bytes, or all. Raises OSError."""
        remaining = max(0, self._size - self._place)
        remaining = remaining if size is None or size < 0 else min(size, remaining)
        pieces = []
        while remaining:
            piece = self._piece(min(remaining, READ_BYTES_MAX))
            pieces.append(piece)
            self._place += len(piece)
            remaining -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, length: int) -> bytes:
        try:
            piece = self._lanes.ask(op="read", path=self._path, offset=self._place, length=length)
        except FileMissing as error:
            raise FileNotFoundError(str(error)) from None
        except QueryError as error:
            raise OSError(str(error)) from None
        if not piece:
            raise OSError(f"{self._path} ends before its size")
        return piece
