"""Every operator and function on DuckDB: values, types, nulls."""

import re
from typing import Any

import pytest

from kql.catalog.table import FUNCTIONS, INFIX, OPERATORS, SYNONYMS
from kql.errors import NotOnEngine
from kql.queries import compile_query
from kql.sql.relations import to_sql
from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.corpus.cases import SUPPORTED
from tests.kql.whole_queries import QUERIES
from tests.support.kql.engines import NOW_MICROS, DuckDb
from tests.support.kql.rows import TABLE


@pytest.fixture(scope="module")
def engine() -> DuckDb:
    """Give one DuckDB with the rows."""
    return DuckDb()


@pytest.mark.parametrize(
    ("expression", "type_", "values"), SCALARS, ids=[case[0] for case in SCALARS]
)
def test_an_expression_has_its_type_and_values(
    engine: DuckDb, expression: str, type_: str, values: list[Any]
) -> None:
    query = f"rows | project id, x = {expression}"
    checked = compile_query(query, {"rows": TABLE}, NOW_MICROS)

    rows = engine.run(f"{query} | sort by id asc | project x")

    assert checked.columns["x"] == type_
    assert_values([row[0] for row in rows], values)


@pytest.mark.parametrize(
    ("aggregate", "type_", "value"), AGGREGATES, ids=[case[0] for case in AGGREGATES]
)
def test_an_aggregate_has_its_type_and_value(
    engine: DuckDb, aggregate: str, type_: str, value: Any
) -> None:
    query = f"rows | summarize x = {aggregate}"
    checked = compile_query(query, {"rows": TABLE}, NOW_MICROS)

    assert_values([engine.run(query)[0][0]], [value])
    assert checked.columns["x"] == type_


@pytest.mark.parametrize(("query", "rows"), QUERIES, ids=[case[0] for case in QUERIES])
def test_a_query_gives_its_rows(engine: DuckDb, query: str, rows: list[tuple[Any, ...]]) -> None:
    assert engine.run(query) == rows


@pytest.mark.parametrize("query", [case[0] for case in QUERIES])
def test_a_query_is_translated_for_trino_or_refused_by_name(query: str) -> None:
    checked = compile_query(query, {"rows": TABLE}, NOW_MICROS)

    if "percentile" in query or "mv-expand" in query:
        with pytest.raises(NotOnEngine, match=r"(percentile|mv-expand) is not available on trino"):
            to_sql(checked, "trino")
    else:
        assert "<0>" not in to_sql(checked, "trino")


def test_every_operator_and_function_is_in_a_case() -> None:
    texts = [str(case[0]) for case in (*SCALARS, *AGGREGATES, *QUERIES)]
    texts += [case.query for case in SUPPORTED]
    words = {w for text in texts for w in re.findall(r"!?[\w-]+~?|[-+*/%<>=!~]+", text)}

    used = words | {"matches regex"}

    assert {*FUNCTIONS, *INFIX, *OPERATORS, *SYNONYMS} - used == set()


def assert_values(found: list[Any], expected: list[Any]) -> None:
    """Compare values; `...` is any, and the digits of reals may end differently."""
    for value, wanted in zip(found, expected, strict=True):
        if wanted is ...:
            continue
        if isinstance(wanted, float):
            assert value == pytest.approx(wanted), found
        else:
            assert value == wanted, found
