"""Automatic columns: attributes in their own columns, which no reader sees by name.

Such a column may be read in place of the JSON. So it has a value only if the attribute is exactly
one JSON value of the column's type, which reads back as the same text. A file in which the
attribute ever has another value does not use the column; a JSON null and a repeated name are such.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from segments.parquet.columns.promoted_reads import ROWS_MIN, read_attributes
from segments.parquet.schema import promoted_type
from segments.parquet.spec import PromotedColumn

# The types of automatic columns, by the type of their values in Python.
NATIVE_TYPES: dict[str, type] = {"string": str, "long": int}
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
_NUL = b"\\u0000"


def automatic_columns(columns: Iterable[PromotedColumn]) -> tuple[PromotedColumn, ...]:
    """Return those of some columns that are automatic."""
    return tuple(column for column in columns if column.is_automatic)


def exact_values(
    texts: pa.Array[Any], columns: Sequence[PromotedColumn]
) -> list[pa.Array[Any] | None]:
    """Read automatic columns out of JSON objects; None for one that is unusable."""
    if not columns:
        return []
    if len(texts) < ROWS_MIN:
        try:
            objects = [_members(text) for text in texts.to_pylist()]
        except (ValueError, RecursionError):
            # Numbers of thousands of digits, or very deep: no writer of ours makes such JSON.
            return [None] * len(columns)
        return [_of_few(objects, column) for column in columns]
    read, content = read_attributes(texts, columns), _content(texts)
    return [_of_many(content, read.get(column), column) for column in columns]


def unusable_values(rows: int, column: PromotedColumn) -> pa.Array[Any]:
    """Return the values of a column that is unusable: nulls."""
    type_: Any = promoted_type(column)
    nulls: pa.Array[Any] = pa.nulls(rows, type_)
    return nulls


def _members(text: str | None) -> dict[str, list[object]]:
    """Return the values of each name of a JSON object; a nested object has no value of a type."""
    members: dict[str, list[object]] = {}
    pairs = json.loads(text, object_pairs_hook=list, parse_int=_whole) if text else []
    for name, value in pairs:
        members.setdefault(name, []).append(value)
    return members


def _whole(digits: str) -> object:
    """Return a whole number; one that is written otherwise, as -0 is, counts as another type."""
    number = int(digits)
    return number if str(number) == digits else float(number)


def _of_few(
    objects: Sequence[dict[str, list[object]]], column: PromotedColumn
) -> pa.Array[Any] | None:
    values: list[object] = []
    for members in objects:
        items = members.get(column.attribute, [None])
        if column.attribute in members and not (len(items) == 1 and _is_exact(items[0], column)):
            return None
        values.append(items[0])
    plain = pa.array(values, pa.int64() if column.kql_type == "long" else pa.string())
    return _as_stored(plain, column)


def _is_exact(value: object, column: PromotedColumn) -> bool:
    if type(value) is not NATIVE_TYPES[column.kql_type]:
        return False
    if isinstance(value, int):
        return LONG_MIN <= value <= LONG_MAX
    assert isinstance(value, str)
    # Half of a character has no UTF-8.
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _of_many(
    content: bytes, values: pa.Array[Any] | None, column: PromotedColumn
) -> pa.Array[Any] | None:
    """Check values that Arrow read: it fails for another type, and takes a null for no value."""
    if values is None:
        return None
    key = f"{json.dumps(column.attribute, ensure_ascii=False)}:".encode()
    if content.count(key) != len(values) - values.null_count:
        return None
    odd = key + b"-0" if column.kql_type == "long" else _NUL
    return None if odd in content else _as_stored(values, column)


def _content(texts: pa.Array[Any]) -> bytes:
    """Return the bytes of texts, one after the other."""
    _, offsets, content = texts.buffers()
    if offsets is None or content is None:
        return b""
    ends = memoryview(offsets).cast("i" if pa.types.is_string(texts.type) else "q")
    return bytes(memoryview(content)[ends[texts.offset] : ends[texts.offset + len(texts)]])


def _as_stored(values: pa.Array[Any], column: PromotedColumn) -> pa.Array[Any]:
    is_dictionary = pa.types.is_dictionary(promoted_type(column))
    return values.dictionary_encode() if is_dictionary else values
