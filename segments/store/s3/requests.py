"""Requests of S3's protocol, by boto3.

S3 sends no checksum with a range and none with an object put in parts that could be checked. So
each object carries one of its own as metadata, and a range is held against its own description.
boto3's transfer manager takes no condition for an upload in parts: it is made of single requests.
"""

import base64
import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError

from segments.errors import ObjectExists, StoreError, StoreUnavailable, StoreUnusable
from segments.location import StoreLocation
from segments.store import credentials
from segments.store.credentials import BucketKeys
from segments.store.refusal_causes import brief, passing_cause
from segments.store.requests import (
    ListedObject,
    MaybeWritten,
    StoredBody,
    WriteConflict,
    nanos_of,
)
from segments.store.retry import Tries
from segments.store.s3.errors import FAILURES, code_of, refused
from segments.store.timeouts import RequestTimeouts
from segments.store.upload_body import CRC_NAME, UploadBody

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import CompletedPartTypeDef, GetObjectOutputTypeDef

CONNECTIONS_MAX = 32
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


class S3Requests:
    """A bucket of S3 or of a store that speaks its protocol."""

    deletes_max = 1_000

    def __init__(self, location: StoreLocation, timeouts: RequestTimeouts) -> None:
        self._location = location
        self._timeouts = timeouts

    def put(self, name: str, content: UploadBody) -> None:
        """Write an object in one request unless there is one."""
        with content.open() as source:
            body = source.read()
        digest = _sha256(body)
        with self._errors():
            reply = self._client.put_object(
                Bucket=self._location.bucket,
                Key=name,
                Body=body,
                IfNoneMatch="*",
                ChecksumSHA256=digest,
                Metadata={CRC_NAME: content.crc()},
            )
        _check_echo(name, digest, reply.get("ChecksumSHA256"))

    def put_parts(self, name: str, content: UploadBody) -> None:
        """Write an object in parts, each of which is repeated by itself, unless there is one."""
        metadata = {CRC_NAME: content.crc()}
        with self._errors():
            upload_id = self._client.create_multipart_upload(
                Bucket=self._location.bucket,
                Key=name,
                ChecksumAlgorithm="SHA256",
                Metadata=metadata,
            )["UploadId"]
        try:
            parts = [
                self._put_part(name, upload_id, number, body)
                for number, body in enumerate(content.parts(), start=1)
            ]
            self._complete(name, upload_id, parts)
        except BaseException:
            # The janitor aborts what cannot be aborted now.
            with contextlib.suppress(StoreError):
                self._abort(name, upload_id)
            raise

    def read(self, name: str) -> StoredBody:
        """Read an object and its checksum."""
        with self._errors():
            reply = self._client.get_object(Bucket=self._location.bucket, Key=name)
            return StoredBody(reply["Body"].read(), reply.get("Metadata", {}).get(CRC_NAME))

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Read bytes, none if the object ends before start."""
        asked = f"bytes={start}-{start + length - 1}"
        with self._errors():
            try:
                reply = self._client.get_object(Bucket=self._location.bucket, Key=name, Range=asked)
            except FAILURES as error:
                if code_of(error) == "InvalidRange":
                    return b""
                raise
            _check_range(reply, start)
            return reply["Body"].read()

    def stat(self, name: str) -> ListedObject:
        """Read an object's size and time."""
        with self._errors():
            reply = self._client.head_object(Bucket=self._location.bucket, Key=name)
        return ListedObject(name, reply["ContentLength"], nanos_of(reply["LastModified"]))

    def page(self, prefix: str, start: str, token: str) -> tuple[Sequence[ListedObject], str]:
        """List names behind `start`, in the order of their bytes."""
        bucket = self._location.bucket
        with self._errors():
            page = (
                self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, ContinuationToken=token)
                if token
                else self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, StartAfter=start)
            )
        token = page.get("NextContinuationToken", "") if page.get("IsTruncated") else ""
        # It must not read as the end of a listing only because something is missing.
        if page.get("IsTruncated") is None or (page["IsTruncated"] and not token):
            raise StoreUnavailable("a listing broke off")
        return [
            ListedObject(item["Key"], item["Size"], nanos_of(item["LastModified"]))
            for item in page.get("Contents", ())
        ], token

    def delete(self, names: Sequence[str]) -> None:
        """Delete objects in one request."""
        with self._errors():
            reply = self._client.delete_objects(
                Bucket=self._location.bucket,
                Delete={"Objects": [{"Key": name} for name in names], "Quiet": True},
            )
        for failure in reply.get("Errors", ()):
            code, reason = failure.get("Code", ""), brief(failure.get("Message", ""))
            message = f"{failure.get('Key')} was not deleted: {code} {reason}".rstrip()
            if code == "AccessDenied" and not passing_cause(code, reason):
                raise StoreUnusable(message)
            if code != "NoSuchKey":
                raise StoreUnavailable(message)

    def now_nanos(self) -> int:
        """The server's clock, from the date of an answer."""
        with self._errors():
            reply = self._client.head_bucket(Bucket=self._location.bucket)
        return nanos_of(parsedate_to_datetime(reply["ResponseMetadata"]["HTTPHeaders"]["date"]))

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:
        """Abort the uploads under a prefix that were started before the given time."""
        stale = 0
        with self._errors():
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=self._location.bucket, Prefix=prefix):
                for upload in page.get("Uploads", ()):
                    if nanos_of(upload["Initiated"]) < started_before_nanos:
                        stale += self._abort(upload["Key"], upload["UploadId"])
        return stale

    @property
    def _client(self) -> "S3Client":
        return client_of(self._location, self._timeouts)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise the failures of a request as those of a store."""
        try:
            yield
        # TLS finds that a record was changed while the body is read.
        except (*FAILURES, HTTPError) as error:
            raise refused(error, self._location) from error

    def _put_part(
        self, name: str, upload_id: str, number: int, body: bytes
    ) -> "CompletedPartTypeDef":
        digest = _sha256(body)

        def put() -> "CompletedPartTypeDef":
            with self._errors():
                reply = self._client.upload_part(
                    Bucket=self._location.bucket,
                    Key=name,
                    UploadId=upload_id,
                    PartNumber=number,
                    Body=body,
                    ChecksumSHA256=digest,
                )
            _check_echo(name, digest, reply.get("ChecksumSHA256"))
            return {"PartNumber": number, "ETag": reply["ETag"], "ChecksumSHA256": digest}

        return Tries(self._timeouts, repeats_conflicts=False).run(put)

    def _complete(self, name: str, upload_id: str, parts: "Sequence[CompletedPartTypeDef]") -> None:
        def complete() -> None:
            with self._errors():
                self._client.complete_multipart_upload(
                    Bucket=self._location.bucket,
                    Key=name,
                    UploadId=upload_id,
                    IfNoneMatch="*",
                    MultipartUpload={"Parts": parts},
                )

        # An upload that met a conflict, or was aborted, is of no more use: another is begun.
        tries = Tries(self._timeouts, repeats_conflicts=False)
        try:
            tries.run(complete)
        except ObjectExists as error:
            raise (MaybeWritten if tries.may_have_won else ObjectExists)(str(error)) from error
        except WriteConflict as error:
            # The first try may have completed it, and then the second finds no upload.
            raise (StoreUnavailable if tries.may_have_won else WriteConflict)(str(error)) from error

    def _abort(self, name: str, upload_id: str) -> int:
        try:
            with self._errors():
                self._client.abort_multipart_upload(
                    Bucket=self._location.bucket, Key=name, UploadId=upload_id
                )
        except WriteConflict:
            return 0
        return 1


def client_of(location: StoreLocation, timeouts: RequestTimeouts) -> "S3Client":
    """Give this process's client; raises StoreUnusable if the location makes no sense."""
    # Looked up per call and process: a fork or a pickle must not carry connections along.
    try:
        keys = credentials.keys_of(location)
        trusted = credentials.ca_file()
        return _client(os.getpid(), location.endpoint, location.region, timeouts, keys, trusted)
    except (BotoCoreError, ValueError) as error:
        raise StoreUnusable(f"{location.url()} cannot be opened: {error}") from error


