"""Columns with the words for the numbers of other columns, for readers without a legend.

They are written in addition to the numbers, which alone are read back, so a merge's output always
has them. A number that OTLP does not define, and one that says "unspecified", has no word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SEVERITIES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
# OTLP gives each severity four numbers, from 1 on.
_NUMBERS_PER_SEVERITY = 4


@dataclass(frozen=True, eq=False)
class ReadableColumn:
    """A column of words; `source` is the column of numbers."""

    name: str
    field_id: int
    source: str
    words: Mapping[int, str]

    def read(self, numbers: Any) -> pa.DictionaryArray[Any, Any]:
        """Return the words of numbers, an array or a chunked one of 32 bits."""
        if isinstance(numbers, pa.ChunkedArray):
            numbers = numbers.combine_chunks()
        bounds: Any = pc.min_max(numbers)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if low is None:
            low = high = 0
        elif low < 0 or high > max(self.words):
            # OTLP defines none of these; the others keep their words.
            is_known = pc.is_in(numbers, value_set=pa.array(list(self.words), pa.int32()))
            numbers = pc.if_else(is_known, numbers, pa.scalar(None, pa.int32()))
            low, high = 0, max(self.words)
        distinct, codes = self._table(low, high)
        # A table by number: searching each number's word among all took three times as long.
        codes = pc.take(codes, numbers, boundscheck=False)
        return pa.DictionaryArray.from_arrays(codes, distinct)

    @lru_cache(maxsize=256)  # noqa: B019 - there are four of these, for the life of the process
    def _table(self, low: int, high: int) -> tuple[pa.Array[Any], pa.Array[Any]]:
        """Return the words of numbers from `low` to `high`, and each number's place, from 0 on.

        Fewer words make narrower codes in the file.
        """
        words = [self.words.get(number) if number >= low else None for number in range(high + 1)]
        distinct = pa.array([word for word in dict.fromkeys(words) if word], pa.string())
        return distinct, pc.index_in(pa.array(words, pa.string()), value_set=distinct)


READABLE_COLUMNS: Sequence[ReadableColumn] = (
    ReadableColumn(
        "severity",
        72,
        "severity_number",
        {
            1 + index * _NUMBERS_PER_SEVERITY + step: word
            for index, word in enumerate(_SEVERITIES)
            for step in range(_NUMBERS_PER_SEVERITY)
        },
    ),
    ReadableColumn("temporality", 73, "aggregation_temporality", {1: "DELTA", 2: "CUMULATIVE"}),
    ReadableColumn(
        "span_kind",
        74,
        "kind",
        {1: "INTERNAL", 2: "SERVER", 3: "CLIENT", 4: "PRODUCER", 5: "CONSUMER"},
    ),
    ReadableColumn("span_status", 75, "status_code", {0: "UNSET", 1: "OK", 2: "ERROR"}),
)
