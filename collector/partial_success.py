"""Partial success: rejects the damaged records of an export and keeps the others as sent.

One string that is not UTF-8 makes the official classes refuse an export of thousands of records.
This module splits the export along its frames and rejects what does not parse by itself: a record,
or a scope or resource with all its records where its own fields are damaged. Where the frames are
broken the rejected records cannot be counted, and the whole export is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from collector.refusal import malformed
from segments.otlp.validation import check
from segments.signals import Signal

# Bounds the time that one damaged export may take.
FIELDS_MAX = 100_000
# Field number of the next level's messages, in the order of the levels.
_CHILDREN = (1, 2, 2)
_RECORD = len(_CHILDREN)
# Of a metric: its kinds of data, and in each the data points.
_METRIC_DATA = (5, 7, 9, 10, 11)
_DATA_POINTS = 1
_FIXED_BYTES = {1: 8, 5: 4}
_VARINT, _BYTES = 0, 2


@dataclass(frozen=True, slots=True)
class PartialSuccess:
    """The valid part of an export, and how many of its records were rejected."""

    payload: bytes
    num_rejected: int


@dataclass(frozen=True, slots=True)
class _Field:
    """One field on the wire; `body` is the content of a length-delimited one, else empty."""

    number: int
    whole: bytes
    body: bytes | None


def reject_damaged(signal: Signal, payload: bytes) -> PartialSuccess:
    """Remove what does not parse; raises Refused if the frames are broken."""
    filter_ = _DamageFilter(signal)
    return PartialSuccess(filter_.valid_part(0, payload) or b"", filter_.num_rejected)


class _DamageFilter:
    def __init__(self, signal: Signal) -> None:
        self.num_rejected = 0
        self._signal = signal
        self._fields_left = FIELDS_MAX

    def valid_part(self, level: int, body: bytes) -> bytes | None:
        """Return the message without its damaged parts; None if nothing of it is valid."""
        if self._parses(level, body):
            return body
        if level == _RECORD:
            self.num_rejected += self._count(level, body)
            return None
        own, children = self._split(body, _CHILDREN[level])
        if not self._parses(level, own):
            self.num_rejected += sum(self._count(level + 1, child) for child in children)
            return None
        kept = (self.valid_part(level + 1, child) for child in children)
        framed = (_framed(_CHILDREN[level], child) for child in kept if child is not None)
        return own + b"".join(framed)

    def _parses(self, level: int, body: bytes) -> bool:
        try:
            check(self._signal, level, body)
        except DecodeError:
            return False
        return True

    def _count(self, level: int, body: bytes) -> int:
        """Records in a message of a level; data points where they are metrics."""
        if level < _RECORD:
            children = self._split(body, _CHILDREN[level])[1]
            return sum(self._count(level + 1, child) for child in children)
        if self._signal != "metrics":
            return 1
        return sum(
            len(self._split(data.body, _DATA_POINTS)[1])
            for data in self._fields(body)
            if data.number in _METRIC_DATA and data.body is not None
        )

    def _split(self, body: bytes, number: int) -> tuple[bytes, list[bytes]]:
        """Part a message into its own fields and the contents of one repeated message field."""
        own: list[bytes] = []
        children: list[bytes] = []
        for field in self._fields(body):
            if field.number == number and field.body is not None:
                children.append(field.body)
            else:
                own.append(field.whole)
        return b"".join(own), children

    def _fields(self, body: bytes) -> Iterator[_Field]:
        at = 0
        while at < len(body):
            self._fields_left -= 1
            if self._fields_left < 0:
                raise malformed(f"export is damaged, and has more than {FIELDS_MAX} fields")
            start = at
            tag, at = _varint(body, at)
            wire, content = tag & 7, None
            if wire == _VARINT:
                _, at = _varint(body, at)
            elif wire == _BYTES:
                size, at = _varint(body, at)
                content, at = body[at : at + size], at + size
            elif wire in _FIXED_BYTES:
                at += _FIXED_BYTES[wire]
            else:
                raise _broken()
            if at > len(body):
                raise _broken()
            yield _Field(tag >> 3, body[start:at], content)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Read a number; returns it and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            break
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _broken()


def _framed(number: int, body: bytes) -> bytes:
    header, size = bytearray((number << 3 | _BYTES,)), len(body)
    while size > 0x7F:
        header.append(size & 0x7F | 0x80)
        size >>= 7
    header.append(size)
    return bytes(header) + body


def _broken() -> Exception:
    return malformed("payload is not an OTLP export request: its frames are broken")