@functools.cache
def _client(
    _process_id: int,
    endpoint: str,
    region: str,
    timeouts: RequestTimeouts,
    keys: BucketKeys,
    ca_file: str | None,
) -> "S3Client":
    config = Config(
        connect_timeout=timeouts.connect_secs,
        read_timeout=timeouts.silence_secs,
        # Repeated by `Tries`: botocore has no deadline, and repeats no body that breaks off.
        retries={"mode": "standard", "total_max_attempts": 1},
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
        verify=ca_file,
        aws_access_key_id=keys.access_key_id,
        aws_secret_access_key=keys.secret_access_key,
        aws_session_token=keys.session_token,
    )


def _check_range(reply: "GetObjectOutputTypeDef", start: int) -> None:
    """Refuse an answer of other bytes, such as all of the object: too much to read."""
    said = _RANGE.fullmatch(reply.get("ContentRange", ""))
    if said is None or int(said[1]) != start:
        raise StoreUnavailable(f"asked for bytes from {start} on, got {reply.get('ContentRange')}")


def _check_echo(name: str, sent: str, stored: str | None) -> None:
    # A store without checksums answers none; the signature has covered the body then.
    if stored is not None and stored != sent:
        raise StoreError(f"the store holds other bytes of {name} than were sent")


def _sha256(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()
