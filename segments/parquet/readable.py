"""Columns that say in words what the numbers of other columns mean, for readers without a legend.

They are written beside the numbers, which alone are read back: whatever a merge reads, its output
has them. A number that OTLP does not define, and one that says "unspecified", has no word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_SEVERITIES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_WORDS: Any = pa.dictionary(pa.int32(), pa.string())
# OTLP gives each severity four numbers, from 1 on.
_NUMBERS_PER_SEVERITY = 4


@dataclass(frozen=True)
class ReadableColumn:
    """A column of words; `source` is the column of numbers."""

    name: str
    source: str
    words: Mapping[int, str]

    def read(self, numbers: Any) -> Any:
        """Return the words of numbers, as a dictionary array; chunked if the numbers are."""
        if isinstance(numbers, pa.ChunkedArray):
            chunks = [self.read(chunk) for chunk in numbers.chunks]
            return pa.chunked_array(chunks, _WORDS)
        codes = self._codes.take(pc.index_in(numbers, value_set=self._numbers))
        return pa.DictionaryArray.from_arrays(codes, self._distinct)

    @cached_property
    def _numbers(self) -> pa.Array[Any]:
        return pa.array(list(self.words), pa.int32())

    @cached_property
    def _distinct(self) -> pa.Array[Any]:
        return pa.array(list(dict.fromkeys(self.words.values())), pa.string())

    @cached_property
    def _codes(self) -> pa.Array[Any]:
        """The place of each number's word in the dictionary."""
        return pc.index_in(pa.array(list(self.words.values())), value_set=self._distinct)


READABLE_COLUMNS: Sequence[ReadableColumn] = (
    ReadableColumn(
        "severity",
        "severity_number",
        {
            1 + place * _NUMBERS_PER_SEVERITY + step: word
            for place, word in enumerate(_SEVERITIES)
            for step in range(_NUMBERS_PER_SEVERITY)
        },
    ),
    ReadableColumn("temporality", "aggregation_temporality", {1: "DELTA", 2: "CUMULATIVE"}),
    ReadableColumn(
        "span_kind",
        "kind",
        {1: "INTERNAL", 2: "SERVER", 3: "CLIENT", 4: "PRODUCER", 5: "CONSUMER"},
    ),
    ReadableColumn("span_status", "status_code", {0: "UNSET", 1: "OK", 2: "ERROR"}),
)
