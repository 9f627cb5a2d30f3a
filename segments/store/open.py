"""Opens object stores: one by its location, or all of a deployment as one."""

import heapq
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from segments.errors import StoreError, StoreUnusable
from segments.keys import DATASETS_ROOT, store_of
from segments.location import StoreLocation, Stores
from segments.store.bucket import BucketStore
from segments.store.folder import FolderStore
from segments.store.interface import ObjectInfo, ObjectStore
from segments.store.timeouts import BRIEF_TIMEOUTS, DEFAULT_TIMEOUTS


@cache
def open_store(location: StoreLocation, *, is_brief: bool = False) -> ObjectStore:
    """Open a store without contacting it; one object per location and process.

    A brief store serves processes with a waiting caller: an unanswered request fails within 15 s,
    not two minutes.
    """
    timeouts = BRIEF_TIMEOUTS if is_brief else DEFAULT_TIMEOUTS
    if location.provider == "file":
        return FolderStore(location)
    if location.provider in ("s3", "gcs", "azure"):
        # Imports the library of a kind when asked for it: a folder needs no boto3.
        return BucketStore(location, timeouts)
    raise StoreUnusable(
        f"object store provider is {location.provider!r}, expected file, s3, gcs or azure"
    )


@cache
def open_stores(stores: Stores, *, is_brief: bool = False) -> ObjectStore:
    """Open the stores of a deployment without contacting them, as `open_store` does."""
    return SeveralStores(stores, is_brief=is_brief)


def store_names(store: ObjectStore) -> tuple[str, ...]:
    """The names of the named stores that a store stands for; none for a single one."""
    names = store.stores.names() if isinstance(store, SeveralStores) else ()
    return tuple(filter(None, names))


@dataclass(frozen=True, slots=True)
class SeveralStores:
    """An ObjectStore over all stores of a deployment.

    A key of a store that is not configured raises StoreUnknown, and never reaches another store.
    """

    stores: Stores
    is_brief: bool = False

    @property
    def location(self) -> StoreLocation:
        """The default store's folder or bucket."""
        return self.stores.default

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        """Write an object, in one piece or several, unless the key has one; raises ObjectExists."""
        self._of(key).put_if_absent(key, *pieces)

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object, like put_if_absent."""
        self._of(key).put_file_if_absent(key, path)

    def get(self, key: str) -> bytes:
        """Read an object whole; raises ObjectMissing."""
        return self._of(key).get(key)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        return self._of(key).get_range(key, start, length)

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time; raises ObjectMissing."""
        return self._of(key).head(key)

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List the objects of all stores that may have keys with the prefix, in one order."""
        store = store_of(prefix)
        names = [store] if store else list(self.stores.names())
        if not (prefix.startswith(DATASETS_ROOT) or DATASETS_ROOT.startswith(prefix)):
            names = [""]
        listings = [self._list_own(name, prefix, start_after) for name in names]
        return heapq.merge(*listings, key=lambda info: info.key.encode())

    def _list_own(self, name: str, prefix: str, start_after: str) -> Iterator[ObjectInfo]:
        """List the objects of one store whose keys name it: two may share a bucket."""
        for info in self._open(name).list(prefix, start_after):
            if store_of(info.key) == name:
                yield info

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those of a store that fails hold up no other store's."""
        by_store: dict[str, list[str]] = {}
        for key in keys:
            by_store.setdefault(store_of(key), []).append(key)
        failures: list[StoreError] = []
        for name, store_keys in by_store.items():
            try:
                self._open(name).delete(store_keys)
            except StoreError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file, fit for pyarrow.PythonFile."""
        return self._of(key).open_input(key)

    def probe(self) -> None:
        """Prove that each store is reachable and never overwrites; raises StoreUnusable."""
        for name in self.stores.names():
            try:
                self._open(name).probe()
            except StoreError as error:
                if not name:
                    raise
                raise type(error)(f"object store {name!r}: {error}") from error

    def now_nanos(self) -> int:
        """The clock that is furthest behind, so that no object seems older than it is."""
        return min(self._open(name).now_nanos() for name in self.stores.names())

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Drop what unfinished writes under prefix left behind; returns how many there were."""
        return sum(
            self._open(name).abort_stale_uploads(prefix, started_before_nanos)
            for name in self.stores.names()
        )

    def _of(self, key: str) -> ObjectStore:
        return self._open(store_of(key))

    def _open(self, name: str) -> ObjectStore:
        return open_store(self.stores.get(name), is_brief=self.is_brief)
