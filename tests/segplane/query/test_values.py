"""Values as they come out of a query: numbers of attributes, times beyond Python's, equal names."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segments.parquet.columns.promoted import promote
from segplane.query.results.arrow_values import unique_names
from segplane.query.results.forms import ROW_FILES, json_texts
from tests.kql.test_reference import JSON_VALUES, alike, tree
from tests.segplane.query.conftest import QueryDriver
from tests.support.command_line import RunCommand
from tests.support.gateway.segments import SegmentWriter
from tests.support.kql.reference import evaluate
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of

KINDS = ("INT", "LONG", "REAL", "STRING")
EXPRESSIONS = [
    f"{read} {operator} {value}"
    for read in ("attributes['k']",)
    for operator in ("==", "<", ">=", "!=")
    for value in ("2", "5", "100", "1.5", "9007199254740993", "9223372036854775807", "'Infinity'")
    if not (value.startswith("'") and operator in ("<", ">="))
] + ["tolong(attributes['k'])", "toint(attributes['k'])", "toreal(attributes['k'])"]


def write_attributes(segments: SegmentWriter) -> None:
    """Write a file with an attribute of every type, with the columns that are promoted now."""
    spec = segments.spec()
    table = rows_of("logs", len(JSON_VALUES), spec, 1)
    texts = pa.array([f'{{"k":{value}}}' for value in JSON_VALUES], pa.string())
    columns: dict[str, pa.Array[Any]] = {
        "timestamp": pa.array(range(EPOCH, EPOCH + len(JSON_VALUES)), pa.int64()),
        "attributes": texts,
        "body": pa.array(list(JSON_VALUES), pa.string()),
    }
    sources = dict.fromkeys(("attributes", "resource_attributes", "scope_attributes"), texts)
    arrays, _ = promote(pa.record_batch(sources), spec.promoted)
    columns |= {c.name: array for c, array in zip(spec.promoted, arrays, strict=True)}
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(name)
        table = table.set_column(place, field, values.cast(field.type))
    segments.register({"logs": table}, spec)


@pytest.mark.long
def test_a_promotion_changes_no_value_of_files_with_and_without_it(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    columns = ", ".join(f"x{n} = {text}" for n, text in enumerate(EXPRESSIONS))
    query = f"web | project body, {columns}"
    write_attributes(segments)
    before = queries.rows(query)

    promoted = [
        common_pb2.PromotedColumn(
            name=f"p_{kind}",
            type=getattr(common_pb2, f"KQL_TYPE_{kind}"),
            scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
            attribute="k",
        )
        for kind in KINDS
    ]
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=promoted))
    segments.client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    )
    write_attributes(segments)
    both = queries.rows(query)

    assert len(before) == len(JSON_VALUES)
    assert sorted(map(repr, both)) == sorted(map(repr, before * 2))
    assert {"attributes", "p_LONG", "p_REAL"} <= set(queries.plan(query).reads[0].columns)
    for body, *found in before:
        row = {"attributes": f'{{"k":{body}}}', "dynamic": {"attributes"}}
        for text, value in zip(EXPRESSIONS, found, strict=True):
            assert alike(value, evaluate(tree(text), row)), f"{text} of {body}: {value!r}"


def test_columns_of_equal_names_are_numbered_in_every_format(
    run: RunCommand, segments: SegmentWriter, tmp_path: Path
) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 3 AS a1, 4 AS a"
    objects = [{"a": 1, "a2": 2, "a1": 3, "a3": 4}]

    assert json.loads(run("query", sql, "--format", "json").stdout) == objects
    assert json.loads(run("sql", "-c", sql, "--json").stdout) == objects
    assert run("query", sql, "--format", "csv").stdout == "a,a2,a1,a3\n1,2,3,4\n"
    assert run("sql", "-c", "SELECT 1 AS a, 2 AS a").stdout.splitlines()[0].split() == ["A", "A1"]
    run("query", sql, "--format", "arrow", "--output", str(tmp_path / "x"))
    stream = pa.ipc.open_stream((tmp_path / "x").read_bytes()).read_all()
    assert stream.to_pylist() == objects
    kql = "print a = 1, k = 1 | join kind=inner (print a = 2, k = 1) on k"
    assert json.loads(run("query", kql, "--format", "json").stdout) == [
        {"a": 1, "k": 1, "a1": 2, "k1": 1}
    ]


def test_names_are_taken_once() -> None:
    assert unique_names(["a", "a", "b", "a"]) == ["a", "a1", "b", "a2"]
    assert unique_names(["a", "a", "a1"]) == ["a", "a2", "a1"]
    assert unique_names([]) == []


FAR = [
    ("timestamptz '10000-01-01'", "10000-01-01T00:00:00+00:00"),
    ("timestamp '10000-01-01 01:02:03.5'", "10000-01-01T01:02:03.500000"),
    ("timestamptz 'infinity'", "infinity"),
    ("timestamp '-infinity'", "-infinity"),
    ("date 'infinity'", "infinity"),
    ("date '-infinity'", "-infinity"),
    ("date '10000-02-29'", "10000-02-29"),
    ("date '4713-01-01 (BC)'", "-4712-01-01"),
    ("timestamp_s '292000-01-01 00:00:00'", "292000-01-01T00:00:00"),
    ("[timestamp '10000-01-01', NULL]", ["10000-01-01T00:00:00", None]),
    ("{'a': date 'infinity', 'b': 1}", {"a": "infinity", "b": 1}),
    ("MAP {'a': date 'infinity'}", {"a": "infinity"}),
]


@pytest.mark.parametrize(("expression", "text"), FAR, ids=[case[0] for case in FAR])
def test_times_beyond_pythons_years_are_texts(expression: str, text: Any) -> None:
    with duckdb.connect() as connection:
        sql = f"SELECT {expression} AS x UNION ALL SELECT NULL"
        column = connection.sql(sql).to_arrow_table().column("x").combine_chunks()

    texts = json_texts(column, column.type, ROW_FILES)
    assert [json.loads(value) for value in texts] == [text, None]


def test_times_beyond_pythons_years_come_out_of_every_command(
    run: RunCommand, segments: SegmentWriter
) -> None:
    segments.write(rows=1)
    sql = "SELECT timestamptz '9999-12-31' + INTERVAL 1 DAY AS t, date 'infinity' AS d"
    row = {"t": "10000-01-01T00:00:00.000000Z", "d": "infinity"}

    assert json.loads(run("query", sql, "--format", "json").stdout) == [row]
    assert run("query", sql, "--format", "csv").stdout.splitlines()[1] == ",".join(row.values())
    # Its times have the form of those that Python has.
    row["t"] = "10000-01-01T00:00:00+00:00"
    assert json.loads(run("sql", "-c", sql, "--json").stdout) == [row]
    assert run("sql", "-c", sql).stdout.splitlines()[1].split() == list(row.values())
    # KQL's times end with the year 9999.
    kql = "web | project t = (timestamp - timestamp) + datetime(9999-12-31) + 1d"
    assert json.loads(run("query", kql, "--format", "json").stdout) == [{"t": None}]


def test_division_by_zero_and_its_like_are_written_as_kusto_writes_them(
    run: RunCommand, segments: SegmentWriter
) -> None:
    kql = "print a = 1.0 / 0, b = 0.0 / 0, c = -1.0 / 0"
    sql = "SELECT 1e0 / 0 AS a, 0e0 / 0 AS b, -1e0 / 0 AS c"
    row = {"a": "Infinity", "b": "NaN", "c": "-Infinity"}

    for text in (kql, sql):
        assert json.loads(run("query", text, "--format", "json").stdout) == [row]
        assert run("query", text, "--format", "csv").stdout == "a,b,c\nInfinity,NaN,-Infinity\n"
    assert json.loads(run("sql", "-c", sql, "--json").stdout) == [row]
