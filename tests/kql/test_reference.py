"""Queries over random small tables give what a reference interpreter gives, on DuckDB.

Attributes hold values of all types: numbers around 2^53, 2^63 and 1e400, fractions, texts that look
like numbers, arrays, bags. Each table is read with and without promoted columns.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from kql.dataset_table import dataset_table, promoted
from kql.queries import compile_query
from kql.sql.relations import to_sql
from kql.syntax.parser import parse_query
from kql.typed import Table
from kql.types import KqlType
from segments.parquet.columns.promoted import promote
from segments.parquet.spec import PromotedColumn
from tests.support.examples import examples
from tests.support.kql.reference import Dynamic, elements, evaluate, parsed

TYPES: tuple[KqlType, ...] = ("int", "long", "real", "string", "bool")
COLUMNS = [promoted(f"p_{type_}", type_, "record", "k") for type_ in TYPES]
COMPLETE = dataset_table("web", COLUMNS, [column.name for column in COLUMNS])
PLAIN = dataset_table("web", COLUMNS)
JSON_VALUES = (
    *("null", "true", "false", '""', '"5"', '"5.0"', '"1.5"', '"+6"', '"1e400"', '"inf"', '" 5"'),
    *('"NaN"', '"/cart"', '"Infinity"', '"1e3"', '"00000000000000000000000000000000000000005"'),
    *("0", "-0.0", "1", "1.5", "-1.5", "2", "2.0", "5", "5.0", "100", "150.5", "0.1", "1e3"),
    *("2147483647", "2147483647.9", "2147483648", "9007199254740991", "9007199254740992"),
    *("9007199254740993", "9007199254740993.0", "-9007199254740993", "9.007199254740992e15"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "9.3e18"),
    *("-9223372036854775809", "18446744073709551616", "1e30", "1e400", "-1e400", "1" + "0" * 400),
    *(r'"\/cart"', r'"\u0074rue"', "5e2"),
    *("[]", "{}", "[1.5]", '[1,"x",null]', '{"a":1}', '{"a":1,"b":[2],"c":null}'),
)
LONGS = ("0", "1", "2", "5", "100", "-1", "2147483648", "9007199254740992", "9007199254740993",
         "9223372036854775807", "int(5)", "int(-2)")  # fmt: skip
REALS = ("1.5", "5.0", "0.1", "1e300", "9007199254740992.0", "-1.5")
TEXTS = ("'/cart'", "'Infinity'", "'true'", "''", "'5'")
CONNECTION = duckdb.connect(config={"threads": 1})
READ = "attributes['k']"
DOTTED = "attributes.http.route"
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
json_values = st.sampled_from(JSON_VALUES)


@st.composite
def attributes(draw: st.DrawFn) -> str | None:
    """Draw the text of a record's attributes: the key k, and a route with dots or nested."""
    members = []
    if draw(st.integers(0, 5)):
        members.append(f'"k":{draw(json_values)}')
    route = draw(st.integers(0, 3))
    if route & 1:
        members.append(f'"http.route":{draw(st.sampled_from(JSON_VALUES))}')
    if route & 2:
        inner = draw(st.sampled_from(["route", "method"]))
        members.append(f'"http":{{"{inner}":{draw(json_values)}}}')
    return draw(st.sampled_from([f"{{{','.join(members)}}}"] * 9 + [None]))


numbers = st.one_of(st.sampled_from(LONGS), st.sampled_from(REALS))
values = st.sampled_from((READ, READ, DOTTED))


@st.composite
def conditions(draw: st.DrawFn) -> str:
    """Draw a condition over attributes, and columns beside them."""
    value = draw(values)
    kind = draw(st.integers(0, 6))
    if kind == 0:
        options = ", ".join(draw(st.lists(numbers, min_size=1, max_size=3)))
        return f"{value} {draw(st.sampled_from(['in', '!in']))} ({options})"
    if kind == 1:
        return f"{value} between ({draw(numbers)} .. {draw(numbers)})"
    if kind == 2:
        return f"{value} {draw(st.sampled_from(['==', '!=']))} {draw(st.sampled_from(TEXTS))}"
    if kind == 3:
        return f"{draw(numbers)} {draw(st.sampled_from(_COMPARED))} {value}"
    if kind == 4:
        return f"{value} {draw(st.sampled_from(_COMPARED))} {draw(st.sampled_from(['l', 'r']))}"
    return f"{value} {draw(st.sampled_from(_COMPARED))} {draw(numbers)}"


