"""Promoted columns of records, out of the attributes that their JSON is made of.

Values and failures are those that `segments.parquet.columns.promoted` reads out of that JSON, at a
fraction of the cost: most values have the column's type already, and are only put into their rows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import pyarrow as pa

from segments.json_objects import first_of_each
from segments.otlp import json_text
from segments.otlp.arrow import Array, dictionary, field, make, pc, spread
from segments.parquet.columns.promoted import SOURCES, converted, promote
from segments.parquet.columns.promoted_reads import ROWS_MIN
from segments.parquet.columns.repetition import is_unrepeated
from segments.parquet.schema import TIMESTAMP, promoted_type
from segments.parquet.spec import PromotedColumn

# Makes values of a column's type of one member of AnyValue; null for those that do not fit.
_Take = Callable[[Array], Array]
# Texts that Arrow converts as `segments.parquet.columns.promoted_values` does, which converts the
# others.
_CERTAIN_TIME = (
    "^(1[789]|2[01])[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
    "[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?(Z|[+-]0[0-9]:[0-5][0-9])$"
)
_CERTAIN_GUID = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
# A larger sample takes as long as to hash a tenth of the values of a pass.
_SAMPLE_VALUES = 1_024
# Up to so many attributes are looked for one by one, and so are more if a pass has more different
# ones than Arrow sorts by counting.
_SEARCHED_MAX = 4
_SORTED_MAX = 4_096
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


class RecordAttributes:
    """The attributes of the rows of one decoding pass.

    `parts` are lists of KeyValue as `Decoded.attributes` has them; `names` are all attributes that
    will be asked for.
    """

    def __init__(self, parts: Sequence[Array], names: Iterable[str]) -> None:
        self._names = sorted(set(names))
        self._parts = parts if self._names else ()
        self._codes: dict[int, dict[str, int]] = {}

    def promote(
        self, batch: pa.RecordBatch, columns: Sequence[PromotedColumn], start: int
    ) -> tuple[list[pa.Array[Any]], Counter[str]]:
        """Compute promoted columns of the rows from `start` on, all of one part.

        `batch` has the attribute columns of these rows. Values that did not convert are counted by
        column.
        """
        promoted = [column for column in columns if SOURCES[column.scope] == SOURCES["record"]]
        if batch.num_rows < ROWS_MIN or not promoted:
            return promote(batch, columns)
        others = [column for column in columns if column not in promoted]
        arrays, failures = promote(batch, others)
        values = dict(zip(others, arrays, strict=True))
        entries = self._entries(start, batch.num_rows)
        for column in promoted:
            typed, failed = (entries.exact if column.is_automatic else entries.typed)(column)
            values[column] = cast("pa.Array[Any]", typed)
            failures[column.name] += failed
        return [values[column] for column in columns], failures

    def _entries(self, start: int, rows: int) -> _Entries:
        for index, lists in enumerate(self._parts):
            if start < len(lists):
                if index not in self._codes:
                    self._codes[index] = _codes(lists, self._names)
                return _Entries(lists.slice(start, rows), self._codes[index])
            start -= len(lists)
        raise IndexError(f"row {start} is beyond those of the pass")


class _Entries:
    """Attributes of consecutive rows; `codes` are those of the attributes that have any."""

    def __init__(self, lists: Array, codes: dict[str, int]) -> None:
        entries = lists.flatten()
        self._rows = len(lists)
        self._codes = codes
        self._values = field(entries, "value")
        keys = field(entries, "key")
        places, runs = _runs(keys.indices, sorted(codes.values()), len(keys.dictionary))
        self._places, self._runs = places, runs
        self._row_of_place = pc.list_parent_indices(lists).take(places)

    def typed(self, column: PromotedColumn) -> tuple[Array, int]:
        """Return a column's values, one a row, and the number of those that do not fit it."""
        type_, is_dictionary = promoted_type(column), pa.types.is_dictionary(promoted_type(column))
        if column.attribute not in self._codes:
            return make.nulls(self._rows, type_), 0
        places, rows = self._run(self._codes[column.attribute])
        if len(rows) == 0:
            return make.nulls(self._rows, type_), 0
        is_repeated = pc.equal(rows.slice(1, len(rows) - 1), rows.slice(0, len(rows) - 1))
        if pc.any(is_repeated).as_py():
            # The first of duplicate names counts.
            kept = make.concat_arrays([make.array([True]), pc.invert(is_repeated)])
            places, rows = places.filter(kept), rows.filter(kept)
        values, failures = _typed(self._values, places, column)
        value_of_row = None
        if len(rows) < self._rows:
            value_of_row = pc.inverse_permutation(rows, max_index=self._rows - 1)
        if is_dictionary:
            return _dictionary(values, value_of_row), failures
        return values if value_of_row is None else values.take(value_of_row), failures

    def exact(self, column: PromotedColumn) -> tuple[Array, int]:
        """Return an automatic column's values, one a row; of an unusable one nulls, and 1."""
        if column.attribute not in self._codes:
            return self.typed(column)
        places, rows = self._run(self._codes[column.attribute])
        pairs = max(0, len(rows) - 1)
        is_repeated = pc.equal(rows.slice(1, pairs), rows.slice(0, pairs))
        values = field(self._values, _MEMBERS[column.kql_type][0][0]).take(places)
        is_odd = values.null_count > 0 or pc.any(is_repeated).as_py()
        if not is_odd and column.kql_type == "string":
            is_odd = pc.any(pc.match_substring(values, "\0")).as_py()
        if is_odd:
            return make.nulls(self._rows, promoted_type(column)), 1
        return self.typed(column)

    def _run(self, code: int) -> tuple[Array, Array]:
        """Return the places of an attribute among the entries, and their rows."""
        start, end = self._runs[code]
        return self._places.slice(start, end - start), self._row_of_place.slice(start, end - start)


