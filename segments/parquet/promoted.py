"""Promoted columns: typed values out of attribute JSON.

What a type accepts: string any scalar; bool true, false and their names; int and long whole numbers
in range, as numbers or text; real numbers, as numbers or text; datetime RFC 3339 text or whole
nanoseconds; timespan whole nanoseconds; guid a UUID. Anything else is null and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from segments.parquet.schema import PromotedColumn, promoted_type

# An attribute's value as JSON gives it.
JsonValue = str | int | float | bool | list["JsonValue"] | dict[str, "JsonValue"] | None

_SOURCES = {
    "record": "attributes",
    "resource": "resource_attributes",
    "scope": "scope_attributes",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_encode_key = json.JSONEncoder(ensure_ascii=False).encode


class Unconvertible(ValueError):
    """The attribute's value does not fit the column's type."""


def promote(
    batch: pa.RecordBatch, columns: Sequence[PromotedColumn]
) -> tuple[list[pa.Array[Any]], int]:
    """Compute promoted columns of a section; also counts the values that did not convert.

    The batch has the attribute columns of the format. A dictionary's values count once each.
    """
    promoted: list[pa.Array[Any]] = []
    failures = 0
    for column in columns:
        source = batch.column(_SOURCES[column.scope])
        texts = source.dictionary if isinstance(source, pa.DictionaryArray) else source
        values, failed = _values(texts, column)
        if isinstance(source, pa.DictionaryArray):
            values = values.take(source.indices)
        promoted.append(values)
        failures += failed
    return promoted, failures


def convert(value: JsonValue, kql_type: str) -> str | int | float | bool | None:
    """Convert one attribute value, times to nanoseconds; raises Unconvertible. Null stays null."""
    if value is None:
        return None
    try:
        return _CONVERTERS[kql_type](value)
    except (ValueError, TypeError, OverflowError) as error:
        raise Unconvertible(f"{value!r} is no {kql_type}") from error


def _values(texts: pa.Array[Any], column: PromotedColumn) -> tuple[pa.Array[Any], int]:
    """Read one attribute out of JSON objects; parses only those that mention its key."""
    key = f"{_encode_key(column.attribute)}:"
    mentions = pc.match_substring(texts, key).fill_null(False)
    values: list[str | int | float | bool | None] = []
    failures = 0
    for text in map(str, texts.filter(mentions).to_pylist()):
        # Of duplicate keys the first counts, so it is put in last.
        attributes = json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        try:
            values.append(convert(attributes.get(column.attribute), column.kql_type))
        except Unconvertible:
            values.append(None)
            failures += 1
    type_ = promoted_type(column)
    dense = pa.array(values, pa.string() if pa.types.is_dictionary(type_) else type_)
    # Row i's place among the mentioning rows is how many of them come up to it, less one.
    place = pc.subtract(pc.cumulative_sum(mentions.cast(pa.int32())), pa.scalar(1, pa.int32()))
    spread = dense.take(pc.if_else(mentions, place, pa.scalar(None, pa.int32())))
    return (spread.dictionary_encode() if pa.types.is_dictionary(type_) else spread), failures


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        raise TypeError
    return json.dumps(value)


def _bool(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise TypeError


def _whole(bits: int) -> Callable[[JsonValue], int]:
    def convert_whole(value: JsonValue) -> int:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError
        if isinstance(value, float) and not value.is_integer():
            raise ValueError
        number = int(value)
        if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            raise OverflowError
        return number

    return convert_whole


def _real(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    return float(value)


def _datetime(value: JsonValue) -> int:
    if not isinstance(value, str):
        return _whole(64)(value)
    time = datetime.fromisoformat(value)
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    micros = (time - _EPOCH) // timedelta(microseconds=1)
    return _whole(64)(micros * 1_000)


def _guid(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str(UUID(value))


_CONVERTERS: dict[str, Callable[[JsonValue], str | int | float | bool]] = {
    "string": _text,
    "bool": _bool,
    "int": _whole(32),
    "long": _whole(64),
    "real": _real,
    "datetime": _datetime,
    "timespan": _whole(64),
    "guid": _guid,
}
