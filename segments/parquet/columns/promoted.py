"""Promoted columns: typed values out of attribute JSON.

`segments.parquet.columns.promoted_values` says which value fits which type. Others are null and
counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from segments.json_objects import first_of_each
from segments.parquet.columns.automatic import automatic_columns, exact_values, unusable_values
from segments.parquet.columns.promoted_reads import read_attributes
from segments.parquet.columns.promoted_values import NATIVE_TYPES, JsonValue, Unconvertible, convert
from segments.parquet.schema import promoted_type
from segments.parquet.spec import RECEIPT, PromotedColumn

# Columns of the format with the attributes of a scope.
SOURCES = {
    "record": "attributes",
    "resource": "resource_attributes",
    "scope": "scope_attributes",
    # The id that a record came with.
    RECEIPT: "attributes",
}
_encode_key = json.JSONEncoder(ensure_ascii=False).encode
# With more columns of one scope, nearly every text mentions one: to look costs more than to parse.
_SEARCHED_MAX = 4
# Read as texts first.
_CONVERTED_TEXTS = ("datetime", "guid")


def promote(
    batch: pa.RecordBatch, columns: Sequence[PromotedColumn]
) -> tuple[list[pa.Array[Any]], Counter[str]]:
    """Compute promoted columns of a section; counts values that did not convert, by column.

    The batch has the attribute columns of the format. A dictionary's values count once each, and an
    automatic column that is unusable counts once.
    """
    promoted, failures = _automatic(batch, automatic_columns(columns))
    others = [column for column in columns if not column.is_automatic]
    for scope in dict.fromkeys(column.scope for column in others):
        scope_columns = [column for column in others if column.scope == scope]
        source = batch.column(SOURCES[scope])
        texts = source.dictionary if isinstance(source, pa.DictionaryArray) else source
        arrays, failed = _of_scope(texts, scope_columns)
        if isinstance(source, pa.DictionaryArray):
            arrays = [values.take(source.indices) for values in arrays]
        promoted.update(zip(scope_columns, arrays, strict=True))
        failures.update(failed)
    return [promoted[column] for column in columns], failures


def _automatic(
    batch: pa.RecordBatch, columns: Sequence[PromotedColumn]
) -> tuple[dict[PromotedColumn, pa.Array[Any]], Counter[str]]:
    failures = Counter[str]()
    arrays: dict[PromotedColumn, pa.Array[Any]] = {}
    if columns:
        read = exact_values(batch.column(SOURCES["record"]), columns)
        for column, values in zip(columns, read, strict=True):
            failures[column.name] += values is None
            nulls = unusable_values(batch.num_rows, column)
            arrays[column] = nulls if values is None else values
    return arrays, failures


def members(text: str) -> dict[str, JsonValue]:
    """Return the members of a JSON object; of duplicate names the first counts."""
    values: dict[str, JsonValue] = json.loads(text, object_pairs_hook=first_of_each)
    return values


def _of_scope(
    texts: pa.Array[Any], columns: Sequence[PromotedColumn]
) -> tuple[list[pa.Array[Any]], Counter[str]]:
    """Read attributes out of JSON objects, each of which Python parses once at most."""
    read = read_attributes(texts, columns)
    arrays: dict[PromotedColumn, pa.Array[Any]] = {}
    failures = Counter[str]()
    for column, values in read.items():
        if column.kql_type in _CONVERTED_TEXTS:
            values, failed = converted(values.to_pylist(), column)
            failures[column.name] += failed
        arrays[column] = values
    parsed = [column for column in columns if column not in read]
    if parsed:
        record_texts, unfit = _parsed(texts, parsed)
        arrays.update(zip(parsed, record_texts, strict=True))
        failures.update(unfit)
    return [_dictionary(arrays[column], column) for column in columns], failures


def _dictionary(values: pa.Array[Any], column: PromotedColumn) -> pa.Array[Any]:
    is_dictionary = pa.types.is_dictionary(promoted_type(column))
    return values.dictionary_encode() if is_dictionary else values


def _parsed(
    texts: pa.Array[Any], columns: Sequence[PromotedColumn]
) -> tuple[list[pa.Array[Any]], Counter[str]]:
    """Read attributes by Python's parser; texts that mention none of them are passed over."""
    mentions = _mentions(texts, columns)
    mentioning: Any = texts if mentions is None else texts.filter(mentions)
    objects = [members(text) if text is not None else {} for text in mentioning.to_pylist()]
    index: Any = None
    if mentions is not None:
        # Row i's place among the mentioning rows is how many of them come up to it, less one.
        index = pc.subtract(pc.cumulative_sum(mentions.cast(pa.int32())), pa.scalar(1, pa.int32()))
        index = pc.if_else(mentions, index, pa.scalar(None, pa.int32()))
    arrays = []
    failures = Counter[str]()
    for column in columns:
        dense, failed = converted([item.get(column.attribute) for item in objects], column)
        arrays.append(dense if index is None else dense.take(index))
        failures[column.name] += failed
    return arrays, failures


def _mentions(texts: pa.Array[Any], columns: Sequence[PromotedColumn]) -> pa.Array[Any] | None:
    """Return which texts mention an attribute of the columns; None if all are to be parsed."""
    if len(columns) > _SEARCHED_MAX:
        return None
    mentions: pa.Array[Any] | None = None
    for column in columns:
        key = f"{_encode_key(column.attribute)}:"
        has_key: Any = pc.match_substring(texts, key).fill_null(False)
        mentions = has_key if mentions is None else cast("pa.Array[Any]", pc.or_(mentions, has_key))
    return mentions


def converted(values: Sequence[JsonValue], column: PromotedColumn) -> tuple[pa.Array[Any], int]:
    """Convert values of JSON to a column's type; counts those that did not convert."""
    native = NATIVE_TYPES.get(column.kql_type)
    typed: list[Any] = []
    failures = 0
    for value in values:
        if value is None or type(value) is native:
            typed.append(value)
            continue
        try:
            typed.append(convert(value, column.kql_type))
        except Unconvertible:
            typed.append(None)
            failures += 1
    type_ = promoted_type(column)
    return pa.array(typed, pa.string() if pa.types.is_dictionary(type_) else type_), failures
