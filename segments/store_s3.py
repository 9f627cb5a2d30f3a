"""Objects in a bucket of S3 or of a store that speaks its protocol, by boto3."""

import functools
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from segments.errors import ObjectMissing, StoreError, StoreUnavailable, StoreUnusable
from segments.keys import StoreLocation, check_key
from segments.store import ObjectInfo
from segments.store_probe import PROBE_KEY, probe_put_if_absent
from segments.store_reader import RangeReader
from segments.store_s3_errors import code_of, is_missing, refused
from segments.store_s3_write import Content, Target, complete_parts_if_absent, write_if_absent

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import ObjectIdentifierTypeDef

CONNECT_TIMEOUT_SECS = 5
READ_TIMEOUT_SECS = 60
CALL_TRIES = 5
PROBE_TRIES = 2
BODY_TRIES = 3
CONNECTIONS_MAX = 32
DELETE_KEYS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class S3Store:
    """The object store over one bucket, below a base path."""

    location: StoreLocation

    def put_if_absent(self, key: str, body: bytes | memoryview) -> None:
        """Write an object unless one stands there."""
        write_if_absent(self._target(key), Content.of_bytes(bytes(body)))

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object unless one stands there."""
        write_if_absent(self._target(key), Content.of_file(path))

    def get(self, key: str) -> bytes:
        """Read an object whole; botocore checks the checksum where the store keeps one."""
        return self._read(key, "")

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        return self._read(key, f"bytes={start}-{start + length - 1}") if length > 0 else b""

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time."""
        try:
            reply = self._client.head_object(Bucket=self.location.bucket, Key=self._name(key))
        except (ClientError, BotoCoreError) as error:
            if code_of(error) == "404":
                # A HEAD has no body to tell a missing bucket by.
                self.now_nanos()
            raise self._failed(error, key) from error
        return ObjectInfo(key, reply["ContentLength"], _nanos(reply["LastModified"]))

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List objects by key, in the order of their bytes, 1,000 a request."""
        base = self._base
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.location.bucket,
            Prefix=base + prefix,
            StartAfter=base + start_after if start_after else "",
        )
        try:
            for page in pages:
                for item in page.get("Contents", ()):
                    key = item["Key"].removeprefix(base)
                    yield ObjectInfo(key, item["Size"], _nanos(item["LastModified"]))
        except (ClientError, BotoCoreError) as error:
            raise refused(error, self.location) from error

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, 1,000 a request."""
        names: list[ObjectIdentifierTypeDef] = [{"Key": self._name(key)} for key in keys]
        for first in range(0, len(names), DELETE_KEYS_MAX):
            batch = names[first : first + DELETE_KEYS_MAX]
            try:
                reply = self._client.delete_objects(
                    Bucket=self.location.bucket, Delete={"Objects": batch, "Quiet": True}
                )
            except (ClientError, BotoCoreError) as error:
                raise refused(error, self.location) from error
            for failure in reply.get("Errors", ()):
                if failure.get("Code") != "NoSuchKey":
                    raise StoreUnavailable(
                        f"{failure.get('Key')} was not deleted: {failure.get('Code')}"
                    )

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file over range reads."""
        return RangeReader(functools.partial(self.get_range, key), self.head(key).size_bytes)

    def probe(self) -> None:
        """Prove that the bucket can be reached and that neither kind of write overwrites."""
        client = _client_of(self.location, PROBE_TRIES)
        try:
            client.head_bucket(Bucket=self.location.bucket)
        except (ClientError, BotoCoreError) as error:
            raise refused(error, self.location, is_probe=True) from error
        try:
            probe_put_if_absent(self)
            if complete_parts_if_absent(self._target(PROBE_KEY), Content.of_bytes(b"overwritten")):
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
        try:
            reply = self._client.head_bucket(Bucket=self.location.bucket)
        except (ClientError, BotoCoreError) as error:
            raise refused(error, self.location) from error
        return _nanos(parsedate_to_datetime(reply["ResponseMetadata"]["HTTPHeaders"]["date"]))

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Abort the multipart uploads under prefix that were started before the given time."""
        stale = 0
        pages = self._client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self.location.bucket, Prefix=self._base + prefix
        )
        try:
            for page in pages:
                for upload in page.get("Uploads", ()):
                    if _nanos(upload["Initiated"]) < started_before_nanos:
                        stale += self._abort(upload["Key"], upload["UploadId"])
        except (ClientError, BotoCoreError) as error:
            raise refused(error, self.location) from error
        return stale

    @property
    def _client(self) -> "S3Client":
        return _client_of(self.location, CALL_TRIES)

    @property
    def _base(self) -> str:
        return f"{self.location.path}/" if self.location.path else ""

    def _name(self, key: str) -> str:
        return self._base + check_key(key)

    def _target(self, key: str) -> Target:
        return Target(self._client, self.location, key, self._name(key))

    def _failed(self, error: ClientError | BotoCoreError, key: str) -> StoreError:
        if is_missing(error):
            return ObjectMissing(f"no object {key}")
        return refused(error, self.location)

    def _read(self, key: str, byte_range: str) -> bytes:
        for tries_left in reversed(range(BODY_TRIES)):
            try:
                if byte_range:
                    reply = self._client.get_object(
                        Bucket=self.location.bucket, Key=self._name(key), Range=byte_range
                    )
                else:
                    reply = self._client.get_object(
                        Bucket=self.location.bucket, Key=self._name(key)
                    )
            except (ClientError, BotoCoreError) as error:
                if code_of(error) == "InvalidRange":
                    return b""  # Starts at or behind the object's end.
                raise self._failed(error, key) from error
            # Botocore repeats requests, but not a body that breaks off half-way.
            try:
                return reply["Body"].read()
            except BotoCoreError as error:
                if not tries_left:
                    raise refused(error, self.location) from error
        raise AssertionError("unreachable")

    def _abort(self, name: str, upload_id: str) -> int:
        try:
            self._client.abort_multipart_upload(
                Bucket=self.location.bucket, Key=name, UploadId=upload_id
            )
        except ClientError as error:
            if code_of(error) != "NoSuchUpload":
                raise
            return 0
        return 1


def _client_of(location: StoreLocation, tries: int) -> "S3Client":
    # Looked up per call and process: a fork or a pickle must not carry connections along.
    try:
        return _client(os.getpid(), location.endpoint, location.region, tries)
    except (BotoCoreError, ValueError) as error:
        raise StoreUnusable(f"{location.url()} cannot be opened: {error}") from error


@functools.cache
def _client(_process_id: int, endpoint: str, region: str, tries: int) -> "S3Client":
    """One client, so one connection pool, per process and endpoint."""
    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECS,
        read_timeout=READ_TIMEOUT_SECS,
        retries={"mode": "standard", "total_max_attempts": tries},
        max_pool_connections=CONNECTIONS_MAX,
        tcp_keepalive=True,
        # The signature then covers a SHA-256 of the body, which every store checks.
        s3={
            "payload_signing_enabled": True,
            "addressing_style": "path" if endpoint else "auto",
        },
    )
    session = boto3.session.Session()
    return session.client(
        "s3",
        endpoint_url=endpoint or None,
        region_name=region or session.region_name or "us-east-1",
        config=config,
    )


def _nanos(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000_000 + time.microsecond * 1_000