def _runs(
    keys: Array, codes: Sequence[int], names: int
) -> tuple[Array, dict[int, tuple[int, int]]]:
    """Bring the places of keys together, each key's in their order; returns each code's part.

    `names` is the number of all codes.
    """
    if len(codes) <= _SEARCHED_MAX or names > _SORTED_MAX:
        pieces = [pc.indices_nonzero(pc.equal(keys, make.scalar(c, pa.int32()))) for c in codes]
        ends = list(accumulate(map(len, pieces), initial=0))
        places = make.concat_arrays(pieces) if pieces else make.array([], pa.uint64())
        return places, dict(zip(codes, pairwise(ends), strict=True))
    places = pc.array_sort_indices(keys)
    ordered, row_codes = keys.take(places), make.array(codes, pa.int32())
    starts = pc.search_sorted(ordered, row_codes, side="left").to_pylist()
    ends = pc.search_sorted(ordered, row_codes, side="right").to_pylist()
    return places, dict(zip(codes, zip(starts, ends, strict=True), strict=True))


def _dictionary(values: Array, value_of_row: Array | None) -> Array:
    """Make a dictionary array of texts; `value_of_row` is each row's index, None = its position.

    The dictionary has texts that hardly repeat as they come: their file has none, and to hash them
    takes ten times as long as to move them.
    """
    if values.null_count or not is_unrepeated(cast("pa.Array[Any]", values), _SAMPLE_VALUES):
        encoded = values.dictionary_encode()
        if value_of_row is None:
            return encoded
        return dictionary(encoded.indices.take(value_of_row), encoded.dictionary)
    if value_of_row is None:
        value_of_row = make.arange(0, len(values))
    return dictionary(value_of_row.cast(pa.int32()), values)


def _codes(lists: Array, names: Sequence[str]) -> dict[str, int]:
    """Return the code of each name in the dictionary of the keys, if it is there."""
    keys = field(lists.flatten(), "key").dictionary
    codes = pc.index_in(make.array(names, pa.string()), value_set=keys).to_pylist()
    return {name: code for name, code in zip(names, codes, strict=True) if code is not None}


def _typed(anys: Array, places: Array, column: PromotedColumn) -> tuple[Array, int]:
    """Convert the values at some places; counts those that do not fit the column's type."""
    typed: Array | None = None
    for member, take in _MEMBERS[column.kql_type]:
        values = take(field(anys, member).take(places))
        typed = values if typed is None else pc.coalesce(typed, values)
        if typed.null_count == 0:
            return typed, 0
    others = places if typed is None else places.filter(pc.is_null(typed))
    texts = json_text.values(anys.take(others)).to_pylist()
    parsed, failures = converted(
        [json.loads(text, object_pairs_hook=first_of_each) for text in texts], column
    )
    unparsed = cast(Array, parsed)
    if typed is None or len(others) == len(typed):
        return unparsed, failures
    return pc.coalesce(typed, spread(pc.is_null(typed), unparsed)), failures


def _as_is(values: Array) -> Array:
    return values


def _as_text(values: Array) -> Array:
    return values.cast(pa.string())


def _as_int32(values: Array) -> Array:
    fits = pc.and_(pc.greater_equal(values, _INT32_MIN), pc.less_equal(values, _INT32_MAX))
    return pc.if_else(fits, values, make.scalar(None, pa.int64())).cast(pa.int32())


def _as_real(values: Array) -> Array:
    return pc.cast(values, pa.float64(), safe=False)


def _as_time(values: Array) -> Array:
    return values.cast(TIMESTAMP)


def _certain_times(texts: Array) -> Array:
    return _certain(texts, _CERTAIN_TIME).cast(TIMESTAMP)


def _certain_guids(texts: Array) -> Array:
    return pc.ascii_lower(_certain(texts, _CERTAIN_GUID))


def _certain(texts: Array, pattern: str) -> Array:
    fits = pc.match_substring_regex(texts, pattern)
    return pc.if_else(fits, texts, make.scalar(None, pa.string()))


# Members whose values are taken in bulk, by the column's type.
_MEMBERS: dict[str, tuple[tuple[str, _Take], ...]] = {
    "bool": (("bool_value", _as_is),),
    "int": (("int_value", _as_int32),),
    "long": (("int_value", _as_is),),
    "real": (("double_value", _as_is), ("int_value", _as_real)),
    "string": (("string_value", _as_is), ("int_value", _as_text), ("bool_value", _as_text)),
    "datetime": (("string_value", _certain_times), ("int_value", _as_time)),
    "timespan": (("int_value", _as_is),),
    "guid": (("string_value", _certain_guids),),
    "dynamic": (
        ("string_value", json_text.quoted),
        ("int_value", _as_text),
        ("bool_value", _as_text),
    ),
}
