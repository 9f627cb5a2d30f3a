"""The single requests that a store over HTTP is made of; each cloud has its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from segments.errors import StoreUnavailable
from segments.store.upload_body import UploadBody


class WriteConflict(StoreUnavailable):
    """The store wrote nothing because another write of the same name was under way."""


@dataclass(frozen=True, slots=True)
class StoredBody:
    """Bytes that were read, and the checksum that was put with the object, if it has one."""

    body: bytes
    crc: str | None = None


@dataclass(frozen=True, slots=True)
class CloudObject:
    """An object as a listing shows it; name is its key with the location's base path."""

    name: str
    size_bytes: int
    modified_at_nanos: int


class CloudRequests(Protocol):
    """One request each, which is not repeated.

    Besides what each one says, it raises StoreUnavailable if another try may succeed, and
    StoreUnusable or StoreError if not.
    """

    def put(self, name: str, content: UploadBody) -> None:
        """Write an object in one request unless there is one; raises ObjectExists."""
        ...

    def put_parts(self, name: str, content: UploadBody) -> None:
        """Write an object in parts of bounded size; the last request decides, like put."""
        ...

    def read(self, name: str) -> StoredBody:
        """Read an object; raises ObjectMissing."""
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Read bytes, none if the object ends before start; raises ObjectMissing."""
        ...

    def stat(self, name: str) -> CloudObject:
        """Read an object's size and time; raises ObjectMissing."""
        ...

    def page(self, prefix: str, start_at: str) -> tuple[Sequence[CloudObject], bool]:
        """List names from start_at on, in order; true if more follow."""
        ...

    def delete(self, name: str) -> None:
        """Delete an object; an absent one is fine."""
        ...

    def now_nanos(self) -> int:
        """The server's clock; raises StoreUnusable without the bucket."""
        ...
