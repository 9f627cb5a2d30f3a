"""The form of each type in each format: of SQL and KQL, alone and within other types."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segplane.query.results import output
from segplane.query.results.duckdb_types import forms, with_arrow_types
from segplane.query.results.forms import dynamic_json
from tests.support.command_line import RunCommand
from tests.support.examples import some
from tests.support.gateway.segments import SegmentWriter

# An expression of SQL, its JSON, and its cell in CSV if that is another text.
SCALARS: list[tuple[str, str, str | None]] = [
    ("true", "true", None),
    ("1::TINYINT", "1", None),
    ("18446744073709551615::UBIGINT", "18446744073709551615", None),
    ("9007199254740993", "9007199254740993", None),
    ("sum(9007199254740993)", "9007199254740993", None),
    ("-170141183460469231731687303715884105727::HUGEINT", "-" + str(2**127 - 1), None),
    ("340282366920938463463374607431768211455::UHUGEINT", str(2**128 - 1), None),
    ("'123456789012345678901234567890123456789012345678'::BIGNUM", "1234567890" * 4 + "12345678",
     None),
    ("0.1::FLOAT", "0.10000000149011612", None),
    ("1e300", "1e+300", None),
    ("'nan'::DOUBLE", '"NaN"', "NaN"),
    ("'-inf'::DOUBLE", '"-Infinity"', "-Infinity"),
    ("1.50::DECIMAL(4,2)", "1.50", None),
    ("0::DECIMAL(38,10)", "0.0000000000", None),
    ("9007199254740993.1::DECIMAL(38,1)", "9007199254740993.1", None),
    ("'a \"b\"'", '"a \\"b\\""', 'a "b"'),
    ("'\\xAA\\x01'::BLOB", '"aa01"', "aa01"),
    ("'101'::BIT", '"101"', "101"),
    ("DATE '2026-01-02'", '"2026-01-02"', "2026-01-02"),
    ("DATE 'infinity'", '"infinity"', "infinity"),
    ("TIME '12:00:00'", '"12:00:00"', "12:00:00"),
    ("TIME '24:00:00'", '"24:00:00"', "24:00:00"),
    ("'12:00:00.123456789'::TIME_NS", '"12:00:00.123456789"', "12:00:00.123456789"),
    ("'12:00:00+02'::TIMETZ", '"12:00:00+02"', "12:00:00+02"),
    ("TIMESTAMP '2026-01-02'", '"2026-01-02T00:00:00.000000Z"', "2026-01-02T00:00:00.000000Z"),
    ("TIMESTAMP '10000-01-02'", '"10000-01-02T00:00:00.000000Z"', "10000-01-02T00:00:00.000000Z"),
    ("TIMESTAMPTZ '2026-01-02'", '"2026-01-02T00:00:00.000000Z"', "2026-01-02T00:00:00.000000Z"),
    ("TIMESTAMP_NS '2026-01-02 00:00:00.123456789'", '"2026-01-02T00:00:00.123456789Z"',
     "2026-01-02T00:00:00.123456789Z"),
    ("INTERVAL '1 month -2 days 3.5 seconds'", '"P1M-2DT3.5S"', "P1M-2DT3.5S"),
    ("INTERVAL '0 seconds'", '"PT0S"', "PT0S"),
    ("'74be27de-1e4e-49d9-b579-fe0b331d3642'::UUID", '"74be27de-1e4e-49d9-b579-fe0b331d3642"',
     "74be27de-1e4e-49d9-b579-fe0b331d3642"),
    ("'a'::ENUM('a', 'b')", '"a"', "a"),
    ("'{\"a\":1}'::JSON", '{"a": 1}', '{"a":1}'),
    ("union_value(a := 1)", "1", None),
]  # fmt: skip
WITHIN = {
    "alone": ("{0}", "{0}"),
    "list": ("[{0}, NULL]", "[{0}, null]"),
    "array": ("array_value({0}, NULL)", "[{0}, null]"),
    "struct": ("{{'s': {0}, 'n': NULL}}", '{{"s": {0}, "n": null}}'),
    "map": ("MAP {{'m': {0}, 'n': NULL}}", '{{"m": {0}, "n": null}}'),
    "lists of structs": ("[[{{'s': {0}}}]]", '[[{{"s": {0}}}]]'),
}


def _results(sql: str) -> dict[str, Any]:
    """Run a statement and return its result in each format."""
    results: dict[str, Any] = {}
    for name, write in (("json", output.write_json), ("csv", output.write_csv)):
        text = io.StringIO()
        write(*_opened(sql), text)
        results[name] = text.getvalue()
    for name, write_bytes in (("arrow", output.write_arrow), ("parquet", output.write_parquet)):
        binary = io.BytesIO()
        write_bytes(*_opened(sql), binary)
        results[name] = binary.getvalue()
    return results


def _opened(sql: str) -> tuple[pa.RecordBatchReader, list[pa.DataType]]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    relation = connection.sql(sql)
    reader = with_arrow_types(relation).to_arrow_reader(2)
    return reader, forms(relation, reader.schema)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_text_with_an_end_of_a_line_is_one_cell_of_csv(end: str) -> None:
    text = io.StringIO(newline="")
    output.write_csv(*_opened(f"SELECT 'a' || '{end}' || '=b' AS x, 1 AS y"), text)

    assert text.getvalue() == f'x,y\n"a{end}=b",1\n'


@pytest.mark.parametrize("within", some([(within,) for within in WITHIN], 5))
@pytest.mark.parametrize(("expression", "as_json", "cell"), SCALARS, ids=[s[0] for s in SCALARS])
def test_each_type_has_its_form_in_each_format(
    expression: str, as_json: str, cell: str | None, within: str
) -> None:
    outer, outer_json = WITHIN[within]
    value = f"SELECT {outer.format(expression)} AS x"
    # Nulls, and batches that begin within others.
    sql = f"FROM ({value}) UNION ALL SELECT NULL UNION ALL ({value}) UNION ALL ({value})"
    nested = outer_json.format(as_json)

    results = _results(sql)

    rows = [f'{{"x": {text}}}' for text in (nested, "null", nested, nested)]
    assert results["json"] == "[\n " + ",\n ".join(rows) + "\n]\n"
    json.loads(results["json"])
    cells = [row[0] for row in csv.reader(io.StringIO(results["csv"]))][1:]
    text = (cell or as_json) if within == "alone" else nested
    if within != "alone" or not expression.endswith("JSON"):
        assert cells == [text, "", text, text]
    with pa.ipc.open_stream(results["arrow"]) as stream:
        assert stream.read_all().num_rows == 4
    assert pq.read_table(io.BytesIO(results["parquet"])).num_rows == 4


ARROW_TYPES = [
    ("true", pa.bool_()),
    ("1::TINYINT", pa.int8()),
    ("9007199254740993", pa.int64()),
    ("18446744073709551615::UBIGINT", pa.uint64()),
    ("1::HUGEINT", pa.decimal128(38, 0)),
    ("1::UHUGEINT", pa.string()),
    ("1::BIGNUM", pa.string()),
    ("0.1::FLOAT", pa.float32()),
    ("'nan'::DOUBLE", pa.float64()),
    ("1.50::DECIMAL(4,2)", pa.decimal128(4, 2)),
    ("'a'", pa.string()),
    ("'a'::ENUM('a', 'b')", pa.dictionary(pa.uint8(), pa.string())),
    ("'74be27de-1e4e-49d9-b579-fe0b331d3642'::UUID", pa.string()),
    ("TIMESTAMP '2026-01-02'", pa.timestamp("us")),
    ("TIMESTAMPTZ '2026-01-02'", pa.timestamp("us", "UTC")),
    ("'2026-01-02'::TIMESTAMP_NS", pa.timestamp("ns")),
    ("DATE '2026-01-02'", pa.date32()),
    ("TIME '12:00:00'", pa.time64("us")),
    ("'12:00:00+02'::TIMETZ", pa.string()),
    ("INTERVAL 1 MONTH", pa.month_day_nano_interval()),
    ("'\\xAA'::BLOB", pa.binary()),
    ("'101'::BIT", pa.string()),
    ("'{}'::JSON", pa.string()),
    ("'{}'::JSON::VARIANT", pa.string()),
    ("[1]", pa.list_(pa.int32())),
    ("array_value(1, 2)", pa.list_(pa.int32(), 2)),
    ("{'s': 1}", pa.struct([("s", pa.int32())])),
    ("MAP {'m': 1}", pa.map_(pa.string(), pa.int32())),
    ("union_value(a := 1)", pa.sparse_union([pa.field("a", pa.int32())])),
]


@pytest.mark.parametrize(("expression", "type_"), ARROW_TYPES, ids=[c[0] for c in ARROW_TYPES])
def test_each_type_has_its_type_of_arrow(expression: str, type_: pa.DataType) -> None:
    # The value has no part in it: a null has the same type.
    sql = f"FROM (SELECT {expression} AS x) UNION ALL SELECT NULL"

    with pa.ipc.open_stream(_results(sql)["arrow"]) as stream:
        assert stream.schema.field("x").type == type_


def test_keys_of_maps_are_texts_and_equal_names_of_structs_stay() -> None:
    sql = "SELECT MAP {DATE '2026-01-02': 1} AS a, MAP {1.50: 2} AS b, MAP {} AS c, [] AS d"

    assert json.loads(_results(sql)["json"]) == [
        {"a": {"2026-01-02": 1}, "b": {"1.50": 2}, "c": {}, "d": []}
    ]


@pytest.mark.parametrize("number", [0, 1, 2**53 + 1, 2**63])
def test_a_sum_is_a_number_with_all_of_its_digits(number: int) -> None:
    results = _results(f"SELECT sum({number}::HUGEINT) AS s")

    assert json.loads(results["json"], parse_int=str)[0]["s"] == str(number)
    with pa.ipc.open_stream(results["arrow"]) as stream:
        assert stream.read_all().column("s").to_pylist() == [Decimal(number)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1,"a":2}', '{"a": 1}'),
        ('{"b":{"a":1,"a":2},"a":1}', '{"b": {"a": 1}, "a": 1}'),
        ("1e400", "1e400"),
        ('["x", 1' + "0" * 5_000 + "]", '["x", 1' + "0" * 5_000 + "]"),
        ("NaN", '"NaN"'),
        ("no JSON", '"no JSON"'),
        ('"\\ud800"', '"\\ud800"'),
        ('"é"', '"é"'),
    ],
)
def test_dynamic_values_are_json_whatever_they_hold(text: str, value: str) -> None:
    assert dynamic_json(text) == value
    dynamic_json(text).encode()


def test_deep_dynamic_values_are_texts() -> None:
    text = "[" * 100_000 + "]" * 100_000

    assert json.loads(dynamic_json(text)) == text


DOORS = [
    ("SELECT {'a': 1.50::DECIMAL(4,2), 'b': [INTERVAL 1 DAY], 'c': MAP {1: true}} AS x",
     '{"a": 1.50, "b": ["P1D"], "c": {"1": true}}'),
    ("SELECT sum(1) AS x", "1"),
    ("print x = dynamic({'a': [1, 2.5, true, null]})", '{"a": [1, 2.5, true, null]}'),
    ("print x = 9007199254740993", "9007199254740993"),
    ("print x = true", "true"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "value"), DOORS, ids=[door[0] for door in DOORS])
def test_the_command_line_writes_the_same_forms(
    run: RunCommand, segments: SegmentWriter, query: str, value: str, tmp_path: Path
) -> None:
    compact = "".join(value.split())

    as_json = run("query", query, "--format", "json").stdout
    as_csv = run("query", query, "--format", "csv").stdout
    table = run("query", query).stdout

    assert as_json == f'[\n {{"x": {value}}}\n]\n'
    for text in (list(csv.reader(io.StringIO(as_csv)))[1][0], table.splitlines()[1]):
        assert "".join(text.split()) == compact
    if query.startswith("SELECT"):
        assert json.loads(run("sql", "-c", query, "--json").stdout) == [{"x": json.loads(value)}]
        assert "".join(run("sql", "-c", query).stdout.splitlines()[1].split()) == compact


KQL_TYPES = [
    ("true", "true", pa.bool_()),
    ("int(1)", "1", pa.int32()),
    ("9007199254740993", "9007199254740993", pa.int64()),
    ("2.5", "2.5", pa.float64()),
    ("'a'", '"a"', pa.string()),
    ("datetime(2026-01-02)", '"2026-01-02T00:00:00.000000Z"', pa.timestamp("us", "UTC")),
    ("-1d - 1tick", '"-1.00:00:00.000000100"', pa.duration("ns")),
    ("timespan(1.02:03:04)", '"1.02:03:04"', pa.duration("ns")),
    ("timespan(null)", "null", pa.duration("ns")),
    ("guid(74be27de-1e4e-49d9-b579-fe0b331d3642)", '"74be27de-1e4e-49d9-b579-fe0b331d3642"',
     pa.string()),
    ("dynamic({'a': [1]})", '{"a": [1]}', pa.string()),
]  # fmt: skip


@pytest.mark.one_meta
@pytest.mark.parametrize(("value", "as_json", "type_"), KQL_TYPES, ids=[c[0] for c in KQL_TYPES])
def test_each_type_of_kql_has_its_forms(
    run: RunCommand,
    segments: SegmentWriter,
    value: str,
    as_json: str,
    type_: pa.DataType,
    tmp_path: Path,
) -> None:
    query, file = f"print x = {value}", tmp_path / "answer.arrow"

    assert run("query", query, "--format", "json").stdout == f'[\n {{"x": {as_json}}}\n]\n'
    assert run("query", query, "--format", "arrow", "--output", str(file)).exit_code == 0

    with pa.ipc.open_stream(file.read_bytes()) as stream:
        assert stream.schema.field("x").type == type_
        assert stream.read_all().num_rows == 1
    if pa.types.is_duration(type_):
        parquet = tmp_path / "answer.parquet"
        assert run("query", query, "--format", "parquet", "--output", str(parquet)).exit_code == 0
        column = pq.ParquetFile(parquet).schema.column(0)
        assert (column.physical_type, str(column.logical_type)) == ("INT64", "None")
