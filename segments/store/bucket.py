"""The object store over a bucket of S3 or Google Cloud Storage, or a container of Azure."""

import functools
import io
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import google_crc32c

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.keys import check_key
from segments.location import StoreLocation
from segments.request_counts import count_writes
from segments.self_checks import StoreUse, store_used
from segments.store.interface import ObjectInfo
from segments.store.probe import PROBE_KEY, probe_put_if_absent
from segments.store.range_reader import RangeReader
from segments.store.requests import BucketRequests, ListedObject, MaybeWritten
from segments.store.retry import Tries
from segments.store.timeouts import DEFAULT_TIMEOUTS, PROBE_SECS, RequestTimeouts
from segments.store.upload_body import PART_BYTES, UploadBody, crc_text

DELETES_AT_ONCE = 16
COMPARE_BYTES = 8 << 20

# Azure takes a backslash for a slash, and lists by the units of UTF-16.
_AZURE_CHANGES = re.compile("[\\\\\U00010000-\U0010ffff]")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BucketStore:
    """The object store over one bucket or container, below a base path."""

    location: StoreLocation
    timeouts: RequestTimeouts = DEFAULT_TIMEOUTS

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        """Write an object unless the key has one."""
        self._write(key, UploadBody.of_bytes(b"".join(pieces)))

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object unless the key has one."""
        self._write(key, UploadBody.of_file(path))

    def get(self, key: str) -> bytes:
        """Read an object whole and check it against the checksum that was put with it."""
        return self._of_object(key, lambda: self._read_whole(key))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        if length <= 0:
            return b""
        return self._of_object(key, lambda: self._read_range(key, start, length))

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time."""
        stat = self._of_object(key, lambda: self._requests.stat(self._name(key)))
        return ObjectInfo(key, stat.size_bytes, stat.modified_at_nanos)

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List objects by key, in the order of their bytes, a page of them a request."""
        base, token = self._base, ""
        start = last = base + start_after if start_after else ""
        while True:
            request = functools.partial(self._page, base + prefix, start, token)
            page, token = self._asked(StoreUse.LIST, request)
            for item in page:
                # A page may begin at the name that the one before ended with.
                if item.name > last or not last:
                    key = item.name.removeprefix(base)
                    yield ObjectInfo(key, item.size_bytes, item.modified_at_nanos)
            last = page[-1].name if page else last
            if not token:
                return

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, several requests at a time."""
        names = [self._name(key) for key in keys]
        if not names:
            return
        most = self._requests.deletes_max
        batches = [names[first : first + most] for first in range(0, len(names), most)]
        with ThreadPoolExecutor(min(DELETES_AT_ONCE, len(batches))) as pool:
            for done in [pool.submit(self._delete, batch) for batch in batches]:
                done.result()

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file over range reads."""
        return RangeReader(functools.partial(self.get_range, key), self.head(key).size_bytes)

    def probe(self) -> None:
        """Prove that the bucket can be reached and that neither kind of write overwrites."""
        brief = replace(self.timeouts, deadline_secs=min(PROBE_SECS, self.timeouts.deadline_secs))
        store = replace(self, timeouts=brief)
        try:
            store.now_nanos()
            probe_put_if_absent(store)
            store._probe_parts()
        except StoreUnusable:
            raise
        except StoreError as error:
            raise StoreUnusable(
                f"{self.location.url()} failed the start-up check: {error}"
            ) from error

    def now_nanos(self) -> int:
        """The server's clock, from the date of an answer; whole seconds."""
        # Each provider takes the right to list for it.
        return self._asked(StoreUse.LIST, self._requests.now_nanos)

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Abort unfinished uploads, unless the store does so by itself."""
        abort = self._requests.abort_stale_uploads
        return self._asked(
            StoreUse.ABORT_UPLOADS, lambda: abort(self._base + prefix, started_before_nanos)
        )

    @property
    def _requests(self) -> BucketRequests:
        return requests_of(self.location, self.timeouts)

    @property
    def _base(self) -> str:
        return f"{self.location.path}/" if self.location.path else ""

    def _name(self, key: str) -> str:
        if self.location.provider == "azure" and _AZURE_CHANGES.search(key):
            raise ValueError("Azure keeps no key with a backslash or a character beyond U+FFFF")
        return self._base + check_key(key)

    def _asked(self, use: StoreUse, request: Callable[[], T]) -> T:
        with store_used(self.location, use):
            return Tries(self.timeouts).run(request)

    def _of_object(self, key: str, request: Callable[[], T]) -> T:
        with store_used(self.location, StoreUse.READ):
            try:
                return Tries(self.timeouts).run(request)
            except ObjectMissing:
                self._require_bucket()
                raise ObjectMissing(f"no object {key}") from None

    def _require_bucket(self) -> None:
        # The clouds answer a missing bucket like a missing object.
        Tries(self.timeouts).run(self._requests.now_nanos)

    def _write(self, key: str, content: UploadBody) -> None:
        with store_used(self.location, StoreUse.WRITE):
            self._write_new(key, content)

    def _write_new(self, key: str, content: UploadBody) -> None:
        name, tries = self._name(key), Tries(self.timeouts)
        requests = self._requests
        is_whole = content.size_bytes <= PART_BYTES
        put = requests.put if is_whole else requests.put_parts
        try:
            tries.run(lambda: put(name, content))
            if not is_whole:
                # A request a part, and another for the beginning; the last one is the use itself.
                count_writes(1 + math.ceil(content.size_bytes / PART_BYTES))
        except ObjectExists as error:
            may_have_won = tries.may_have_won or isinstance(error, MaybeWritten)
            if not (may_have_won and self._stands(key, content)):
                raise ObjectExists(f"object {key} exists") from None
        except ObjectMissing:
            self._require_bucket()
            raise StoreUnavailable(f"{self.location.url()} did not take {key}") from None

    def _stands(self, key: str, content: UploadBody) -> bool:
        """True if the object is exactly this content."""
        try:
            if content.size_bytes <= PART_BYTES:
                # Compared with its own checksum too: damage on the way would make it another's.
                with content.open() as source:
                    return self.get(key) == source.read()
            if self.head(key).size_bytes != content.size_bytes:
                return False
        except ObjectMissing:
            return False
        with content.open() as source:
            start = 0
            while piece := source.read(COMPARE_BYTES):
                if self.get_range(key, start, len(piece)) != piece:
                    return False
                start += len(piece)
        return True

    def _read_whole(self, key: str) -> bytes:
        stored = self._requests.read(self._name(key))
        # Another program's object says nothing of itself.
        if stored.crc is not None and crc_text(google_crc32c.value(stored.body)) != stored.crc:
            raise StoreUnavailable(f"the bytes of {key} are not those that were put")
        return stored.body

    def _read_range(self, key: str, start: int, length: int) -> bytes:
        name = self._name(key)
        body = self._requests.read_range(name, start, length)
        if len(body) != length:
            size_bytes = self._requests.stat(name).size_bytes
            expected = max(0, min(length, size_bytes - start))
            if len(body) != expected:
                raise StoreUnavailable(
                    f"{key} gave {len(body)} bytes from {start} on, not {expected}"
                )
        return body

    def _page(self, prefix: str, start: str, token: str) -> tuple[Sequence[ListedObject], str]:
        return self._requests.page(prefix, start, token)

    def _delete(self, names: Sequence[str]) -> None:
        self._asked(StoreUse.DELETE, lambda: self._requests.delete(names))

    def _probe_parts(self) -> None:
        content, name = UploadBody.of_bytes(b"overwritten"), self._name(PROBE_KEY)
        try:
            self._asked(StoreUse.WRITE, lambda: self._requests.put_parts(name, content))
        except ObjectExists:
            return
        raise StoreUnusable(
            "the object store ignores the condition of an upload in parts (of S3's protocol, "
            "If-None-Match: * on CompleteMultipartUpload) and so overwrites objects"
        )


def requests_of(location: StoreLocation, timeouts: RequestTimeouts) -> BucketRequests:
    """Give this process's client; raises StoreUnusable without its library or credentials."""
    # Looked up per call and process: a fork or a pickle must not carry connections along.
    return _requests(os.getpid(), location, timeouts)


@functools.cache
def _requests(
    _process_id: int, location: StoreLocation, timeouts: RequestTimeouts
) -> BucketRequests:
    try:
        if location.provider == "s3":
            from segments.store.s3.requests import S3Requests

            return S3Requests(location, timeouts)
        if location.provider == "gcs":
            from segments.store.cloud.gcs import GcsRequests

            return GcsRequests(location, timeouts)
        from segments.store.cloud.azure import AzureRequests

        return AzureRequests(location, timeouts)
    except ImportError as error:
        raise StoreUnusable(
            f"{location.url()} needs a package that is not installed ({error.name}): "
            f'pip install "segplane[{location.provider}]"'
        ) from error
