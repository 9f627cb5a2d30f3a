"""The interface of an object store."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from segments.location import StoreLocation


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object as a listing shows it; the time is by the store's clock."""

    key: str
    size_bytes: int
    modified_at_nanos: int


class ObjectStore(Protocol):
    """Objects under one location; complete and immutable from the moment their key is seen.

    Every call may raise StoreUnavailable (no answer: try again) and StoreUnusable (no bucket,
    no permission: an operator must act); a key that no store can hold raises ValueError.
    Stores are safe to share between threads and pickle as their location.
    """

    @property
    def location(self) -> StoreLocation:
        """The folder or bucket of the objects."""
        ...

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        """Write an object unless the key has one; raises ObjectExists even if it is equal.

        Its bytes are those of the pieces, one after the other.
        Tries that the call repeats by itself do not count: if an earlier one may have won, an
        equal object is success. After StoreUnavailable the outcome is unknown: call again, and on
        ObjectExists read the object and compare.
        """
        ...

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object, like put_if_absent."""
        ...

    def get(self, key: str) -> bytes:
        """Read an object whole; raises ObjectMissing."""
        ...

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        ...

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time; raises ObjectMissing."""
        ...

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List the objects whose key starts with prefix and lies after start_after, by key.

        Keys order as their UTF-8 bytes do. Objects that are written during the listing may be
        missing.
        """
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; an absent one is fine. On an error some may be deleted already."""
        ...

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file, fit for pyarrow.PythonFile."""
        ...

    def probe(self) -> None:
        """Prove that the store is reachable and never overwrites; raises StoreUnusable."""
        ...

    def now_nanos(self) -> int:
        """The store's own clock, from which the age of its objects follows."""
        ...

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Drop what unfinished writes under prefix left behind; returns how many there were."""
        ...
