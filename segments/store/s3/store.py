"""Objects in a bucket of S3 or of a store that speaks its protocol, by boto3."""

import functools
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from segments.errors import ObjectMissing, StoreError, StoreUnusable
from segments.keys import check_key
from segments.location import StoreLocation
from segments.store.interface import ObjectInfo
from segments.store.probe import PROBE_KEY, probe_put_if_absent
from segments.store.range_reader import RangeReader
from segments.store.refusal_causes import brief, passing_cause
from segments.store.s3.client import Target, client_of
from segments.store.s3.errors import FAILURES, BrokenAnswer, code_of, is_missing, refused
from segments.store.s3.read import read_range, read_whole
from segments.store.s3.retry import tries_of
from segments.store.s3.write import complete_parts_if_absent, write_if_absent
from segments.store.timeouts import DEFAULT_TIMEOUTS, PROBE_SECS, RequestTimeouts
from segments.store.upload_body import UploadBody

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import (
        ListMultipartUploadsOutputTypeDef,
        ListObjectsV2OutputTypeDef,
        ObjectIdentifierTypeDef,
    )

DELETE_KEYS_MAX = 1_000

T = TypeVar("T")
Page = TypeVar("Page", "ListObjectsV2OutputTypeDef", "ListMultipartUploadsOutputTypeDef")


