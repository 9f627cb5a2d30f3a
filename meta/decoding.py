"""Decoding of requests: what is malformed is told, what is large waits for its turn.

A parsed request may take many times its bytes: 2 MiB of empty parts become 100 MB. So only a few
large ones are parsed and answered at once, and none of more parts than any call has a use for.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from meta.errors import InvalidArgument

LARGE_BYTES = 256 * 1024
LARGE_AT_ONCE = 2
PARTS_MAX = 100_000
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}


@dataclass(slots=True)
class Undecoded:
    """A large request as it came; `raw` is dropped once it is parsed."""

    raw: bytes


@dataclass(frozen=True, slots=True)
class Malformed:
    """A request that is no valid message, for its handler to say so."""

    message: str


class Decoder:
    """Decodes the requests of a server; gRPC calls `first`, the handler `rest`."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(LARGE_AT_ONCE)

    @contextmanager
    def rest(
        self, request: Undecoded | Malformed, deserialize: Callable[[bytes], Any]
    ) -> Iterator[Any]:
        """Give a large request parsed, in its turn. Raises InvalidArgument."""
        if isinstance(request, Malformed):
            raise InvalidArgument(request.message)
        with self._turns:
            raw, request.raw = request.raw, b""
            if has_more_parts(raw, PARTS_MAX):
                raise InvalidArgument(f"the request has more than {PARTS_MAX} parts")
            parsed = _parse(raw, deserialize)
            del raw
            if isinstance(parsed, Malformed):
                raise InvalidArgument(parsed.message)
            yield parsed

    def each(self, requests: Iterable[Any], deserialize: Callable[[bytes], Any]) -> Iterator[Any]:
        """Give the requests of a stream parsed; a large one holds its turn until the next."""
        for request in requests:
            if isinstance(request, Undecoded | Malformed):
                with self.rest(request, deserialize) as parsed:
                    yield parsed
            else:
                yield request


def first(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A deserializer that gives a message, or Undecoded or Malformed for `Decoder.rest`."""
    return lambda raw: Undecoded(raw) if len(raw) > LARGE_BYTES else _parse(raw, deserialize)


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


def _parse(raw: bytes, deserialize: Callable[[bytes], Any]) -> Any:
    try:
        return deserialize(raw)
    except (DecodeError, ValueError) as error:
        return Malformed(f"the request is not a valid message: {error}")


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
