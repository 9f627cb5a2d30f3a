"""The check of a query's SQL: functions and tables, by DuckDB's own tree, and no lock behind it.

Each attack gives rows on a DuckDB that is not locked, so that what stops it is the check alone.
"""

# ruff: noqa: S608

import duckdb
import pytest

from kql.dataset_table import dataset_table
from segplane.query.errors import QueryError
from segplane.query.sql import sql_functions
from segplane.query.sql.sql import plan_sql
from segplane.read.rows.duckdb_functions import define_functions, names
from tests.support.refused_sql_functions import REFUSED_ROW_FUNCTIONS, REFUSED_TABLE_FUNCTIONS

TABLES = {"web": dataset_table("web"), "ok": dataset_table("ok")}
VIEWS = "SELECT x.* FROM (SELECT 1) o JOIN LATERAL duckdb_views() x ON true"
RUN = "json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"
ATTACKS = [
    "SELECT * FROM duckdb_settings()",
    VIEWS,
    f"SELECT * FROM ({VIEWS})",
    f"WITH v AS ({VIEWS}) SELECT * FROM v",
    f"SELECT 1 WHERE EXISTS ({VIEWS})",
    f"SELECT ({VIEWS.replace('x.*', 'count(*)')})",
    f"SELECT 1 LIMIT ({VIEWS.replace('x.*', 'count(*)')})",
    f"SELECT 1 ORDER BY ({VIEWS.replace('x.*', 'count(*)')})",
    f"SELECT 1 UNION ALL ({VIEWS.replace('x.*', 'count(*)')})",
    "SELECT [x FOR x IN [1] IF current_setting('memory_limit') <> '']",
    "SELECT * FROM (SELECT 1) o, LATERAL duckdb_functions() f LIMIT 1",
    "SELECT * FROM (SELECT 1) o CROSS JOIN duckdb_databases()",
    "SELECT * FROM (SELECT 1) o POSITIONAL JOIN duckdb_settings()",
    "SELECT * FROM (FROM duckdb_settings() SELECT name) s",
    "SELECT * FROM (PIVOT (SELECT name FROM duckdb_settings() LIMIT 1) ON name IN ('x'))",
    f"SELECT * FROM {RUN}",
    f"SELECT * FROM (SELECT 1) o, LATERAL {RUN}",
    "SELECT json_serialize_sql('SELECT 1')",
    "SELECT json_serialize_plan('SELECT 1')",
    "SELECT current_setting('memory_limit')",
    "SELECT 'memory_limit'.current_setting()",
    "SELECT main.current_setting('memory_limit')",
    "SELECT \"CURRENT_SETTING\"('memory_limit')",
    "SELECT list_transform([1], lambda s: current_setting('memory_limit'))",
    "SELECT sum(length(current_setting('memory_limit'))) OVER ()",
    "SELECT row_number() OVER (ORDER BY current_setting('memory_limit'))",
    "SELECT count(*) FILTER (current_setting('memory_limit') <> '')",
    "SELECT unnest(current_schemas(true))",
    "SELECT * FROM (VALUES (current_setting('memory_limit')))",
    "SELECT current_query()",
    "SELECT getvariable('x')",
    "SELECT pg_sleep(0)",
    "SELECT * FROM glob('/*') LIMIT 1",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('sqlite_master')",
    "SELECT * FROM histogram_values('sqlite_master', name)",
    # Tables of the catalog, also behind a common table of their name that is not in sight.
    "SELECT * FROM sqlite_master",
    "SELECT * FROM duckdb_views",
    "SELECT * FROM pg_class",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT * FROM (SHOW ALL TABLES)",
    "SELECT * FROM (SHOW DATABASES)",
    "WITH duckdb_views AS (SELECT * FROM duckdb_views) SELECT * FROM duckdb_views",
    "SELECT * FROM duckdb_views, (WITH duckdb_views AS (SELECT 1) SELECT 1) x",
    "WITH a AS (SELECT * FROM duckdb_views), duckdb_views AS (SELECT 1) SELECT * FROM a",
    "WITH RECURSIVE duckdb_views AS (SELECT sql FROM duckdb_views UNION SELECT * FROM duckdb_views)"
    " SELECT * FROM duckdb_views",
    "SELECT * FROM '/etc/hostname'",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_an_attack_is_refused_by_the_check_alone(text: str) -> None:
    if "hostname'" not in text or "read_text" in text:
        with duckdb.connect() as unlocked:
            unlocked.execute("CREATE VIEW secret AS SELECT 's3://bucket/path' AS place")
            unlocked.execute(text).fetchall()

    with pytest.raises(QueryError) as refusal:
        plan_sql(text, TABLES)

    assert "\n" not in str(refusal.value)


QUERIES = [
    "SELECT count(*), max(timestamp) FROM web GROUP BY ALL",
    "WITH a AS (SELECT 1 AS n), b AS (SELECT * FROM a) SELECT * FROM b, a",
    "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
    "SELECT * FROM range(3) r, LATERAL unnest([r.range]) u",
    "SELECT unnest([1, 2]), list_transform([1], lambda x: x + 1), [x FOR x IN [1]]",
    "SELECT * FROM json_each('{\"a\": 1}')",
    "SELECT attribute(attributes, 'user.id'), severity_name(severity_number) FROM web",
    "SELECT histogram_quantile(0.5, merge_buckets(bucket_counts), any_value(explicit_bounds))"
    " FROM web",
    "SELECT body LIKE 'a%', body ~ 'x', body IS DISTINCT FROM 'y', 1 BETWEEN 0 AND 2 FROM web",
    "SELECT row_number() OVER (ORDER BY timestamp), lag(body) OVER (ORDER BY timestamp) FROM web",
    "SELECT attributes->>'user.id', attributes->'$.a', CAST(1 AS VARCHAR) || 'x' FROM web",
    "SELECT * FROM (SELECT signal FROM web) PIVOT (count(*) FOR signal IN ('logs', 'traces'))",
    "SELECT * FROM (DESCRIBE web)",
    "SELECT current_date, now(), current_user, version(), extract(year FROM timestamp) FROM web",
    "SELECT body COLLATE nocase, time_bucket(INTERVAL 1 HOUR, timestamp), histogram(signal)"
    " FROM web GROUP BY ALL",
    "FROM web SELECT COLUMNS('.*_nanos') LIMIT 1",
]


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_over_its_tables_is_planned_and_runs(text: str) -> None:
    planned = plan_sql(text, TABLES)

    assert {read.name for read in planned.reads} <= {"web"}
    columns = ", ".join(
        f"NULL::{TYPES.get(name, 'VARCHAR')} AS {name}" for name in TABLES["web"].columns
    )
    with duckdb.connect() as connection:
        define_functions(connection)
        connection.execute(f"CREATE TABLE web AS SELECT {columns} WHERE false")
        connection.execute(text).fetchall()


TYPES = {
    **dict.fromkeys(("timestamp", "observed_timestamp"), "TIMESTAMPTZ"),
    **dict.fromkeys(("severity_number", "kind", "timestamp_nanos"), "INTEGER"),
    "bucket_counts": "BIGINT[]",
    "explicit_bounds": "DOUBLE[]",
}


def test_every_function_of_the_pinned_release_is_in_one_of_the_lists() -> None:
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name), function_type LIKE 'table%' FROM"
            " duckdb_functions() WHERE function_type <> 'pragma' ORDER BY ALL"
        ).fetchall()

    assert len(rows) > 1_000
    none = frozenset[str]()
    for name, is_table in rows:
        refused = REFUSED_TABLE_FUNCTIONS if is_table else REFUSED_ROW_FUNCTIONS
        is_allowed = sql_functions.is_allowed(name, "table" if is_table else "row", none)
        assert is_allowed != (name in refused), f"{name}: put it into one of the lists"


def test_no_function_that_reaches_beyond_the_rows_is_allowed() -> None:
    for word in ("read_", "duckdb_", "pragma_", "parquet_", "getenv", "secret", "setting", "_scan"):
        for name in _allowed():
            assert word not in name, name


def _allowed() -> frozenset[str]:
    return sql_functions._ROW_FUNCTIONS | sql_functions._TABLE_FUNCTIONS


def test_our_own_functions_are_those_that_are_defined() -> None:
    with duckdb.connect() as connection:
        define_functions(connection)
        found = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()

    assert {name for (name,) in found} == set(names())
