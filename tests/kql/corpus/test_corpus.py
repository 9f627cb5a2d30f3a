"""Every case of the corpus gives the types and rows that Kusto documents, on DuckDB."""

import duckdb
import pytest

from kql.errors import KqlError
from kql.queries import compile_query
from kql.sql.relations import to_sql
from tests.kql.corpus.case import Case, assert_rows
from tests.kql.corpus.cases import CASES, SUPPORTED, UNSUPPORTED
from tests.kql.corpus.tables import NOW_MICROS, SCHEMA, TABLES

_DUCKDB_TYPES = {
    "int": "INT", "long": "BIGINT", "real": "DOUBLE", "bool": "BOOLEAN", "timespan": "BIGINT",
    "datetime": "TIMESTAMPTZ",
}  # fmt: skip
UNSUPPORTED_SHARE_MAX = 0.03


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    """Give one DuckDB with the tables of the corpus, in a time zone that is not UTC."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'America/New_York'")
    for name, (columns, rows) in TABLES.items():
        declared = ", ".join(f'"{c}" {_DUCKDB_TYPES.get(t, "VARCHAR")}' for c, t in columns.items())
        connection.execute(f'CREATE TABLE "{name}" ({declared})')
        places = ", ".join("?" * len(columns))
        connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)  # noqa: S608
    return connection


@pytest.mark.parametrize("case", SUPPORTED, ids=[case.name for case in SUPPORTED])
def test_a_case_gives_its_documented_result(
    connection: duckdb.DuckDBPyConnection, case: Case
) -> None:
    assert_holds(connection, case)


def test_no_unsupported_case_holds_by_now(connection: duckdb.DuckDBPyConnection) -> None:
    assert [case.name for case in UNSUPPORTED if holds(connection, case)] == []


def test_few_cases_are_unsupported() -> None:
    assert len(UNSUPPORTED) <= UNSUPPORTED_SHARE_MAX * len(CASES)


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in CASES]

    assert sorted(names) == sorted(set(names))


def assert_holds(connection: duckdb.DuckDBPyConnection, case: Case) -> None:
    """Run a case and compare its types and rows."""
    checked = compile_query(case.query, SCHEMA, NOW_MICROS)
    assert dict(checked.columns) == dict(case.columns)
    assert list(checked.columns) == list(case.columns)
    assert_rows(case, connection.execute(to_sql(checked, "duckdb")).fetchall())


def holds(connection: duckdb.DuckDBPyConnection, case: Case) -> bool:
    """Tell whether a case holds: not where it is refused, fails, or gives something else."""
    try:
        assert_holds(connection, case)
    except (KqlError, duckdb.Error, AssertionError):
        return False
    return True
