"""Promoted columns: typed values out of attribute JSON.

`segments.parquet.promoted_values` says which value fits which type. Others are null and counted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from segments.parquet.promoted_values import Unconvertible, convert
from segments.parquet.schema import PromotedColumn, promoted_type

_SOURCES = {
    "record": "attributes",
    "resource": "resource_attributes",
    "scope": "scope_attributes",
}
_encode_key = json.JSONEncoder(ensure_ascii=False).encode


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


def _values(texts: pa.Array[Any], column: PromotedColumn) -> tuple[pa.Array[Any], int]:
    """Read one attribute out of JSON objects; parses only those that mention its key."""
    key = f"{_encode_key(column.attribute)}:"
    mentions: Any = pc.match_substring(texts, key).fill_null(False)
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
