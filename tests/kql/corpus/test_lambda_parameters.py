"""Columns may have the names of lambda parameters in the SQL of functions."""

import re

import duckdb
import pytest
from pyspark.sql import SparkSession

from kql.queries import compile_query
from kql.sql.engines import ENGINES, EngineName
from kql.sql.relations import to_sql
from tests.kql.corpus.case import Case, assert_rows
from tests.kql.corpus.cases import SUPPORTED
from tests.kql.corpus.tables import NOW_MICROS, SCHEMA
from tests.kql.corpus.test_corpus import connection
from tests.kql.corpus.test_spark_corpus import EXPRESSIONS, session

__all__ = ["connection", "session"]

NAMES = "abcdefghijklmnopqrstuvwxyz"
COLUMNS = ", ".join(f"'text' AS {name}" for name in NAMES)
# The parameters of `LAMBDA x, y: ...`, `x -> ...` and `(x, y) -> ...`.
_PARAMETERS = re.compile(r"LAMBDA ([\"$\w, ]+):|(\w+) ->|\((\w+, \w+)\) ->")
_SUBQUERY = re.compile(r"\) AS [\"`]_[0-9]+[\"`](?!\()")


def parameters(sql: str) -> set[str]:
    """Return the names of the parameters of all lambdas."""
    groups = (group for match in _PARAMETERS.findall(sql) for group in match)
    return {name for group in groups for name in re.findall(r"(?:\$lambda_)?\w+", group)}


def crowded(query: str, engine: EngineName) -> str:
    """Return the SQL of a query with columns of all those names beside its own."""
    sql = to_sql(compile_query(query, SCHEMA, NOW_MICROS), engine)
    if " FROM (" not in sql:
        return f"{sql} FROM (SELECT {COLUMNS}) AS others"
    return _SUBQUERY.sub(rf"\g<0> CROSS JOIN (SELECT {COLUMNS}) AS others", sql)


WITH_LAMBDAS = [case for case in SUPPORTED if parameters(crowded(case.query, "duckdb"))]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_parameter_is_among_the_names(engine: EngineName) -> None:
    patterns = ENGINES[engine].patterns.values()

    names = set[str]().union(*map(parameters, patterns))
    if engine == "duckdb":
        assert all(name.startswith("$lambda_") for name in names)
    assert names
    assert {name.removeprefix("$lambda_") for name in names} <= set(NAMES)


@pytest.mark.parametrize("case", WITH_LAMBDAS, ids=[case.name for case in WITH_LAMBDAS])
def test_columns_of_those_names_change_no_result(
    connection: duckdb.DuckDBPyConnection, case: Case
) -> None:
    assert_rows(case, connection.execute(crowded(case.query, "duckdb")).fetchall())


@pytest.mark.spark
@pytest.mark.slow
def test_columns_of_those_names_change_no_result_on_spark(session: SparkSession) -> None:
    for case in WITH_LAMBDAS:
        if case in EXPRESSIONS:
            rows = session.sql(crowded(case.query, "spark")).collect()
            assert_rows(case, [tuple(row) for row in rows])
