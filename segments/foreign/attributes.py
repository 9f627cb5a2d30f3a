"""Columns that the format does not have, as attributes of their records."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from segments.json_objects import first_of_each

AnyArray = Any  # A pa.Array of any type.


def is_attribute_type(type_: pa.DataType) -> bool:
    """Return true if values of a type can be written as an attribute's JSON."""
    types = pa.types
    if isinstance(type_, pa.DictionaryType):
        return is_attribute_type(type_.value_type)
    if isinstance(type_, pa.MapType):
        return is_nested_type(type_.key_type) and is_nested_type(type_.item_type)
    if isinstance(type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType):
        return is_nested_type(type_.value_type)
    if isinstance(type_, pa.StructType):
        return all(is_nested_type(field.type) for field in type_)
    return (
        types.is_primitive(type_)
        or types.is_null(type_)
        or types.is_decimal(type_)
        or is_text(type_)
        or is_bytes(type_)
    )


def is_nested_type(type_: pa.DataType) -> bool:
    """Return true if values within lists and structs can be; times only as far as Python's go."""
    if pa.types.is_temporal(type_) and getattr(type_, "unit", "") == "ns":
        return False
    return is_attribute_type(type_)


def is_text(type_: pa.DataType) -> bool:
    """Return true for the types of text."""
    types = pa.types
    return types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)


def is_bytes(type_: pa.DataType) -> bool:
    """Return true for the types of bytes."""
    types = pa.types
    return (
        types.is_binary(type_)
        or types.is_large_binary(type_)
        or types.is_binary_view(type_)
        or types.is_fixed_size_binary(type_)
    )


def json_values(column: AnyArray) -> list[Any]:
    """Return values as JSON has them; None for null.

    Times are text, durations whole nanoseconds, bytes base64, numbers beyond JSON's text.
    """
    type_ = column.type
    if pa.types.is_dictionary(type_):
        column = column.dictionary_decode()
        type_ = column.type
    if pa.types.is_duration(type_):
        column = column.cast(pa.duration("ns")).cast(pa.int64())
    elif pa.types.is_temporal(type_) or pa.types.is_decimal(type_):
        column = column.cast(pa.string())
    if pa.types.is_map(type_):
        return [None if item is None else _object(item) for item in column.to_pylist()]
    return [_json_value(value) for value in column.to_pylist()]


def _json_value(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _words(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(key): _json_value(item) for key, item in value.items()}
        case list():
            # A map comes as pairs.
            if value and all(isinstance(item, tuple) for item in value):
                return _object(value)
            return [_json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _object(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return a map as an object; of equal keys the first counts, as in segments."""
    return first_of_each([(str(key), _json_value(item)) for key, item in pairs])


def _words(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def json_text(value: Any) -> str:
    """Return JSON as segments have it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parsed_values(
    column: AnyArray, kind: type[dict[str, Any] | list[Any]]
) -> tuple[list[Any], list[Any]]:
    """Return a column's JSON objects (or its lists), and its other values; both by row.

    A column is text of JSON, or of a nested type. None if there is nothing.
    """
    values: dict[str, Any] = {}
    objects: list[Any] = []
    others: list[Any] = []
    for value in json_values(column):
        if isinstance(value, str):
            if value not in values:
                values[value] = _parsed(value, kind)
            parsed = values[value]
        else:
            parsed = value if isinstance(value, kind) else None
        objects.append(parsed)
        others.append(value if parsed is None else None)
    return objects, others


def _parsed(text: str, kind: type[dict[str, Any] | list[Any]]) -> Any:
    try:
        # The first of duplicate keys counts, as in segments.
        parsed = json.loads(text, object_pairs_hook=first_of_each, parse_constant=str)
        if isinstance(parsed, kind):
            # A text of half a character is JSON, and no UTF-8.
            json_text(parsed).encode()
            return parsed
    except (ValueError, RecursionError):
        pass
    return None


def merged_texts(
    rows: int, objects: list[Any] | None, columns: Mapping[str, list[Any]]
) -> AnyArray:
    """Return one JSON object a row: its own attributes, then the columns that have a value."""
    texts = []
    for row in range(rows):
        merged: dict[str, Any] = dict((objects[row] if objects is not None else None) or {})
        for name, values in columns.items():
            value = values[row]
            if value is not None:
                merged.setdefault(name, value)
        texts.append(json_text(merged))
    return pa.array(texts, pa.string())


def json_texts(objects: list[Any]) -> AnyArray:
    """Return JSON as text; null if there is none."""
    return pa.array([None if item is None else json_text(item) for item in objects], pa.string())


def is_valid_text(column: AnyArray) -> bool:
    """Return true if every text is UTF-8."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def null_where(column: list[Any], words: AnyArray) -> list[Any]:
    """Return values, with None for those that equal the words in the other column."""
    return [
        None if value == word else value
        for value, word in zip(column, words.to_pylist(), strict=True)
    ]
