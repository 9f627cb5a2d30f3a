"""Expressions and queries of the corpus give on Spark what they give on DuckDB."""

from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kql.queries import compile_query
from kql.sql.relations import to_sql
from tests.kql.corpus.case import Case, assert_rows
from tests.kql.corpus.cases import SUPPORTED
from tests.kql.corpus.tables import NOW_MICROS, SCHEMA, TABLES
from tests.support.spark import shared_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# A job takes longer than the expressions in it: so many of them at once.
_TOGETHER = 40
_TYPES = {"int": "int", "long": "bigint", "real": "double", "bool": "boolean",
          "timespan": "bigint", "datetime": "timestamp"}  # fmt: skip
_PREFIX = "print x = "
EXPRESSIONS = [c for c in SUPPORTED if c.query.startswith(_PREFIX) and "|" not in c.query]
QUERIES = [c for c in SUPPORTED if c not in EXPRESSIONS]


@pytest.fixture(scope="module")
def session() -> SparkSession:
    """Give Spark with the tables of the corpus, in a time zone that is not UTC."""
    session = shared_session()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    for name, (columns, rows) in TABLES.items():
        schema = ", ".join(f"`{c}` {_TYPES.get(t, 'string')}" for c, t in columns.items())
        typed = [
            tuple(
                datetime.fromisoformat(v) if t == "datetime" else v
                for v, t in zip(row, columns.values(), strict=True)
            )
            for row in rows
        ]
        session.createDataFrame(typed, schema).createOrReplaceTempView(name)
    return session


def run(session: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Run a query in KQL."""
    sql = to_sql(compile_query(query, SCHEMA, NOW_MICROS), "spark")
    return [tuple(row) for row in session.sql(sql).collect()]


def test_expressions_have_their_documented_values(session: SparkSession) -> None:
    failures: dict[str, str] = {}
    for start in range(0, len(EXPRESSIONS), _TOGETHER):
        cases = EXPRESSIONS[start : start + _TOGETHER]
        columns = ", ".join(f"x{n} = {c.query.removeprefix(_PREFIX)}" for n, c in enumerate(cases))
        (row,) = run(session, f"print {columns}")
        for value, case in zip(row, cases, strict=True):
            failures |= _failure(case, [(value,)])
    assert failures == {}


def test_queries_have_their_documented_rows(session: SparkSession) -> None:
    failures: dict[str, str] = {}
    for case in QUERIES:
        failures |= _failure(case, run(session, case.query))
    assert failures == {}


def _failure(case: Case, rows: list[tuple[Any, ...]]) -> dict[str, str]:
    try:
        assert_rows(case, rows)
    except AssertionError as error:
        return {case.name: str(error)[:300]}
    return {}