@dataclass(frozen=True, slots=True)
class S3Store:
    """The object store over one bucket, below a base path."""

    location: StoreLocation
    timeouts: RequestTimeouts = DEFAULT_TIMEOUTS

    def put_if_absent(self, key: str, body: bytes | memoryview) -> None:
        """Write an object unless the key has one."""
        write_if_absent(self._target(key), UploadBody.of_bytes(bytes(body)))

    def put_pieces_if_absent(self, key: str, pieces: Sequence[bytes]) -> None:
        """Write an object that is in pieces unless the key has one."""
        write_if_absent(self._target(key), UploadBody.of_bytes(b"".join(pieces)))

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object unless the key has one."""
        write_if_absent(self._target(key), UploadBody.of_file(path))

    def get(self, key: str) -> bytes:
        """Read an object whole and check it against the checksum that was put with it."""
        return self._read(key, read_whole)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        if length <= 0:
            return b""
        return self._read(key, lambda target: read_range(target, start, length))

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time."""
        name = self._name(key)
        try:
            reply = tries_of(self.timeouts).run(
                lambda: self._client.head_object(Bucket=self.location.bucket, Key=name)
            )
        except FAILURES as error:
            if not is_missing(error):
                raise refused(error, self.location) from error
            # A HEAD has no body to tell a missing bucket by.
            self.now_nanos()
            raise ObjectMissing(f"no object {key}") from error
        return ObjectInfo(key, reply["ContentLength"], _nanos(reply["LastModified"]))

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List objects by key, in the order of their bytes, 1,000 a request."""
        base, token = self._base, ""
        while True:
            page = self._asked(functools.partial(self._page, prefix, start_after, token))
            for item in page.get("Contents", ()):
                key = item["Key"].removeprefix(base)
                yield ObjectInfo(key, item["Size"], _nanos(item["LastModified"]))
            if not page["IsTruncated"]:
                return
            token = page["NextContinuationToken"]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, 1,000 a request."""
        names: list[ObjectIdentifierTypeDef] = [{"Key": self._name(key)} for key in keys]
        for first in range(0, len(names), DELETE_KEYS_MAX):
            batch = names[first : first + DELETE_KEYS_MAX]
            self._asked(functools.partial(self._delete, batch))

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file over range reads."""
        return RangeReader(functools.partial(self.get_range, key), self.head(key).size_bytes)

    def probe(self) -> None:
        """Prove that the bucket can be reached and that neither kind of write overwrites."""
        brief = replace(self.timeouts, deadline_secs=min(PROBE_SECS, self.timeouts.deadline_secs))
        store = replace(self, timeouts=brief)
        try:
            tries_of(brief).run(lambda: store._client.head_bucket(Bucket=self.location.bucket))
        except FAILURES as error:
            raise refused(error, self.location, is_probe=True) from error
        try:
            probe_put_if_absent(store)
            target = store._target(PROBE_KEY)
            if complete_parts_if_absent(target, UploadBody.of_bytes(b"overwritten")):
                raise StoreUnusable(
                    "the object store ignores If-None-Match: * on CompleteMultipartUpload and so "
                    "overwrites objects; use one that honours it"
                )
        except StoreUnusable:
            raise
        except StoreError as error:
            raise StoreUnusable(
                f"{self.location.url()} failed the start-up check: {error}"
            ) from error

    def now_nanos(self) -> int:
        """The server's clock, from the date of an answer; whole seconds."""
        reply = self._asked(lambda: self._client.head_bucket(Bucket=self.location.bucket))
        return _nanos(parsedate_to_datetime(reply["ResponseMetadata"]["HTTPHeaders"]["date"]))

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Abort the multipart uploads under prefix that were started before the given time."""
        stale, key_marker, id_marker = 0, "", ""
        while True:
            page = self._asked(functools.partial(self._uploads, prefix, key_marker, id_marker))
            for upload in page.get("Uploads", ()):
                if _nanos(upload["Initiated"]) < started_before_nanos:
                    abort = functools.partial(self._abort, upload["Key"], upload["UploadId"])
                    stale += self._asked(abort)
            if not page["IsTruncated"]:
                return stale
            key_marker, id_marker = page["NextKeyMarker"], page.get("NextUploadIdMarker", "")

    @property
    def _client(self) -> "S3Client":
        return client_of(self.location, self.timeouts)

    @property
    def _base(self) -> str:
        return f"{self.location.path}/" if self.location.path else ""

    def _name(self, key: str) -> str:
        return self._base + check_key(key)

    def _target(self, key: str) -> Target:
        return Target(self.location, key, self._name(key), self.timeouts)

    def _asked(self, request: Callable[[], T]) -> T:
        """Make a request until it is answered; every failure is the store's."""
        try:
            return tries_of(self.timeouts).run(request)
        except FAILURES as error:
            raise refused(error, self.location) from error

    def _read(self, key: str, read: Callable[[Target], bytes]) -> bytes:
        target = self._target(key)
        try:
            return read(target)
        except FAILURES as error:
            if is_missing(error):
                raise ObjectMissing(f"no object {key}") from error
            raise refused(error, self.location) from error

    def _page(self, prefix: str, start_after: str, token: str) -> "ListObjectsV2OutputTypeDef":
        base, bucket = self._base, self.location.bucket
        if token:
            page = self._client.list_objects_v2(
                Bucket=bucket, Prefix=base + prefix, ContinuationToken=token
            )
        else:
            after = base + start_after if start_after else ""
            page = self._client.list_objects_v2(
                Bucket=bucket, Prefix=base + prefix, StartAfter=after
            )
        return _checked(page, "NextContinuationToken")

    def _delete(self, names: "Sequence[ObjectIdentifierTypeDef]") -> None:
        reply = self._client.delete_objects(
            Bucket=self.location.bucket, Delete={"Objects": names, "Quiet": True}
        )
        for failure in reply.get("Errors", ()):
            code, reason = failure.get("Code", ""), brief(failure.get("Message", ""))
            message = f"{failure.get('Key')} was not deleted: {code} {reason}".rstrip()
            if code == "AccessDenied" and not passing_cause(code, reason):
                raise StoreUnusable(message)
            if code != "NoSuchKey":
                raise BrokenAnswer(message)

    def _uploads(
        self, prefix: str, key_marker: str, id_marker: str
    ) -> "ListMultipartUploadsOutputTypeDef":
        page = self._client.list_multipart_uploads(
            Bucket=self.location.bucket,
            Prefix=self._base + prefix,
            KeyMarker=key_marker,
            UploadIdMarker=id_marker,
        )
        return _checked(page, "NextKeyMarker")

    def _abort(self, name: str, upload_id: str) -> int:
        try:
            self._client.abort_multipart_upload(
                Bucket=self.location.bucket, Key=name, UploadId=upload_id
            )
        except FAILURES as error:
            if code_of(error) != "NoSuchUpload":
                raise
            return 0
        return 1


def _checked(page: Page, next_page: str) -> Page:
    """Refuse a page that reads as the end of a listing only because something is missing."""
    if page.get("IsTruncated") is None or (page["IsTruncated"] and not page.get(next_page)):
        raise BrokenAnswer("a listing broke off")
    return page


def _nanos(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000_000 + time.microsecond * 1_000
