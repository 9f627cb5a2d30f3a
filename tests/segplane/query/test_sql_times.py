"""Times of queries in SQL: skipping what is outside of them changes no answer."""

# ruff: noqa: S608

import random

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from kql.pushdown.bounds import ANY
from segplane.query.sql.sql_times import where_times

AT = "TIMESTAMPTZ '2026-01-01 {:02}:00:00+00'".format


def random_condition(chance: random.Random) -> str:
    """Write a condition, some part of which may bound the times."""
    constant = chance.choice(
        [
            AT(chance.randint(0, 8)),
            f"'2026-01-01 0{chance.randint(0, 8)}:30:00'",
            f"{AT(4)} - INTERVAL '{chance.randint(0, 4)}' HOUR",
            "DATE '2026-01-01'",
            "now()",
        ]
    )
    operator = chance.choice(("<", "<=", ">", ">=", "=", "<>"))
    column = chance.choice(("timestamp", "web.timestamp", "other", "timestamp::DATE"))
    return chance.choice(
        [
            f"{column} {operator} {constant}",
            f"{constant} {operator} {column}",
            f"{column} BETWEEN {AT(2)} AND {constant}",
            f"{column} NOT BETWEEN {AT(2)} AND {constant}",
            f"NOT ({column} {operator} {constant})",
            f"(k = 1 OR {column} {operator} {constant})",
            f"({column} {operator} {constant} AND k > 0)",
            f"{column} {operator} other",
        ]
    )


@pytest.mark.long
def test_leaving_out_what_is_outside_the_times_changes_no_answer() -> None:
    chance = random.Random(3)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        "CREATE TABLE everything AS SELECT range AS id, range % 3 AS k,"
        f" {AT(0)} + to_minutes(30 * range) AS timestamp, {AT(8)} - to_minutes(30 * range) AS other"
        " FROM range(18)"
    )
    narrowed = 0
    for _ in range(240):
        where = " AND ".join(random_condition(chance) for _ in range(chance.randint(1, 3)))
        text = chance.choice(
            [
                f"SELECT id FROM web WHERE {where} ORDER BY id",
                f"SELECT count(*) FROM (SELECT * FROM web WHERE {where}) x LEFT JOIN web USING (k)",
                f"WITH x AS (SELECT id FROM web WHERE {where}) SELECT id FROM x ORDER BY 1",
                f"SELECT id FROM web WHERE {where} UNION SELECT id FROM web WHERE k = 0 ORDER BY 1",
                f"SELECT id FROM web WHERE id IN (SELECT id FROM web WHERE {where}) ORDER BY 1",
            ]
        )
        tree = sqlglot.parse_one(text, read="duckdb")
        assert isinstance(tree, exp.Query)
        times = where_times(tree, "web")
        narrowed += times != ANY
        low, high = (times.low or 0, 2**60 if times.high is None else times.high)

        connection.execute("CREATE OR REPLACE VIEW web AS FROM everything")
        expected = connection.execute(text).fetchall()
        connection.execute(
            "CREATE OR REPLACE VIEW web AS FROM everything"
            f" WHERE epoch_us(timestamp) BETWEEN {low} AND {high}"
        )

        assert connection.execute(text).fetchall() == expected, text

    assert narrowed > 20
