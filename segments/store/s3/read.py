"""Reads an object over S3, whole or a range, and takes nothing that was cut or changed on the way.

S3 sends no checksum with a range and none with an object put in parts that could be checked. So
each object carries one of its own as metadata, and a range is held against its own description.
"""

import re
from typing import TYPE_CHECKING, BinaryIO

import google_crc32c
from botocore.response import StreamingBody
from urllib3.exceptions import HTTPError

from segments.store.s3.client import Target
from segments.store.s3.errors import FAILURES, BrokenAnswer, code_of, is_missing
from segments.store.s3.retry import tries_of
from segments.store.upload_body import CRC_NAME, crc_text

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import GetObjectOutputTypeDef

COMPARE_BYTES = 1 << 20

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


def read_whole(target: Target) -> bytes:
    """Read an object; raises one of FAILURES."""
    return tries_of(target.timeouts).run(lambda: _read_whole(target))


def read_range(target: Target, start: int, length: int) -> bytes:
    """Read at least one byte from start on, fewer than length only at the end; raises FAILURES."""
    return tries_of(target.timeouts).run(lambda: _read_range(target, start, length))


def equals(target: Target, content: BinaryIO, size_bytes: int, crc: str) -> bool:
    """True if the object is this content, which is read from its start; raises FAILURES."""
    try:
        reply = target.client.get_object(Bucket=target.location.bucket, Key=target.name)
    except FAILURES as error:
        if is_missing(error):
            return False
        raise
    if reply["ContentLength"] != size_bytes:
        return False
    content.seek(0)
    while piece := _read(reply["Body"], COMPARE_BYTES):
        if piece != content.read(len(piece)):
            if reply.get("Metadata", {}).get(CRC_NAME) == crc:
                raise BrokenAnswer(f"the bytes of {target.key} are not those that were put")
            return False
    return True


def _read_whole(target: Target) -> bytes:
    reply = target.client.get_object(Bucket=target.location.bucket, Key=target.name)
    body = _read(reply["Body"])
    expected = reply.get("Metadata", {}).get(CRC_NAME)
    # Another program's object says nothing of itself.
    if expected is not None and crc_text(google_crc32c.value(body)) != expected:
        raise BrokenAnswer(f"the bytes of {target.key} are not those that were put")
    return body


def _read_range(target: Target, start: int, length: int) -> bytes:
    try:
        reply = target.client.get_object(
            Bucket=target.location.bucket,
            Key=target.name,
            Range=f"bytes={start}-{start + length - 1}",
        )
    except FAILURES as error:
        if code_of(error) == "InvalidRange":
            return b""  # Starts at or behind the object's end.
        raise
    expected = _expected_length(reply, start, length)
    body = _read(reply["Body"])
    if len(body) != expected:
        raise BrokenAnswer(f"{target.key} gave {len(body)} bytes from {start} on, not {expected}")
    return body


def _expected_length(reply: "GetObjectOutputTypeDef", start: int, length: int) -> int:
    """Number of bytes of a complete response."""
    said = _RANGE.fullmatch(reply.get("ContentRange", ""))
    if said is None or int(said[1]) != start:
        # Such as all of the object: for one range of many, too much to read.
        raise BrokenAnswer(f"asked for bytes from {start} on, got {reply.get('ContentRange')}")
    return min(length, int(said[3]) - start)


def _read(body: StreamingBody, size_bytes: int | None = None) -> bytes:
    try:
        return body.read(size_bytes)
    except HTTPError as error:  # Such as TLS finding that a record was changed.
        raise BrokenAnswer(f"the body broke off: {error}") from error
