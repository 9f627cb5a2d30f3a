"""Order of rows against a plain sort, and dictionaries that stay small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.parquet import sorting
from segments.parquet.sorting import compact, is_sorted, shrink, sort_by
from tests.support.examples import examples
from tests.support.parquet.rows import plain

# A few values each, so that keys repeat.
KEYS: dict[str, tuple[pa.DataType, st.SearchStrategy[object]]] = {
    "number": (pa.int64(), st.sampled_from([None, -(2**63), -1, 0, 7, 2**63 - 1])),
    "real": (pa.float64(), st.sampled_from([None, float("nan"), float("-inf"), -0.0, 0.0, 2.5])),
    "flag": (pa.bool_(), st.sampled_from([None, False, True])),
    "text": (pa.string(), st.sampled_from([None, "", "a", "ab", "b", "é", "\U0001f600"])),
    "name": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from([None, "", "z", "é", "a"])),
    "time": (pa.timestamp("ns", "UTC"), st.sampled_from([None, -5, 0, 1, 2**62])),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draw a table of a few chunks, each with its own dictionaries; `row` says where a row was.

    Its dictionaries hold repeated values and some that no row uses.
    """
    chunks: list[pa.RecordBatch] = []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.integers(0, 12))
        columns: list[pa.Array[Any]] = []
        for type_, values in KEYS.values():
            found = draw(st.lists(values, min_size=rows, max_size=rows))
            columns.append(
                _dictionary(found) if pa.types.is_dictionary(type_) else pa.array(found, type_)
            )
        start = sum(chunk.num_rows for chunk in chunks)
        columns.append(pa.array(range(start, start + rows), pa.int64()))
        chunks.append(pa.record_batch(columns, names=[*KEYS, "row"]))
    return pa.Table.from_batches(chunks)


key_names = st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=3, unique=True)


@pytest.mark.parametrize("small_rows", [0, 8_192], ids=["column by column", "in one call"])
@settings(max_examples=examples(150), deadline=None)
@given(table=tables(), names=key_names)
def test_a_sort_is_that_of_the_keys_and_keeps_the_order_of_equal_ones(
    small_rows: int, table: pa.Table, names: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_SMALL_ROWS", small_rows)

        found = sort_by(table, names)

    expected = _plain_order(table, names)
    assert found["row"].to_pylist() == expected
    assert plain(found) == [plain(table)[row] for row in expected]
    assert found.schema == table.schema


@settings(max_examples=examples(300), deadline=None)
@given(table=tables(), names=key_names)
def test_rows_are_sorted_if_a_sort_would_leave_them(table: pa.Table, names: list[str]) -> None:
    batch = _one_batch(table)

    assert is_sorted(batch, names) == (_plain_order(table, names) == list(range(table.num_rows)))
    assert is_sorted(_one_batch(sort_by(table, names)), names)


@settings(max_examples=examples(150), deadline=None)
@given(table=tables(), start=st.integers(0, 40), rows=st.integers(0, 12))
def test_a_shrunk_slice_has_its_rows_and_no_more_values_than_rows(
    table: pa.Table, start: int, rows: int
) -> None:
    part = table.slice(start, rows)

    found = shrink(part)

    assert plain(found) == plain(part)
    assert found.schema == part.schema
    for chunk in found["name"].chunks:
        assert isinstance(chunk, pa.DictionaryArray)
        assert len(chunk.dictionary) <= max(1, len(chunk))


@settings(max_examples=examples(150), deadline=None)
@given(table=tables())
def test_a_compact_batch_has_each_used_value_once(table: pa.Table) -> None:
    for batch in table.to_batches():
        found = compact(batch)

        assert plain(pa.Table.from_batches([found])) == plain(pa.Table.from_batches([batch]))
        names: Any = found.column("name")
        used = {name for name in names.to_pylist() if name is not None}
        assert sorted(names.dictionary.to_pylist()) == sorted(used)


def test_a_dictionary_below_the_limit_is_left_alone() -> None:
    batch = pa.record_batch([_dictionary(["a", "b"])], names=["name"])

    assert compact(batch, 1_000).column(0).equals(batch.column(0))
    assert shrink(pa.Table.from_batches([batch.slice(0, 1)])).num_rows == 1


def _dictionary(values: Sequence[object]) -> pa.Array[Any]:
    """Encode values with a dictionary that has an unused one and each used one up to twice."""
    known = ["unused", *dict.fromkeys(v for v in values if v is not None)]
    known += known[1:]
    codes: list[int | None] = []
    for row, value in enumerate(values):
        first = known.index(value) if value is not None else None
        codes.append(first if first is None or row % 2 else first + len(known) // 2)
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(known, pa.string()))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    (*_, batch) = table.unify_dictionaries().combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=table.schema)
    ]
    return batch


def _plain_order(table: pa.Table, names: Sequence[str]) -> list[int]:
    """Sort row numbers by Python's own order: values, then NaN, then null; text by its bytes."""
    rows = table.set_column(
        table.schema.get_field_index("time"), "time", table["time"].cast(pa.int64())
    ).to_pylist()

    def part(value: object) -> tuple[int, object]:
        if value is None:
            return 2, 0
        if isinstance(value, float) and math.isnan(value):
            return 1, 0
        return 0, value.encode() if isinstance(value, str) else value

    return sorted(range(len(rows)), key=lambda row: [part(rows[row][name]) for name in names])
