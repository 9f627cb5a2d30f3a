"""Points of counters: `value` of both forms, and rates that pass over points without a value."""

from pathlib import Path

import pyarrow as pa
import pytest

from segplane.query.sql.sql_session import SqlSession
from segplane.read import open_dataset
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of

SECOND = 10**9
# Value as a double, as a whole number, flags: the third point has no recorded value, and a zero.
POINTS = [(None, 10, 0), (None, 20, 0), (None, 0, 1), (40.0, None, 0), (None, None, 1)]
START, ARGUMENTS = "start_timestamp", "start_timestamp, timestamp"


@pytest.fixture
def points(segments: SegmentWriter) -> SegmentWriter:
    """Write the points of one counter, a second from one to the next."""
    rows = rows_of("metrics", len(POINTS), segments.spec(), 1)
    doubles, wholes, flags = zip(*POINTS, strict=True)
    times = [EPOCH + n * SECOND for n in range(len(POINTS))]
    counts = [0 if flag else 10 * (n + 1) for n, flag in enumerate(flags)]
    columns = {
        "timestamp": times, START: [EPOCH] * len(POINTS), "value_double": doubles,
        "value_long": wholes, "flags": flags, "count": counts,
    }  # fmt: skip
    for name, values in columns.items():
        place = rows.schema.get_field_index(name)
        own = rows.schema.field(place)
        rows = rows.set_column(place, own, pa.array(values, own.type))
    segments.register({"metrics": rows}, segments.spec())
    return segments


def test_value_is_the_number_of_a_point_in_kql_and_sql(
    points: SegmentWriter, queries: QueryDriver
) -> None:
    values = [(10.0,), (20.0,), (None,), (40.0,), (None,)]

    assert queries.rows("web.metrics | sort by timestamp asc | project value") == values
    assert queries.rows("SELECT value FROM web.metrics ORDER BY timestamp") == values
    assert queries.rows("SELECT value FROM web ORDER BY timestamp") == values
    assert queries.rows("web | where value > 15 | count") == [(2,)]
    shown = queries.run(queries.plan("SELECT * FROM web.metrics"), lambda q: q.reader().read_all())
    assert shown.schema.field("value").type == pa.float64()
    # Both stored columns are what they were.
    assert shown["value_long"].to_pylist().count(0) == 1


def test_the_rate_of_a_counter_of_whole_numbers_is_that_of_value(
    points: SegmentWriter, queries: QueryDriver
) -> None:
    assert queries.rows(f"web.metrics | summarize r = rate(value, {ARGUMENTS})") == [(10.0,)]
    assert queries.rows(f"SELECT rate(value, {ARGUMENTS}) FROM web.metrics") == [(10.0,)]  # noqa: S608


@pytest.mark.parametrize(
    "query",
    [
        f"web.metrics | summarize r = rate(count, {ARGUMENTS})",
        f"web.metrics | where metric_type != '' | summarize r = rate(count, {ARGUMENTS})",
        "web.metrics | project c = count, s = start_timestamp, t = timestamp, f = flags"
        " | summarize r = rate(c, s, t, f)",
        f"SELECT rate(count, {ARGUMENTS}) FROM web.metrics",  # noqa: S608
        f"SELECT rate(count, {ARGUMENTS}) FROM web WHERE signal = 'metrics'",  # noqa: S608
        f"SELECT rate(count, {ARGUMENTS}, flags) FROM (SELECT * FROM web.metrics)",  # noqa: S608
        f"WITH w AS (SELECT rate(count, {ARGUMENTS}) AS r FROM web.metrics) SELECT r FROM w",  # noqa: S608
    ],
)
def test_a_point_without_a_recorded_value_is_not_a_reset(
    points: SegmentWriter, queries: QueryDriver, query: str
) -> None:
    assert queries.rows(query) == [(10.0,)]


def test_a_rate_over_a_query_takes_the_points_that_it_gets(
    points: SegmentWriter, queries: QueryDriver
) -> None:
    inner = "SELECT count AS c, start_timestamp AS s, timestamp AS t FROM web.metrics"

    assert queries.rows(f"SELECT rate(c, s, t) FROM ({inner} WHERE flags = 0)") == [(10.0,)]  # noqa: S608


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT count AS value FROM web.metrics WHERE flags = 0 GROUP BY value ORDER BY value",
         [(10,), (20,), (40,)]),
        ("SELECT DISTINCT value FROM web.metrics, json_each('{\"a\": 7}')", [("7",)]),
        ("SELECT max(value) FROM (VALUES (1)) AS t(value), web.metrics", [(1,)]),
    ],
)  # fmt: skip
def test_a_query_that_names_something_else_value_keeps_its_meaning(
    points: SegmentWriter, queries: QueryDriver, query: str, rows: list[tuple[object]]
) -> None:
    assert queries.rows(query) == rows


def test_the_sql_shell_has_values_and_rates_too(
    points: SegmentWriter, queries: QueryDriver, tmp_path: Path
) -> None:
    session = SqlSession(
        lambda: ["web"], lambda name: open_dataset(name, meta_address=queries.address)
    )

    def run(text: str) -> list[object]:
        with session.query(text) as result:
            return [next(iter(row.values())) for row in result.reader.read_all().to_pylist()]

    assert run("SELECT value FROM web.metrics ORDER BY timestamp") == [10, 20, None, 40, None]
    assert run(f"SELECT rate(count, {ARGUMENTS}) FROM web.metrics") == [10.0]  # noqa: S608
    assert run(f"SELECT rate(value, {ARGUMENTS}) FROM web") == [10.0]  # noqa: S608
    assert run("SELECT DISTINCT value FROM web.metrics, json_each('{\"a\": 7}')") == ["7"]
    assert run("SELECT count(*) FROM web.logs") == [0]
    session.close()
