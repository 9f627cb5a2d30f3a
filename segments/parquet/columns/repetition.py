"""Repetition of a column's values, judged by a sample.

A dictionary of values that hardly repeat saves nothing, and to make one takes longer than to write
the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

# A dictionary of fewer values costs little.
_JUDGED_MIN = 1_000
# A sample of 4,096 out of 40,000 values that are equally frequent has this part of distinct ones. A
# dictionary of more is about as large as the values of a row group.
_DISTINCT_MIN = 0.95
SAMPLE_VALUES = 4_096
# A column whose dictionary has fewer values than this part of its own repeats them: there is no
# need of a sample.
_DICTIONARY_MIN = 0.25


def is_unrepeated(
    values: pa.Array[Any] | pa.ChunkedArray[Any], sample_values: int = SAMPLE_VALUES
) -> bool:
    """Return whether nearly all values are distinct, nulls apart.

    Values at equal distances are looked at, so that neighbours that are alike count little.
    """
    if len(values) - values.null_count < _JUDGED_MIN or _is_coded(values):
        return False
    rows = cast(Any, pa).arange(0, len(values), -(-len(values) // sample_values))
    sample: Any = values.take(rows)
    if pa.types.is_dictionary(sample.type):
        sample = sample.cast(sample.type.value_type)
    distinct: Any = pc.count_distinct(sample, mode="only_valid")
    judged = len(sample) - sample.null_count
    return judged > 0 and bool(distinct.as_py() >= _DISTINCT_MIN * judged)


def unrepeated_columns(tables: Sequence[pa.Table], names: Iterable[str]) -> frozenset[str]:
    """Return the columns of texts or whole numbers that no table has repeated values of.

    A table without values of a column, or with few, says nothing about it.
    """
    return frozenset(name for name in names if _is_unrepeated_in(tables, name))


def _is_unrepeated_in(tables: Sequence[pa.Table], name: str) -> bool:
    columns = [table[name] for table in tables if name in table.schema.names]
    judged = [c for c in columns if len(c) - c.null_count >= _JUDGED_MIN and _is_judged(c.type)]
    return bool(judged) and all(map(is_unrepeated, judged))


def _is_judged(type_: pa.DataType) -> bool:
    return pa.types.is_dictionary(type_) or pa.types.is_integer(type_)


def _is_coded(values: pa.Array[Any] | pa.ChunkedArray[Any]) -> bool:
    """Return whether the values have dictionaries of few values."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return all(
        isinstance(chunk, pa.DictionaryArray)
        and len(chunk.dictionary) < _DICTIONARY_MIN * (len(chunk) - chunk.null_count)
        for chunk in chunks
    )
