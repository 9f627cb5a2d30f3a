"""Columns whose values hardly repeat are written without a dictionary, and read as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.parquet.columns.repetition import is_unrepeated, unrepeated_columns
from segments.parquet.reader import SegmentFile
from segments.parquet.spec import PromotedColumn, SegmentSpec
from tests.support.parquet.rows import rows_of, write_segment

ROWS = 20_000
NAMES = ("id", "title", "number", "code", "rare")
TYPES = ("string", "string", "long", "int", "string")
SPEC = SegmentSpec(
    promoted=tuple(
        PromotedColumn(name, kql_type, "record", name, 1_000 + 2 * place, is_bound=True)
        for place, (name, kql_type) in enumerate(zip(NAMES, TYPES, strict=True))
    )
)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([f"id-{n}" for n in range(ROWS)], True, id="distinct"),
        pytest.param([None if n % 3 else f"id-{n}" for n in range(ROWS)], True, id="with nulls"),
        pytest.param([f"id-{n % 9_000}" for n in range(ROWS)], False, id="each twice"),
        pytest.param([f"id-{n // 2_000}" for n in range(ROWS)], False, id="few"),
        pytest.param([f"id-{n}" for n in range(900)], False, id="too few to judge"),
        pytest.param([None] * ROWS, False, id="null"),
        pytest.param([None] * (ROWS - 1) + ["a"], False, id="one value"),
        pytest.param([], False, id="no rows"),
    ],
)
def test_a_sample_tells_whether_values_repeat(values: list[str | None], expected: bool) -> None:
    texts = pa.array(values, pa.string())

    assert is_unrepeated(texts) == expected
    assert is_unrepeated(pa.chunked_array([texts.dictionary_encode()])) == expected
    # Equal values stand in such a dictionary as often as in the rows.
    assert is_unrepeated(_uncoded(texts)) == expected


def test_every_table_with_values_has_its_say() -> None:
    distinct = pa.table({"a": pa.array(range(ROWS)), "b": pa.array(range(ROWS))})
    absent = pa.table({"a": pa.nulls(ROWS, pa.int64())})
    repeated = pa.table({"b": pa.array([1] * ROWS)})

    assert unrepeated_columns([distinct, absent, repeated], ["a", "b", "c"]) == {"a"}


def test_a_column_of_distinct_values_has_no_dictionary_in_the_file(tmp_path: Path) -> None:
    path, table = tmp_path / "x.parquet", _table(ROWS)

    write_segment(path, {"logs": table}, SPEC)

    encodings = _encodings(path)
    assert "DELTA_BINARY_PACKED" in encodings["number"]
    for name in ("id", "number"):
        assert not encodings[name] & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}, name
    for name in ("title", "code", "rare"):
        assert encodings[name] & {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}, name
    with SegmentFile(path) as segment:
        read = pa.Table.from_batches(list(segment.batches("logs", ROWS)))
    for name in NAMES:
        assert sorted(map(str, read[name].to_pylist())) == sorted(
            map(str, table[name].to_pylist())
        ), name


def test_a_later_row_group_of_repeated_values_is_read_as_it_was(tmp_path: Path) -> None:
    path, first, second = tmp_path / "x.parquet", _table(ROWS), _table(ROWS, repeated=True)

    write_segment(path, {"logs": first, "traces": _as_traces(second)}, SPEC)

    with SegmentFile(path) as segment:
        read = pa.Table.from_batches(list(segment.batches("traces", ROWS)))
    assert set(read["id"].to_pylist()) == {"id-0"}
    assert read.num_rows == ROWS


def _table(rows: int, *, repeated: bool = False) -> pa.Table:
    table = rows_of("logs", rows, SPEC)
    texts = pa.array([f"id-{0 if repeated else n * 7_919:x}" for n in range(rows)])
    columns: dict[str, Any] = {
        "id": _uncoded(texts),
        "title": pa.array([f"title-{n % 7}" for n in range(rows)]).dictionary_encode(),
        "number": pa.array([n * 104_729 for n in range(rows)], pa.int64()),
        "code": pa.array([n % 5 for n in range(rows)], pa.int32()),
        "rare": pa.array([f"r{n}" if n < 10 else None for n in range(rows)]).dictionary_encode(),
    }
    for name, column in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _as_traces(logs: pa.Table) -> pa.Table:
    table = rows_of("traces", logs.num_rows, SPEC)
    for name in NAMES:
        table = table.set_column(table.schema.get_field_index(name), name, logs[name])
    return table


def _uncoded(texts: pa.Array[Any]) -> Any:
    """Make a dictionary array whose dictionary is the texts themselves, nulls apart."""
    places = pa.array([n if text.is_valid else None for n, text in enumerate(texts)], pa.int32())
    return pa.DictionaryArray.from_arrays(places, texts.fill_null("unused"))


def _encodings(path: Path) -> dict[str, set[str]]:
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    return {column.path_in_schema: set(column.encodings) for column in columns}
