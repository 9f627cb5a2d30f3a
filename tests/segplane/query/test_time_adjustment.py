"""Queries with the time adjustment of their datasets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from segments.signals import SIGNALS
from segplane.query.engine import RunningQuery, opened_query
from segplane.query.errors import QueryError
from segplane.query.explain import explanation
from segplane.query.runs import define_views
from segplane.query.sources import QueryPlace
from segplane.read.bounds import NANOS_MAX, NANOS_MIN
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.grouped_datasets import grouped
from tests.support.meta.segments import DAY, EPOCH
from tests.support.parquet.rows import rows_of
from tests.support.time_adjustment import NANOS, adjust, written_times


def ask(queries: QueryDriver, text: str, call: Any = None) -> Any:
    planned = queries.plan(text)
    place = replace(QueryPlace(queries.address), adjusts_time=True)
    with opened_query(planned, place, prepare=define_views(planned)) as query:
        return query.reader().read_all().to_pylist() if call is None else call(query)


@pytest.mark.parametrize("format_version", [1, 2])
def test_both_languages_see_and_compare_adjusted_times(
    queries: QueryDriver, segments: SegmentWriter, format_version: int
) -> None:
    for day in range(3):
        segments.write(day=day, signals=SIGNALS, format_version=format_version)
    adjust(segments.client, segments.dataset)
    times = written_times(segments)
    micros = times[30] // 1_000
    expected = [t for t in times if t // 1_000 >= micros]
    kql = "web | project t = timestamp, n = timestamp_nanos"
    sql = "SELECT epoch_us(timestamp) AS t, timestamp_nanos AS n FROM web"

    by_kql = ask(queries, f"{kql} | where t >= unixtime_microseconds_todatetime({micros})")
    by_sql = ask(queries, f"{sql} WHERE timestamp >= make_timestamptz({micros})")

    assert len(by_kql) == len(expected)
    assert sorted(row["t"] * 1_000 + row["n"] for row in by_sql) == expected


def test_files_and_row_groups_are_left_out_by_adjusted_times(
    queries: QueryDriver, segments: SegmentWriter
) -> None:
    for day in range(3):
        segments.write(day=day)
    adjust(segments.client, segments.dataset)
    micros = (EPOCH + 2 * DAY + NANOS) // 1_000
    since = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)

    def lines(query: RunningQuery) -> list[str]:
        return list(explanation(query))

    text = f"web | where timestamp >= datetime({since.isoformat()}) | count"
    shown = "\n".join(ask(queries, text, lines))

    assert ask(queries, text)[0]["Count"] == 20
    assert "files       1 with 20 rows" in shown
    assert "row groups  1 of 1 by time" in shown


@pytest.mark.parametrize("name", ["timestamp", "observed_timestamp"])
def test_nanoseconds_are_adjusted_without_the_column_of_their_time(
    queries: QueryDriver, segments: SegmentWriter, name: str
) -> None:
    for format_version in (1, 2):
        segments.write(rows=3, format_version=format_version)
    adjust(segments.client, segments.dataset)

    alone = ask(queries, f"web | project n = {name}_nanos")
    both = ask(queries, f"web | project n = {name}_nanos, {name}")

    assert sorted(str(row["n"]) for row in alone) == sorted(str(row["n"]) for row in both)


def write_observed(segments: SegmentWriter, observed: list[int | None], version: int) -> None:
    """Write log records with these observed times."""
    rows = rows_of("logs", len(observed), segments.spec(), seed=1)
    times: dict[str, list[int | None]] = {
        "timestamp": [EPOCH] * len(observed),
        "observed_timestamp": observed,
    }
    for name, values in times.items():
        index, kind = rows.schema.get_field_index(name), rows.schema.field(name)
        rows = rows.set_column(index, kind, pa.array(values, kind.type))
    segments.register({"logs": rows}, segments.spec(), format_version=version)


@pytest.mark.parametrize("format_version", [1, 2])
@pytest.mark.parametrize("end", [NANOS_MIN, NANOS_MAX])
def test_an_observed_time_is_adjusted_up_to_the_end_of_64_bits_and_refused_beyond(
    queries: QueryDriver, segments: SegmentWriter, format_version: int, end: int
) -> None:
    sign = 1 if end == NANOS_MAX else -1
    write_observed(segments, [end - sign * 1_500, None, EPOCH], format_version)
    kql = "web | project t = observed_timestamp, n = observed_timestamp_nanos | where isnotnull(n)"
    sql = "SELECT epoch_us(observed_timestamp) AS t, observed_timestamp_nanos AS n FROM web"

    adjust(segments.client, segments.dataset, sign * 1_500)
    rows = ask(queries, sql)
    at_the_end = [None if row["n"] is None else row["t"] * 1_000 + row["n"] for row in rows]
    adjust(segments.client, segments.dataset, sign * 1_501)

    assert sorted(at_the_end, key=str) == sorted([end, None, EPOCH + sign * 1_500], key=str)
    for text in (sql, kql):
        with pytest.raises(QueryError, match="observed_timestamp with its adjustment is beyond 64"):
            ask(queries, text)
    assert ask(queries, "web | count")[0]["Count"] == 3


def test_a_duration_stays(queries: QueryDriver, segments: SegmentWriter) -> None:
    segments.write(signals=("traces",))
    adjust(segments.client, segments.dataset)
    text = "web | summarize a = max(end_timestamp - timestamp), b = max(duration)"

    assert ask(queries, text) == queries.run(
        queries.plan(text), lambda query: query.reader().read_all().to_pylist()
    )


def test_a_union_of_a_whole_group_is_refused(
    queries: QueryDriver, segments: SegmentWriter, tmp_path: Path
) -> None:
    grouped(segments.client, tmp_path, "shop", api=2, web=3)

    with pytest.raises(QueryError, match="a whole group takes no time adjustment"):
        ask(queries, "union database('shop').* | count")
    assert ask(queries, "union database('shop').api, database('shop').web | count")
