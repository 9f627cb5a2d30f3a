"""Arrays as text, for the hottest statements.

psycopg dumps a list element by element in Python; a joined literal costs a tenth of it (32 commits:
2.4 ms of CPU against 0.2). The values hold nothing that needs quoting.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

_UUID = psycopg.postgres.types["uuid"]
_UUID_BYTES = 16
_ELEMENT_BYTES = 4 + _UUID_BYTES
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\"})


def uuids(values: Iterable[UUID | None]) -> str:
    """A uuid[] literal; None becomes null. Without hyphens it takes a fifth of the time to make."""
    return "{" + ",".join(["NULL" if v is None else f"{v.int:032x}" for v in values]) + "}"


def numbers(values: Iterable[int]) -> str:
    """A bigint[] literal."""
    return "{" + ",".join(map(str, values)) + "}"


def numbers_or_null(values: Iterable[int | None]) -> str:
    """A bigint[] literal; None becomes null."""
    return "{" + ",".join(["NULL" if v is None else str(v) for v in values]) + "}"


def bytes_or_null(values: Iterable[bytes]) -> str:
    """A bytea[] literal; b"" becomes null."""
    return "{" + ",".join([f'"\\\\x{v.hex()}"' if v else "NULL" for v in values]) + "}"


def bytes_or_none(values: Iterable[bytes | None]) -> str:
    """A bytea[] literal; None becomes null, b"" stays empty."""
    return "{" + ",".join(["NULL" if v is None else f'"\\\\x{v.hex()}"' for v in values]) + "}"


def quoted(values: Iterable[str]) -> str:
    """A text[] literal of any texts."""
    joined = '","'.join(values := list(values))
    if "\\" in joined or joined.count('"') != 2 * (len(values) - 1):
        joined = '","'.join([v.translate(_ESCAPES) for v in values])
    return '{"' + joined + '"}' if values else "{}"


def texts(values: Iterable[str]) -> str:
    """A text[] literal of texts without quotes and backslashes."""
    return "{" + ",".join([f'"{v}"' for v in values]) + "}"


@dataclass(frozen=True, slots=True)
class Uuids:
    """A uuid[] of values of 16 bytes, one after the other, sent in Postgres' binary form."""

    values: bytes


class _UuidsDumper(Dumper):
    """One dimension from 1 on, without nulls; before each value its length."""

    format = Format.BINARY
    oid = _UUID.array_oid

    def dump(self, obj: Uuids) -> Buffer:
        number = len(obj.values) // _UUID_BYTES
        if not number:
            return struct.pack("!3i", 0, 0, _UUID.oid)
        # Strides of bytes: value by value it takes six times as long.
        elements = bytearray(number * _ELEMENT_BYTES)
        elements[3::_ELEMENT_BYTES] = bytes([_UUID_BYTES]) * number
        for index in range(_UUID_BYTES):
            elements[4 + index :: _ELEMENT_BYTES] = obj.values[index::_UUID_BYTES]
        return struct.pack("!5i", 1, 0, _UUID.oid, number, 1) + elements


psycopg.adapters.register_dumper(Uuids, _UuidsDumper)
