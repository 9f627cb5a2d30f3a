"""File systems of pyarrow whose files are read by our own code, and never written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import fs

from segments.errors import ObjectMissing
from segments.keys import join_key
from segments.location import StoreLocation
from segments.store.open import open_store


class ReadOnlyFiles(fs.FileSystemHandler):
    """The part of a file system that readers need; a subclass opens files and gives their sizes."""

    kind = ""

    def open_file(self, path: str) -> Any:
        """Open a file of Python. Raises OSError, SegmentsError."""
        raise NotImplementedError

    def size(self, path: str) -> int | None:
        """Return the size of a file, None if there is none."""
        raise NotImplementedError

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file."""
        return pa.PythonFile(self.open_file(path), "r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file."""
        return self.open_input_file(path)

    def get_type_name(self) -> str:
        """Return the kind of the store."""
        return self.kind

    def normalize_path(self, path: str) -> str:
        """Return the path."""
        return path

    def get_file_info(self, paths: str | list[str]) -> list[fs.FileInfo]:
        """Return sizes."""
        return [self._info(path) for path in ([paths] if isinstance(paths, str) else paths)]

    def _info(self, path: str) -> fs.FileInfo:
        size = self.size(path)
        if size is None:
            return fs.FileInfo(path, fs.FileType.NotFound)
        return fs.FileInfo(path, fs.FileType.File, size=size)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("files are read, and nothing else")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = _refuse
    delete_root_dir_contents = delete_file = move = copy_file = _refuse
    open_output_stream = open_append_stream = _refuse


class StoreFiles(ReadOnlyFiles):
    """The objects of a store, by their bucket, the location's base path and their key."""

    def __init__(self, location: StoreLocation) -> None:
        self.kind = location.provider
        self._store = open_store(location)
        self._base = join_key(location.bucket, location.path) + "/"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreFiles) and self._store == other._store

    def __hash__(self) -> int:
        return hash(self._store)

    def open_file(self, path: str) -> Any:
        """Open an object. Raises StoreError."""
        return self._store.open_input(path.removeprefix(self._base))

    def size(self, path: str) -> int | None:
        """Return an object's size, None if there is none."""
        try:
            return self._store.head(path.removeprefix(self._base)).size_bytes
        except ObjectMissing:
            return None
