"""Decoding of requests: what is malformed is told, what is large waits for its turn.

A parsed request may take many times its bytes: 2 MiB of empty parts become 100 MB. So only a few
large ones are parsed and answered at once, and none of more parts than any call has a use for.
"""

from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import DecodeError

from meta.errors import InvalidArgument

Message = TypeVar("Message")
# Takes well below a millisecond, so the event loop may do it.
SMALL_BYTES = 16 * 1024
LARGE_BYTES = 256 * 1024
LARGE_AT_ONCE = 2
PARTS_MAX = 100_000
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}


def parse(raw: bytes, deserialize: Callable[[bytes], Message]) -> Message:
    """The message that a request is. Raises InvalidArgument."""
    if len(raw) > LARGE_BYTES and has_more_parts(raw, PARTS_MAX):
        raise InvalidArgument(f"the request has more than {PARTS_MAX} parts")
    try:
        return deserialize(raw)
    except (DecodeError, ValueError) as error:
        raise InvalidArgument(f"the request is not a valid message: {error}") from error


def has_more_parts(raw: bytes, most: int) -> bool:
    """True if there are more than `most` fields on the first level, as far as they are well-formed.

    It is the first level that has lists of messages in what callers send.
    """
    at = parts = 0
    while at < len(raw) and parts <= most:
        tag, at = _varint(raw, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(raw, at)
        elif kind == _DELIMITED:
            length, at = _varint(raw, at)
            at += length
        elif kind in _FIXED_BYTES:
            at += _FIXED_BYTES[kind]
        else:
            # A group, which the contract has none of.
            break
        parts += 1
    return parts > most


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place behind it; what is cut off ends there."""
    value = shift = 0
    while at < len(raw) and shift < 64:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return value, at
