"""NaN as docs/kql.md defines it: equal to nothing, and in an order next to the nulls."""

from typing import Any

import pytest

from kql.queries import compile_query
from kql.sql.relations import to_sql
from tests.support.kql.engines import NOW_MICROS, DuckDb, Spark
from tests.support.kql.rows import TABLE
from tests.support.spark import shared_session

NAN, LEAST = "NaN", float("-inf")
# Row 1 has 2.5 in r, row 2 null, row 3 NaN, row 4 the least real.
ORDERS = [
    ("summarize max(r), min(r)", [(2.5, LEAST)]),
    ("summarize maxif(r, id > 2), minif(r, id < 4)", [(LEAST, 2.5)]),
    ("where id == 3 | summarize max(r), min(r), percentile(r, 50)", [(NAN, NAN, NAN)]),
    ("where id in (2, 3) | summarize max(r), min(r)", [(NAN, NAN)]),
    ("where id == 2 | summarize max(r), min(r)", [(None, None)]),
    ("summarize arg_max(r, id)", [(2.5, 1)]),
    ("where id < 4 | summarize arg_min(r, id)", [(2.5, 1)]),
    ("where id in (2, 3) | summarize arg_max(r, id)", [(NAN, 3)]),
    ("summarize arg_max(r, s) by x = id == 3 | sort by x asc | project r", [(2.5,), (NAN,)]),
    ("top 1 by r | project id", [(1,)]),
    ("top 3 by r | project id", [(1,), (4,), (3,)]),
    ("top 2 by r asc | project id", [(2,), (3,)]),
    ("top 2 by r asc nulls last | project id", [(4,), (1,)]),
    ("summarize v = max(r) by k = id > 2 | top 1 by v | project v", [(2.5,)]),
    ("top-nested 1 of b by max(r) | project b", [(True,)]),
    ("summarize percentile(r, 0), percentile(r, 100)", [(LEAST, 2.5)]),
    ("sort by id asc | project max_of(r, 1.0), min_of(r, 1.0)",
     [(2.5, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, LEAST)]),
    ("where id == 3 | project max_of(r, r), min_of(r, real(null))", [(NAN, NAN)]),
    ("where id == 3 | project sign(r)", [(NAN,)]),
    ("make-series v = max(r) default=0.0 on l from -7 to 1 step 7",
     [('[2.5,"-Infinity"]', "[-7,0]")]),
]  # fmt: skip
EQUALITIES = [
    ("where r in (real(nan)) | project id", []),
    ("where r in (2.5, real(nan)) | project id", [(1,)]),
    ("where r !in (2.5, real(nan)) | sort by id asc | project id", [(2,), (3,), (4,)]),
    ("where r in (r) | sort by id asc | project id", [(1,), (4,)]),
    ("where r in ((rows | project r)) | sort by id asc | project id", [(1,), (4,)]),
    ("where pack_array(r)[0] in (real(nan), 2.5) | project id", [(1,)]),
    ("where id == 3 | project set_has_element(pack_array(r), r)", [(False,)]),
    ("where id == 3 | project array_index_of(dynamic(['NaN', 'a']), r)", [(-1,)]),
    ("where id == 3 | project r in (pack_array(r))", [(False,)]),
    # The operator takes texts alone, and that of an array is its JSON.
    ("where pack_array(r) has 'nan' | project id", [(3,)]),
    ("where r == r | sort by id asc | project id", [(1,), (4,)]),
    ("join kind=inner (rows | project r) on r | sort by id asc | project id", [(1,), (4,)]),
    ("join kind=leftanti (rows | project r) on r | sort by id asc | project id", [(2,), (3,)]),
    ("lookup (rows | project r, k = id) on r | sort by id asc | project k",
     [(1,), (None,), (None,), (4,)]),
    ("summarize x = make_set(r)", [('["-Infinity",2.5,"NaN"]',)]),
]  # fmt: skip
ALL = [*ORDERS, *EQUALITIES]


@pytest.fixture(scope="module")
def engine() -> DuckDb:
    """Give one DuckDB with the rows."""
    return DuckDb()


@pytest.fixture(scope="module")
def spark_engine() -> Spark:
    """Give Spark with the rows."""
    return Spark(shared_session())


@pytest.mark.parametrize(("query", "rows"), ALL, ids=[case[0] for case in ALL])
def test_nan_equals_nothing_and_stands_with_the_nulls(
    engine: DuckDb, query: str, rows: list[tuple[Any, ...]]
) -> None:
    assert engine.run(f"rows | {query}") == rows


@pytest.mark.sampled(3)
@pytest.mark.spark
@pytest.mark.parametrize(("query", "rows"), ALL, ids=[case[0] for case in ALL])
def test_spark_treats_nan_as_duckdb_does(
    spark_engine: Spark, query: str, rows: list[tuple[Any, ...]]
) -> None:
    assert spark_engine.run(f"rows | {query}") == rows


def test_trino_asks_for_nan_by_its_own_name() -> None:
    query = "rows | summarize max(r), arg_max(r, id), x = max(max_of(r, 1.0)) by k = r in (r)"
    sql = to_sql(compile_query(query, {"rows": TABLE}, NOW_MICROS), "trino")

    assert "IS_NAN(" in sql
    assert "ISNAN(" not in sql
