"""Any query of random operators is refused in words, or runs: never a failure of ours."""

import os
import random

import duckdb
import pytest

from kql.errors import KqlError
from kql.queries import compile_query
from kql.sql.relations import to_sql
from tests.kql.corpus.tables import NOW_MICROS, SCHEMA
from tests.kql.corpus.test_corpus import connection  # noqa: F401 - a fixture

QUERIES = 150
LETS = (
    "let m = toscalar(StormEvents | summarize max(EventId));"
    " let t = StormEvents | take 2 | project State;"
    " let f = (k:long) { StormEvents | where EventId > k | project State };"
    " let g = (k:long) { k + 1 }; let h = (T:(*)) { T | take 4 }; "
)
SOURCES = (
    *("StormEvents", "StormEvents", "search in (StormEvents) 'a*'", "f(1)"),
    "union StormEvents, (StormEvents | take 1)",
)
TABLES = (
    *("StormEvents | project State", "StormEvents | where DeathsDirect > 0 | project EventId"),
    *("StormEvents | summarize max(StartTime)", "range x from 1 to 3 step 1", "f(2)", "t"),
    *("datatable(a:string)['TEXAS']", "StormEvents | take 1 | project DamageProperty"),
)
VALUES = (
    *("EventId", "State", "DamageProperty", "StartTime", "BeginLat", "1", "'TEXAS'", "1h", "now()"),
    *("dynamic([1, 2])", "StormSummary", "StormSummary.Details.Location", "real(nan)", "m", "x"),
    *("long(null)", "prev(EventId)", "next(State, 2)", "row_number()", "row_cumsum(DeathsDirect)"),
    *("toscalar({table})", "range(1, 3)", "g(1)", "strlen(State)", "prev(State, 1, 'q')"),
)
CONDITIONS = (
    *("State in ({table})", "EventId !in ({table})", "{value} == {value}", "{value} > {value}"),
    *("* has 'tex'", "State has_any (dynamic(['TEXAS']))", "{value} in ({value}, {value})"),
    *("{value} in ({table})", "isnull(prev(EventId)) or State in ({table})", "not({value} == 1)"),
)
STEPS = (
    *("where {condition}", "where {condition} and {condition}", "extend x = {value}", "serialize"),
    *("extend x = {value}, y = {value}", "sort by {value} asc, EventId asc", "top 3 by {value}"),
    *("project EventId, State, StartTime, DeathsDirect, x = {value}", "take 5", "sample 3"),
    *("serialize n = row_number()", "summarize n = count(), x = max({value}) by State", "count"),
    *("summarize n = countif({condition}), arg_max(EventId, *) by State", "distinct *"),
    *("mv-expand x = {value}", "mv-expand x = range(1, 3), y = {value}", "search 'tex*'"),
    "make-series n = count(), a = avg(DamageProperty) default={value} on StartTime"
    " from datetime(2007-01-01) to datetime(2008-01-01) step 60d by State",
    *("union withsource=src ({table})", "union (StormEvents | where {condition})", "getschema"),
    *("join kind=leftouter (StormEvents | where {condition}) on State", "project-away State"),
    "top-nested 2 of State by max({value}), top-nested 1 of EventType by count() asc",
    *("lookup ({table}) on State", "invoke h()", "extend EventId = {value}", "distinct State"),
    "evaluate bag_unpack(StormSummary) : (State:string, TotalDamages:long)",
    "evaluate pivot(EventType, count(), State) : (State:string, Tornado:long)",
    r"parse kind=regex EventType with @'(\w+)' a:string",
)
PARTS = {"table": TABLES, "value": VALUES, "condition": CONDITIONS}


def written(text: str, chance: random.Random) -> str:
    """Return a text with a part drawn for each that it names."""
    while "{condition}" in text or "{value}" in text or "{table}" in text:
        for name, parts in PARTS.items():
            text = text.replace(f"{{{name}}}", chance.choice(parts), 1)
    return text


@pytest.mark.parametrize("is_drawn", [False, True], ids=["fixed", "drawn"])
def test_a_query_is_refused_or_runs(
    connection: duckdb.DuckDBPyConnection,  # noqa: F811 - the fixture
    is_drawn: bool,
) -> None:
    seed = random.randrange(10**9) if is_drawn and not os.environ.get("CI") else int(is_drawn)
    chance = random.Random(seed)
    num_run = 0
    for _ in range(QUERIES):
        steps = [written(chance.choice(STEPS), chance) for _ in range(chance.randint(1, 5))]
        text = f"{LETS}{' | '.join([chance.choice(SOURCES), *steps])}"
        try:
            checked = compile_query(text, SCHEMA, NOW_MICROS)
            assert to_sql(checked, "spark")
            connection.execute(to_sql(checked, "duckdb")).fetchall()
        except KqlError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {text}") from error
        num_run += 1
    # How many run depends on the draw.
    assert is_drawn or num_run > QUERIES // 10
