"""Put-if-absent over S3: one PUT, or by hand in parts; the condition always decides last.

boto3's transfer manager takes no condition for a multipart upload, hence the second.
"""

import base64
import contextlib
import hashlib
import io
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError

from segments.errors import ObjectExists, StoreError, StoreUnavailable
from segments.keys import StoreLocation
from segments.store_s3_errors import code_of, refused, was_repeated

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 16 << 20
PARTS_MAX = 10_000
CONFLICT_TRIES = 5
CONFLICT_WAIT_SECS = 0.2
COMPARE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """Where a write goes; name is the key with the location's base path."""

    client: "S3Client"
    location: StoreLocation
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes to write, readable from the start as often as needed."""

    size_bytes: int
    open: Callable[[], BinaryIO]

    @classmethod
    def of_bytes(cls, body: bytes) -> "Content":
        """Bytes in memory."""
        return cls(len(body), lambda: io.BytesIO(body))

    @classmethod
    def of_file(cls, path: Path) -> "Content":
        """A local file that nobody writes to meanwhile."""
        return cls(path.stat().st_size, lambda: path.open("rb"))

    def parts(self) -> Iterator[bytes]:
        """The bytes in pieces fit for a multipart upload."""
        size_bytes = max(PART_BYTES, -(-self.size_bytes // PARTS_MAX))
        with self.open() as source:
            while piece := source.read(size_bytes):
                yield piece


def write_if_absent(target: Target, content: Content) -> None:
    """Write an object unless one stands there; raises ObjectExists.

    Two writers at once may both be told 409 Conflict; then each tries again.
    """
    may_have_won = False
    for tries_left in reversed(range(CONFLICT_TRIES)):
        try:
            if content.size_bytes <= PART_BYTES:
                _put_whole(target, content)
            else:
                _put_parts(target, content)
            return
        except ClientError as error:
            may_have_won = may_have_won or was_repeated(error)
            if code_of(error) not in ("ConditionalRequestConflict", "PreconditionFailed"):
                raise refused(error, target.location) from error
            if code_of(error) == "PreconditionFailed":
                if may_have_won and _stands(target, content):
                    return
                raise ObjectExists(f"object {target.key} exists") from error
            if not tries_left:
                raise StoreUnavailable(f"object {target.key} is being written by others") from error
        except BotoCoreError as error:
            raise refused(error, target.location) from error
        time.sleep(CONFLICT_WAIT_SECS * (1 + random.random()))


def complete_parts_if_absent(target: Target, content: Content) -> bool:
    """Try a multipart upload in one part; False if its condition failed, as a probe hopes."""
    try:
        _put_parts(target, content)
    except ClientError as error:
        if code_of(error) == "PreconditionFailed":
            return False
        raise refused(error, target.location) from error
    except BotoCoreError as error:
        raise refused(error, target.location) from error
    return True


def _put_whole(target: Target, content: Content) -> None:
    with content.open() as source:
        body = source.read()
    digest = _sha256(body)
    reply = target.client.put_object(
        Bucket=target.location.bucket,
        Key=target.name,
        Body=body,
        IfNoneMatch="*",
        ChecksumSHA256=digest,
    )
    _check_echo(target, digest, reply.get("ChecksumSHA256"))


def _put_parts(target: Target, content: Content) -> None:
    bucket = target.location.bucket
    upload_id = target.client.create_multipart_upload(
        Bucket=bucket, Key=target.name, ChecksumAlgorithm="SHA256"
    )["UploadId"]
    try:
        parts = [
            _put_part(target, upload_id, number, body)
            for number, body in enumerate(content.parts(), start=1)
        ]
        _complete(target, content, upload_id, parts)
    except BaseException:
        # What cannot be aborted now is left to the janitor.
        with contextlib.suppress(ClientError, BotoCoreError):
            target.client.abort_multipart_upload(Bucket=bucket, Key=target.name, UploadId=upload_id)
        raise


def _put_part(target: Target, upload_id: str, number: int, body: bytes) -> "CompletedPartTypeDef":
    digest = _sha256(body)
    reply = target.client.upload_part(
        Bucket=target.location.bucket,
        Key=target.name,
        UploadId=upload_id,
        PartNumber=number,
        Body=body,
        ChecksumSHA256=digest,
    )
    _check_echo(target, digest, reply.get("ChecksumSHA256"))
    return {"PartNumber": number, "ETag": reply["ETag"], "ChecksumSHA256": digest}


def _complete(
    target: Target, content: Content, upload_id: str, parts: "list[CompletedPartTypeDef]"
) -> None:
    try:
        target.client.complete_multipart_upload(
            Bucket=target.location.bucket,
            Key=target.name,
            UploadId=upload_id,
            IfNoneMatch="*",
            MultipartUpload={"Parts": parts},
        )
    except ClientError as error:
        # The first try may have completed it, and then the second finds no upload.
        if code_of(error) != "NoSuchUpload":
            raise
        if not (was_repeated(error) and _stands(target, content)):
            raise StoreUnavailable(f"the upload of {target.key} was aborted by others") from error


def _stands(target: Target, content: Content) -> bool:
    """Whether the object is exactly this content."""
    try:
        reply = target.client.get_object(Bucket=target.location.bucket, Key=target.name)
        if reply["ContentLength"] != content.size_bytes:
            return False
        with content.open() as source:
            return all(
                piece == source.read(len(piece))
                for piece in reply["Body"].iter_chunks(COMPARE_BYTES)
            )
    except (ClientError, BotoCoreError) as error:
        if code_of(error) == "NoSuchKey":
            return False
        raise refused(error, target.location) from error


def _sha256(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def _check_echo(target: Target, sent: str, stored: str | None) -> None:
    # A store without checksums answers none; the signature has covered the body then.
    if stored is not None and stored != sent:
        raise StoreError(f"the store holds other bytes of {target.key} than were sent")
