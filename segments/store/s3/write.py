"""Put-if-absent over S3: one PUT, or by hand in parts; the condition always decides last.

boto3's transfer manager takes no condition for a multipart upload, hence the second.
"""

import base64
import contextlib
import hashlib
from typing import TYPE_CHECKING

from segments.errors import ObjectExists, StoreError
from segments.store.retry import Tries
from segments.store.s3.client import Target
from segments.store.s3.errors import (
    FAILURES,
    Failure,
    code_of,
    is_conflict,
    is_present,
    is_transient,
    refused,
)
from segments.store.s3.read import equals
from segments.store.s3.retry import tries_of
from segments.store.upload_body import CRC_NAME, PART_BYTES, UploadBody

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import CompletedPartTypeDef


def write_if_absent(target: Target, content: UploadBody) -> None:
    """Write an object unless the key has one; raises ObjectExists."""
    tries = tries_of(target.timeouts)
    put = _put_whole if content.size_bytes <= PART_BYTES else _put_parts
    try:
        put(target, content, tries)
    except FAILURES as error:
        if not is_present(error):
            raise refused(error, target.location) from error
        if not (tries.may_have_won and _stands(target, content)):
            raise ObjectExists(f"object {target.key} exists") from error


def complete_parts_if_absent(target: Target, content: UploadBody) -> bool:
    """Try a multipart upload in one part; False if its condition failed, as a probe hopes."""
    try:
        _put_parts(target, content, tries_of(target.timeouts))
    except FAILURES as error:
        if is_present(error):
            return False
        raise refused(error, target.location) from error
    return True


def _put_whole(target: Target, content: UploadBody, tries: Tries[Failure]) -> None:
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


def _put_parts(target: Target, content: UploadBody, tries: Tries[Failure]) -> None:
    # An upload that met a conflict, or was aborted, is of no more use: begin another.
    tries.run(lambda: _upload(target, content, tries), repeats=_is_upload_lost)


def _upload(target: Target, content: UploadBody, tries: Tries[Failure]) -> None:
    metadata = {CRC_NAME: content.crc()}
    upload_id = tries_of(target.timeouts).run(
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
    reply = tries_of(target.timeouts).run(
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
    tries: Tries[Failure],
) -> None:
    completion = tries_of(target.timeouts)
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
        return tries_of(target.timeouts).run(
            lambda: equals(target, source, content.size_bytes, crc)
        )


def _sha256(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


def _check_echo(target: Target, sent: str, stored: str | None) -> None:
    # A store without checksums answers none; the signature has covered the body then.
    if stored is not None and stored != sent:
        raise StoreError(f"the store holds other bytes of {target.key} than were sent")