results = st.one_of(
    conditions(),
    st.tuples(conditions(), conditions()).map(lambda two: f"({two[0]}) and not({two[1]})"),
    st.tuples(st.sampled_from(["tolong", "toint", "toreal", "isnull"]), values).map(
        lambda call: f"{call[0]}({call[1]})"
    ),
    values.map(lambda value: f"iff({value} > 1, tolong({value}), -1)"),
)
rows = st.lists(
    st.tuples(
        attributes(),
        st.sampled_from([None, 0, 5, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
        st.sampled_from([None, 0.0, 1.5, 2.0**53, 2.0**63, math.nan, math.inf, -math.inf]),
    ),
    min_size=1,
    max_size=6,
)
Rows = Sequence[tuple[str | None, int | None, float | None]]
_SETTINGS = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@_SETTINGS
@example(table=[('{"k":1.5}', None, None)], expressions=[f"{READ} < 2"])
@example(table=[('{"k":150.5}', None, None)], expressions=[f"{READ} > 100"])
@example(table=[('{"k":9007199254740993}', None, None)], expressions=[f"{READ} > 9007199254740992"])
@example(table=[('{"k":9223372036854775808}', 2**63 - 1, None)], expressions=[f"{READ} > l"])
@example(table=[('{"http.route":"/cart"}', None, None)], expressions=[f"{DOTTED} == '/cart'"])
@given(table=rows, expressions=st.lists(results, min_size=1, max_size=8))
def test_expressions_over_attributes_have_the_reference_values(
    table: Rows, expressions: list[str]
) -> None:
    names = [f"x{number}" for number in range(len(expressions))]
    columns = ", ".join(f"{n} = {e}" for n, e in zip(names, expressions, strict=True))

    expected = [[evaluate(tree(e), row) for e in expressions] for row in reference_rows(table)]

    for read in (PLAIN, COMPLETE):
        found = run(table, read, f"web | sort by id asc | project {columns}")
        for row, (values_found, values_expected) in enumerate(zip(found, expected, strict=True)):
            for expression, a, b in zip(expressions, values_found, values_expected, strict=True):
                assert alike(a, b), f"{expression} of {table[row]}: {a!r}, expected {b!r}"


@pytest.mark.parametrize("end", [-(2**63), 2**63 - 1], ids=["least", "greatest"])
def test_numbers_around_an_end_of_the_longs_compare_exactly(end: int) -> None:
    """A real stands for all numbers near an end, so numbers beyond it must not equal it."""
    texts = [str(end + step) for step in (-2048, -1025, -1, 0, 1, 1025, 2048)]
    texts += ["-9.3e18", "9.3e18", "-0.5", "0.5"]
    table = [(f'{{"k":{text}}}', end, None) for text in texts]
    expressions = [f"{READ} {operator} l" for operator in _COMPARED]
    columns = ", ".join(f"x{n} = {e}" for n, e in enumerate(expressions))

    expected = [[evaluate(tree(e), row) for e in expressions] for row in reference_rows(table)]

    for read in (PLAIN, COMPLETE):
        rows_read = run(table, read, f"web | sort by id asc | project {columns}")
        assert [list(row) for row in rows_read] == expected


@_SETTINGS
@given(table=rows, condition=conditions())
def test_rows_that_a_condition_keeps_are_those_of_the_reference(
    table: Rows, condition: str
) -> None:
    expected = [
        number
        for number, row in enumerate(reference_rows(table))
        if evaluate(tree(condition), row) is True
    ]

    for read in (PLAIN, COMPLETE):
        found = run(table, read, f"web | where {condition} | project id | sort by id asc")
        assert [row[0] for row in found] == expected, f"{condition} over {table}"


@_SETTINGS
@example(table=[('{"k":{"a":1,"b":[2]}}', None, None)])
@given(table=rows)
def test_mv_expand_gives_the_elements_and_properties_of_the_reference(table: Rows) -> None:
    expected = [
        (number, element.value)
        for number, row in enumerate(reference_rows(table))
        for element in elements(evaluate(tree(READ), row))
    ]

    found = run(table, PLAIN, f"web | mv-expand e = {READ} | project id, e")

    assert sorted(((n, parsed(e)) for n, e in found), key=repr) == sorted(expected, key=repr)


def tree(expression: str) -> Any:
    """Return the syntax tree of an expression."""
    (operator,) = parse_query(f"t | where {expression}").pipeline.operators
    return operator.items[0].expression


def reference_rows(table: Rows) -> list[dict[str, Any]]:
    """Return rows as the reference reads them."""
    return [
        {"attributes": a, "l": whole, "r": real, "dynamic": {"attributes"}, "reals": {"r"}}
        for a, whole, real in table
    ]


def run(table: Rows, read: Table, query: str) -> list[tuple[Any, ...]]:
    """Run a query over a table with the columns that a writer promotes."""
    texts = pa.array([a for a, _, _ in table], pa.string())
    sources = dict.fromkeys(("attributes", "resource_attributes", "scope_attributes"), texts)
    specs = [PromotedColumn(c.name, c.type, "record", c.attribute) for c in COLUMNS]
    arrays, _ = promote(pa.record_batch(sources), specs)
    plain = [a.cast(a.type.value_type) if pa.types.is_dictionary(a.type) else a for a in arrays]
    columns = {
        "id": pa.array(range(len(table)), pa.int64()),
        "l": pa.array([whole for _, whole, _ in table], pa.int64()),
        "r": pa.array([r for _, _, r in table], pa.float64()),
        **sources,
        **dict(zip((s.name for s in specs), plain, strict=True)),
    }
    types = {**read.columns, "id": "long", "l": "long", "r": "real"}
    named = Table("web", types, read.stored, read.lists, read.promoted)
    CONNECTION.register("web", pa.table(columns))
    sql = to_sql(compile_query(query, {"web": named}, 0), "duckdb")
    return CONNECTION.execute(sql).fetchall()


def alike(found: Any, expected: Any) -> bool:
    """Tell whether a value is the expected one; NaN equals itself."""
    if isinstance(expected, Dynamic):
        return bool(json.loads(found or "null") == expected.value)
    if isinstance(expected, float) and isinstance(found, float) and math.isnan(expected):
        return math.isnan(found)
    return type(found) is type(expected) and bool(found == expected)
