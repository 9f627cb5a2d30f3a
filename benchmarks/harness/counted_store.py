"""A folder store that counts the requests that an object store over a network would get."""

import io
from collections import Counter
from pathlib import Path

from segments.location import StoreLocation
from segments.store.folder import FolderStore
from segments.store.interface import ObjectInfo


class CountedStore(FolderStore):
    """Counts by kind; an opened object counts once, however it is read."""

    requests: Counter[str]

    def __init__(self, location: StoreLocation) -> None:
        super().__init__(location)
        object.__setattr__(self, "requests", Counter())

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        """Count and write."""
        self.requests["put"] += 1
        super().put_if_absent(key, *pieces)

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Count and write."""
        self.requests["put"] += 1
        super().put_file_if_absent(key, path)

    def get(self, key: str) -> bytes:
        """Count and read."""
        self.requests["get"] += 1
        return super().get(key)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Count and read."""
        self.requests["get"] += 1
        return super().get_range(key, start, length)

    def head(self, key: str) -> ObjectInfo:
        """Count and read."""
        self.requests["head"] += 1
        return super().head(key)

    def open_input(self, key: str) -> io.IOBase:
        """Count and open."""
        self.requests["get"] += 1
        return super().open_input(key)
