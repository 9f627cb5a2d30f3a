"""Put-if-absent over S3: one PUT, or by hand in parts; the condition always decides last.

boto3's transfer manager takes no condition for a multipart upload, hence the second.
"""

import base64
import contextlib
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import google_crc32c

from segments.errors import ObjectExists, StoreError
from segments.store.s3.client import Target
from segments.store.s3.errors import FAILURES, Failure, code_of, is_conflict, is_transient, refused
from segments.store.s3.read import CRC_NAME, crc_text, equals
from segments.store.s3.retry import Tries

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 16 << 20
PARTS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class UploadBody:
    """Bytes to write, readable from the start as often as needed."""

    size_bytes: int
    open: Callable[[], BinaryIO]

    @classmethod
    def of_bytes(cls, body: bytes) -> "UploadBody":
        """Bytes in memory."""
        return cls(len(body), lambda: io.BytesIO(body))

    @classmethod
    def of_file(cls, path: Path) -> "UploadBody":
        """A local file that no one writes to meanwhile."""
        return cls(path.stat().st_size, lambda: path.open("rb"))

    def parts(self) -> Iterator[bytes]:
        """The bytes in pieces fit for a multipart upload."""
        size_bytes = max(PART_BYTES, -(-self.size_bytes // PARTS_MAX))
        with self.open() as source:
            while piece := source.read(size_bytes):
                yield piece

    def crc(self) -> str:
        """The checksum that goes with the object."""
        value = 0
        for piece in self.parts():
            value = google_crc32c.extend(value, piece)
        return crc_text(value)


def write_if_absent(target: Target, content: UploadBody) -> None:
    """Write an object unless the key has one; raises ObjectExists."""
    tries = Tries(target.timeouts)
    put = _put_whole if content.size_bytes <= PART_BYTES else _put_parts
    try:
        put(target, content, tries)
    except FAILURES as error:
        if code_of(error) != "PreconditionFailed":
            raise refused(error, target.location) from error
        if not (tries.may_have_won and _stands(target, content)):
            raise ObjectExists(f"object {target.key} exists") from error


def complete_parts_if_absent(target: Target, content: UploadBody) -> bool:
    """Try a multipart upload in one part; False if its condition failed, as a probe hopes."""
    try:
        _put_parts(target, content, Tries(target.timeouts))
    except FAILURES as error:
        if code_of(error) == "PreconditionFailed":
            return False
        raise refused(error, target.location) from error
    return True


def _put_whole(target: Target, content: UploadBody, tries: Tries) -> None:
    with content.open() as source:
        body = source.read()
    digest, metadata = _sha256(body), {CRC_NAME: content.crc()}
    reply = tries.run(
        lambda: target.client.put_object(
            Bucket=target.location.bucket,
            Key=target.name,
            Body=body,
            IfNoneMatch="*",
            ChecksumSHA256=digest,
            Metadata=metadata,
        )
    )
    _check_echo(target, digest, reply.get("ChecksumSHA256"))


def _put_parts(target: Target, content: UploadBody, tries: Tries) -> None:
    # An upload that met a conflict, or was aborted, is of no more use: begin another.
    tries.run(lambda: _upload(target, content, tries), repeats=_is_upload_lost)


def _upload(target: Target, content: UploadBody, tries: Tries) -> None:
    metadata = {CRC_NAME: content.crc()}
    upload_id = Tries(target.timeouts).run(
        lambda: target.client.create_multipart_upload(
            Bucket=target.location.bucket,
            Key=target.name,
            ChecksumAlgorithm="SHA256",
            Metadata=metadata,
        )
    )["UploadId"]
    try:
        parts = [
            _put_part(target, upload_id, number, body)
            for number, body in enumerate(content.parts(), start=1)
        ]
        _complete(target, content, upload_id, parts, tries)
    except BaseException:
        # The janitor aborts what cannot be aborted now.
        with contextlib.suppress(*FAILURES):
            target.client.abort_multipart_upload(
                Bucket=target.location.bucket, Key=target.name, UploadId=upload_id
            )
        raise


def _put_part(target: Target, upload_id: str, number: int, body: bytes) -> "CompletedPartTypeDef":
    digest = _sha256(body)
    reply = Tries(target.timeouts).run(
        lambda: target.client.upload_part(
            Bucket=target.location.bucket,
            Key=target.name,
            UploadId=upload_id,
            PartNumber=number,
            Body=body,
            ChecksumSHA256=digest,
        )
    )
    _check_echo(target, digest, reply.get("ChecksumSHA256"))
    return {"PartNumber": number, "ETag": reply["ETag"], "ChecksumSHA256": digest}


def _complete(
    target: Target,
    content: UploadBody,
    upload_id: str,
    parts: "list[CompletedPartTypeDef]",
    tries: Tries,
) -> None:
    completion = Tries(target.timeouts)
    try:
        completion.run(
            lambda: target.client.complete_multipart_upload(
                Bucket=target.location.bucket,
                Key=target.name,
                UploadId=upload_id,
                IfNoneMatch="*",
                MultipartUpload={"Parts": parts},
            ),
            repeats=lambda error: is_transient(error) and not _is_upload_lost(error),
        )
    except FAILURES as error:
        tries.may_have_won = tries.may_have_won or completion.may_have_won
        # The first try may have completed it, and then the second finds no upload.
        is_done = code_of(error) == "NoSuchUpload" and completion.may_have_won
        if not (is_done and _stands(target, content)):
            raise


def _is_upload_lost(error: Failure) -> bool:
    return is_conflict(error) or code_of(error) == "NoSuchUpload"


def _stands(target: Target, content: UploadBody) -> bool:
    """True if the object is exactly this content."""
    crc = content.crc()
    with content.open() as source:
        return Tries(target.timeouts).run(lambda: equals(target, source, content.size_bytes, crc))


def _sha256(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def _check_echo(target: Target, sent: str, stored: str | None) -> None:
    # A store without checksums answers none; the signature has covered the body then.
    if stored is not None and stored != sent:
        raise StoreError(f"the store holds other bytes of {target.key} than were sent")
