"""The single requests that a store over HTTP is made of; each protocol has its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from segments.errors import ObjectExists, StoreUnavailable
from segments.store.upload_body import UploadBody


class WriteConflict(StoreUnavailable):
    """The store wrote nothing because another write of the same name was under way."""


class MaybeWritten(ObjectExists):
    """The object exists, and an earlier try of this very request may have written it."""


@dataclass(frozen=True, slots=True)
class StoredBody:
    """Bytes that were read, and the checksum that was put with the object, if it has one."""

    body: bytes
    crc: str | None = None


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object as a listing shows it; name is its key with the location's base path."""

    name: str
    size_bytes: int
    modified_at_nanos: int


@dataclass(frozen=True, slots=True)
class BucketRules:
    """Rules of a bucket; `harmful` has a sentence for each that deletes or archives our objects.

    A bucket with versions keeps those of deleted objects until a rule `ends_versions`.
    """

    is_versioned: bool
    ends_versions: bool = False
    harmful: Sequence[str] = ()


def nanos_of(time: datetime) -> int:
    """A time in nanoseconds since 1970."""
    return int(time.timestamp()) * 1_000_000_000 + time.microsecond * 1_000


class BucketRequests(Protocol):
    """One request each, which is not repeated.

    Besides what each one says, it raises StoreUnavailable if another try may succeed, and
    StoreUnusable or StoreError if not. A request deletes at most `deletes_max` objects.
    """

    deletes_max: int

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

    def stat(self, name: str) -> ListedObject:
        """Read an object's size and time; raises ObjectMissing."""
        ...

    def page(self, prefix: str, start: str, token: str) -> tuple[Sequence[ListedObject], str]:
        """List names from `start` on, in order, or the page of a token; with the next token."""
        ...

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects; an absent one is fine."""
        ...

    def now_nanos(self) -> int:
        """The server's clock; raises StoreUnusable without the bucket."""
        ...

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Drop what unfinished writes left behind, unless the store does so by itself."""
        ...
