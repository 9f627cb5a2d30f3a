"""Time bounds: what they are, and that skipping what is outside changes no answer."""

import random
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from kql.pushdown.bounds import ANY, Interval, time_bounds
from kql.queries import compile_query
from kql.sql.relations import to_sql
from kql.typed import Table
from tests.support.examples import examples

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MICROS = int(T0.timestamp()) * 1_000_000
HOUR = 3_600_000_000
COLUMNS = {"timestamp": "datetime", "id": "long", "k": "long", "other": "datetime"}
TABLES = {name: Table(name, COLUMNS, {}) for name in ("a", "b")}  # type: ignore[arg-type]


def bounds(query: str) -> dict[str, Interval]:
    """Return the bounds of a query."""
    return time_bounds(compile_query(query, TABLES, MICROS).relation, "timestamp")


AT = "datetime(2026-01-01T{:02}:00:00Z)".format
CASES = [
    ("a | where timestamp > ago(1h)", Interval(MICROS - HOUR + 1, None)),
    (f"a | where timestamp >= {AT(1)} and timestamp < {AT(2)} and k > 1",
     Interval(MICROS + HOUR, MICROS + 2 * HOUR - 1)),
    (f"a | where timestamp between ({AT(1)} .. {AT(2)})", Interval(MICROS + HOUR, MICROS + 2 * HOUR)),
    (f"a | where {AT(1)} < timestamp", Interval(MICROS + HOUR + 1, None)),
    (f"a | where timestamp == {AT(1)} or timestamp in ({AT(3)}, {AT(2)})",
     Interval(MICROS + HOUR, MICROS + 3 * HOUR)),
    (f"a | where timestamp > {AT(1)} or k == 1", ANY),
    (f"a | where not(timestamp > {AT(1)})", ANY),
    (f"a | where other > {AT(1)}", ANY),
    (f"a | project t = timestamp | extend u = t | where u > {AT(1)}", Interval(MICROS + HOUR + 1)),
    (f"a | extend timestamp = other | where timestamp > {AT(1)}", ANY),
    (f"a | take 5 | where timestamp > {AT(1)}", ANY),
    (f"a | where timestamp > {AT(1)} | take 5", Interval(MICROS + HOUR + 1)),
    (f"a | summarize count() by timestamp | where timestamp > {AT(1)}", Interval(MICROS + HOUR + 1)),
    (f"a | summarize timestamp = max(timestamp) | where timestamp > {AT(1)}", ANY),
    (f"a | union b | where timestamp > {AT(1)}", Interval(MICROS + HOUR + 1)),
    (f"a | join kind=leftouter b on id | where timestamp > {AT(1)}", Interval(MICROS + HOUR + 1)),
    (f"a | join kind=rightouter b on id | where timestamp > {AT(1)}", ANY),
    (f"a | join b on id | where timestamp > {AT(1)}", ANY),
    (f"a | where timestamp > {AT(1)} and id in (b | project id)", Interval(MICROS + HOUR + 1)),
    (f"a | where id in (b | project id) | where timestamp > {AT(1)}", Interval(MICROS + HOUR + 1)),
    ("a | where timestamp > toscalar(b | summarize max(timestamp))", ANY),
    (f"a | sort by id | extend p = prev(k) | where timestamp > {AT(1)}", ANY),
    (f"a | serialize | where timestamp > {AT(1)}", ANY),
    (f"a | where timestamp > {AT(1)} | sort by id | extend p = prev(k)", Interval(MICROS + HOUR + 1)),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_query_bounds_the_times_that_it_reads(query: str, expected: Interval) -> None:
    assert bounds(query)["a"] == expected


def test_a_table_that_is_read_twice_has_the_hull() -> None:
    query = f"a | where timestamp < {AT(1)} | union (a | where timestamp == {AT(3)})"

    assert bounds(query) == {"a": Interval(None, MICROS + 3 * HOUR)}


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    """Give two tables of random times, some of them null."""
    chance = random.Random(5)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        connection.execute(
            f'CREATE TABLE "all_{table}" (timestamp TIMESTAMPTZ, id BIGINT, k BIGINT,'
            " other TIMESTAMPTZ)"
        )
        values = [
            (T0 + timedelta(hours=chance.randint(0, 8)), number, chance.choice((None, 1, 2, 3)),
             chance.choice((None, T0 + timedelta(hours=chance.randint(0, 8)))))
            for number in range(40)
        ]  # fmt: skip
        connection.executemany(f'INSERT INTO "all_{table}" VALUES (?, ?, ?, ?)', values)  # noqa: S608
    return connection


_KINDS = (
    *("inner", "leftouter", "rightouter", "fullouter"),
    *("leftsemi", "leftanti", "rightsemi", "rightanti"),
)
_SORTED = "sort by id asc, timestamp asc, other asc, k asc"


def random_query(chance: random.Random) -> str:
    """Write a query whose answer does not depend on the order of rows."""

    def time() -> str:
        return AT(chance.randint(0, 8))

    def test() -> str:
        column = chance.choice(("timestamp", "timestamp", "other"))
        operator = chance.choice(("<", "<=", ">", ">=", "==", "!="))
        tests = [
            f"{column} {operator} {time()}",
            f"{time()} {operator} {column}",
            f"{column} between ({time()} .. {time()})",
            f"{column} !between ({time()} .. {time()})",
            f"{column} in ({time()}, {time()})",
            f"not({column} {operator} {time()})",
            f"(k == {chance.randint(1, 3)} or {column} {operator} {time()})",
            f"iff(k == 1, {column}, other) {operator} {time()}",
            "timestamp == other",
        ]
        return chance.choice(tests)

    def condition() -> str:
        joined = f" {chance.choice(('and', 'or'))} ".join(
            test() for _ in range(chance.randint(1, 3))
        )
        return f"where {joined}"

    def step() -> str:
        steps = [
            condition(), condition(), condition(),
            "extend timestamp = other",
            "extend x = timestamp | project timestamp = x, other = timestamp, id, k",
            "sort by id, timestamp, other, k | take 7",
            "summarize id = max(id), k = max(k) by timestamp, other",
            "summarize timestamp = max(timestamp), other = min(other) by id, k",
            "distinct timestamp, id, k, other",
            f"union (b | {condition()})",
            f"where {test()} and id in (b | {condition()} | project id)",
            f"where id !in (b | {condition()} | project id) or {test()}",
            f"extend k = toscalar(b | {condition()} | count) % 4",
            f"where timestamp > toscalar(b | {condition()} | summarize min(timestamp))",
            f"{_SORTED} | extend k = row_number() % 4",
            f"{_SORTED} | extend other = next(timestamp), k = row_cumsum(k, {test()})",
            f"join kind={chance.choice(_KINDS)} (b | {condition()} | project id, timestamp, other, k) on id"
            " | project timestamp, other, id, k",
        ]  # fmt: skip
        return chance.choice(steps)

    return " | ".join(["a", *(step() for _ in range(chance.randint(1, 5)))])


@pytest.mark.long
def test_leaving_out_what_is_outside_the_bounds_changes_no_answer(
    rows: duckdb.DuckDBPyConnection,
) -> None:
    chance = random.Random(7)
    narrowed = 0

    for _ in range(examples(400)):
        query = random_query(chance)
        state = compile_query(f"{query} | sort by id, timestamp, other, k", TABLES, MICROS)
        sql = to_sql(state, "duckdb")
        found = time_bounds(state.relation, "timestamp")
        narrowed += any(interval != ANY for interval in found.values())
        show(rows, dict.fromkeys(TABLES, ANY))
        whole = rows.execute(sql).fetchall()
        show(rows, found)
        assert rows.execute(sql).fetchall() == whole, query

    assert narrowed > examples(80)


def show(connection: duckdb.DuckDBPyConnection, found: dict[str, Interval]) -> None:
    """Let the tables hold only what is within the bounds."""
    for table in TABLES:
        low, high = found.get(table, ANY)
        connection.execute(
            f'CREATE OR REPLACE VIEW "{table}" AS SELECT * FROM "all_{table}"'  # noqa: S608
            f" WHERE epoch_us(timestamp) BETWEEN {-(2**62) if low is None else low}"
            f" AND {2**62 if high is None else high}"
        )
