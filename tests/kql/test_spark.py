"""Every operator and function on Spark, which gives what DuckDB gives."""

import pytest

from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.test_engines import assert_values
from tests.kql.whole_queries import QUERIES
from tests.support.kql.engines import Spark
from tests.support.spark import shared_session

pytestmark = pytest.mark.spark
# A job takes longer than the expressions in it: so many of them at once.
_TOGETHER = 50


@pytest.fixture(scope="module")
def engine() -> Spark:
    """Give Spark with the rows."""
    return Spark(shared_session())


@pytest.mark.long
def test_expressions_have_their_values(engine: Spark) -> None:
    for start in range(0, len(SCALARS), _TOGETHER):
        cases = SCALARS[start : start + _TOGETHER]
        columns = ", ".join(f"x{n} = {case[0]}" for n, case in enumerate(cases))
        rows = engine.run(f"rows | sort by id asc | project {columns}")
        for number, (expression, _, values) in enumerate(cases):
            try:
                assert_values([row[number] for row in rows], values)
            except AssertionError as error:
                raise AssertionError(f"{expression}: {error}") from None


def test_aggregates_have_their_values(engine: Spark) -> None:
    columns = ", ".join(f"x{n} = {case[0]}" for n, case in enumerate(AGGREGATES))

    row = engine.run(f"rows | summarize {columns}")[0]

    for found, (aggregate, _, value) in zip(row, AGGREGATES, strict=True):
        try:
            assert_values([found], [value])
        except AssertionError as error:
            raise AssertionError(f"{aggregate}: {error}") from None


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("query", "rows"), QUERIES, ids=[case[0] for case in QUERIES])
def test_a_query_gives_its_rows(engine: Spark, query: str, rows: list[tuple[object, ...]]) -> None:
    assert engine.run(query) == rows
