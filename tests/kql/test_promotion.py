"""Promoted columns stand for the attributes that they repeat only where nothing changes."""

import json
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kql.dataset_table import dataset_table, promoted
from kql.queries import compile_query
from kql.sql.relations import to_sql
from kql.typed import Table
from kql.types import KqlType
from segments.parquet.columns.promoted import promote
from segments.parquet.spec import PromotedColumn

# What attributes hold, as JSON writes them.
VALUES = [
    "5", "-7", "5.0", "5.5", "2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", '"5"', '" 5"', '"5x"', '"+6"', '"1e3"', '"inf"', '"NaN"', "true",
    "false", "null", '"/cart"', '"Cart"', '"[1]"', "[1,2]", '{"a":1}', '["/cart"]', '""',
    "1.7976931348623157e+308", "0.1", '"nul"', '"_x"',
]  # fmt: skip
TYPES: tuple[KqlType, ...] = ("int", "long", "real", "string", "bool")
COLUMNS = [promoted(f"p_{type_}", type_, "record", "k.e-y") for type_ in TYPES]
READ = "attributes['k.e-y']"


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """Give a table of attributes with the columns that a writer promotes out of them."""
    texts = [json.dumps({"k.e-y": json.loads(v)}, separators=(",", ":")) for v in VALUES]
    attributes: dict[str, pa.Array[Any]] = {
        name: pa.array([*texts, "{}", None])
        for name in ("attributes", "resource_attributes", "scope_attributes")
    }
    batch = pa.record_batch(attributes)
    specs = [PromotedColumn(f"p_{t}", t, "record", "k.e-y") for t in TYPES]
    arrays, _ = promote(batch, specs)
    ids = pa.array(range(len(texts) + 2), pa.int64())
    table = pa.table({"timestamp": ids, **attributes, **dict(zip(
        (s.name for s in specs), (a.cast(a.type.value_type) if pa.types.is_dictionary(a.type) else a
                                  for a in arrays), strict=True))})  # fmt: skip
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute('CREATE TABLE "web" AS SELECT * FROM arrow')
    return connection


def sql(expression: str, table: Table) -> str:
    """Return the SQL of one column in the order of the rows."""
    query = f"web | sort by timestamp asc | project x = {expression}"
    return to_sql(compile_query(query, {"web": table}, 0), "duckdb")


ALL = tuple(column.name for column in COLUMNS)
PLAIN, COMPLETE = dataset_table("web", COLUMNS), dataset_table("web", COLUMNS, ALL)
# An expression and the column that it reads instead of the attribute, if any.
CASES = [
    (f"tolong({READ})", "p_long"),
    (f"toint({READ})", "p_int"),
    (f"todouble({READ})", "p_real"),
    (f"{READ} == 5", "p_long"),
    (f"5.0 < {READ}", "p_real"),
    (f"{READ} >= int(5)", "p_long"),
    (f"{READ} in (5, 7)", "p_long"),
    (f"{READ} between (1 .. 6)", "p_long"),
    (f"iff({READ} > 5, tolong({READ}), 1)", "p_long"),
    (f"{READ} == '/cart'", "p_string"),
    (f"{READ} != '/cart'", "p_string"),
    (f"{READ} in ('/cart', 'Cart', '_x')", "p_string"),
    (f"{READ} !in ('/cart', 'true')", "p_string"),
    (f"{READ} startswith_cs 'C'", "p_string"),
    # Not alike: null in the column, and a text or a flag in the attribute.
    (f"{READ} == '[1,2]'", None),
    (f"{READ} == '5.0'", None),
    (f"{READ} == ''", None),
    (f"{READ} has 'cart'", None),
    (f"tostring({READ})", None),
    (f"tobool({READ})", None),
    (f"tolong({READ}.a)", None),
    ("tolong(resource_attributes['k.e-y'])", None),
]


@pytest.mark.parametrize(("expression", "column"), CASES, ids=[case[0] for case in CASES])
def test_a_promoted_column_changes_no_value(
    connection: duckdb.DuckDBPyConnection, expression: str, column: str | None
) -> None:
    without, with_ = sql(expression, PLAIN), sql(expression, COMPLETE)

    read = [name for name in ALL if f'"{name}"' in with_]

    assert read == ([column] if column else [])
    assert not any(f'"{name}"' in without for name in ALL)
    assert rows(connection, with_) == rows(connection, without)


@pytest.mark.parametrize("expression", [f"tolong({READ})", f"todouble({READ})"])
def test_a_narrower_or_wider_column_does_not_stand_for_an_attribute(expression: str) -> None:
    others = [c for c in COLUMNS if c.type in ("int", "string")]

    text = sql(expression, dataset_table("web", others, ALL))

    assert '"p_' not in text


def test_a_long_column_gives_an_int_of_its_range(connection: duckdb.DuckDBPyConnection) -> None:
    only = [c for c in COLUMNS if c.type == "long"]
    text = sql(f"toint({READ})", dataset_table("web", only, ALL))

    assert '"p_long"' in text
    assert rows(connection, text) == rows(connection, sql(f"toint({READ})", PLAIN))


def test_a_column_that_was_replaced_stands_for_nothing() -> None:
    query = f"web | extend p_long = 1 | project x = tolong({READ})"

    text = to_sql(compile_query(query, {"web": COMPLETE}, 0), "duckdb")

    assert '"p_long"' not in text


def test_a_text_with_a_point_is_the_one_value_that_differs() -> None:
    """Written down, so that a change of it is seen."""
    text = pa.array(['{"k.e-y":"5.0"}'])
    batch = pa.record_batch(
        dict.fromkeys(("attributes", "resource_attributes", "scope_attributes"), text)
    )

    (column,), failures = promote(batch, [PromotedColumn("p", "long", "record", "k.e-y")])

    assert (column.to_pylist(), failures) == ([None], {"p": 1})
    value = to_sql(compile_query("print x = tolong('5.0')", {}, 0), "duckdb")
    assert duckdb.execute(value).fetchall() == [(5,)]


def rows(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """Return the values as texts, in which NaN equals itself."""
    return [repr(row[0]) for row in connection.execute(text).fetchall()]
