"""Queries over datasets and views: what they read, at which version, and what they give."""

from typing import Any

import pytest

from kql.pushdown.reads import DatasetRead
from meta.v1 import catalog_pb2 as pb
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segments.signals import SIGNALS
from segplane.query.engine import RunningQuery
from segplane.query.plan import QueryPlan
from segplane.read.bounds import TimeBounds
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.schemas import make_projection, make_view
from tests.support.meta.segments import DAY, EPOCH

READ = "attributes['user.id']"


def time(nanos: int) -> str:
    """Write a time of whole microseconds in KQL."""
    return f"(datetime(1970-01-01) + {nanos // 1_000} * 1microsecond)"


def promote(segments: SegmentWriter) -> None:
    """Promote an attribute: files from before lack its column."""
    column = common_pb2.PromotedColumn(
        name="user",
        type=common_pb2.KQL_TYPE_STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="user.id",
    )
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=[column]))
    segments.client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    )


def test_files_of_every_kind_are_one_table(segments: SegmentWriter, queries: QueryDriver) -> None:
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=("metrics", "traces"))
    promote(segments)
    segments.write(day=2, signals=SIGNALS)

    counted = queries.rows("web | summarize n = count() by signal | sort by signal asc")
    times = queries.rows("SELECT epoch_us(timestamp) * 1000 + timestamp_nanos FROM web")
    # Files from before the promotion have the column computed; the other one has its own values.
    text = f"tostring({READ})"
    is_plain = f"{text} != '' and {text} !startswith '[' and {text} !startswith '{{'"
    ((named, told),) = queries.rows(
        f"web | where timestamp < {time(EPOCH + 2 * DAY)}"
        f" | summarize countif(user != ''), countif({is_plain})"
    )

    assert counted == [("logs", 40), ("metrics", 60), ("traces", 60)]
    assert sorted(t for (t,) in times) == sorted(nanos for _, nanos in segments.rows)
    assert named == told > 0


def test_a_promoted_column_is_read_for_its_attribute(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    promote(segments)
    segments.write(rows=200)

    planned = queries.plan(f"web | where {READ} == 'anna' | count")

    assert planned.reads[0].columns == ("user",)
    assert queries.rows(f"web | where {READ} == 'anna' | count") == queries.rows(
        f"web | where strcat({READ}, '') == 'anna' | count"
    )


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("web | where timestamp >= {1} and timestamp < {2} | count", 1),
        ("web | where timestamp == {1} | count", 1),
        ("web | where timestamp > {3} | count", 1),
        ("SELECT count(*) FROM web WHERE timestamp >= {1s} AND timestamp < {2s}", 2),
        ("SELECT count(*) FROM web w WHERE (w.timestamp BETWEEN {1s} AND {2s}) AND true", 2),
        ("SELECT count(*) FROM web WHERE {3s} < timestamp", 1),
        ("SELECT count(*) FROM web WHERE timestamp < {1s} OR signal = 'x'", 4),
        ("SELECT count(*) FROM web a JOIN web b USING (body) WHERE a.timestamp > {3s}", 4),
        ("web | take 5 | where timestamp > {3} | count", 4),
        ("web | where timestamp > {9} | count", 0),
    ],
)
def test_times_of_a_query_choose_its_files(
    segments: SegmentWriter, queries: QueryDriver, text: str, days: int
) -> None:
    for day in range(4):
        segments.write(day=day)
    for day in (1, 2, 3, 9):
        seconds = (EPOCH + day * DAY) // 10**9
        text = text.replace(f"{{{day}}}", time(EPOCH + day * DAY))
        text = text.replace(
            f"{{{day}s}}", f"(TIMESTAMPTZ '1970-01-01 00:00:00+00' + INTERVAL '{seconds}' second)"
        )
    planned = queries.plan(text)
    reads = tuple(DatasetRead(read.name, read.columns) for read in planned.reads)

    def read(query: RunningQuery) -> tuple[int, list[dict[str, Any]]]:
        return len(query.sources[0].files), query.reader().read_all().to_pylist()

    files, rows = queries.run(planned, read)
    all_files, all_rows = queries.run(QueryPlan(planned.sql, reads, None), read)

    assert (files, all_files) == (days, 4)
    assert rows == all_rows or "take" in text


def test_a_callers_bounds_are_exact_to_the_nanosecond(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    segments.write(rows=50)
    segments.write(rows=50, format_version=1)
    times = sorted(nanos for _, nanos in segments.rows)
    low, high = times[10], times[70]

    for start, end in ((low, high), (low + 1, high + 1), (None, low), (high, None)):
        count = sum((start or 0) <= time < (end or 2**63) for time in times)
        for text in ("web | count", "SELECT count(*) FROM web"):
            assert queries.rows(text, bounds=TimeBounds(start, end)) == [(count,)]


def test_one_version_is_read(segments: SegmentWriter, queries: QueryDriver) -> None:
    segments.write(rows=3)
    first = queries.run(queries.plan("web | count"), lambda query: query.sources[0].version)
    segments.write(rows=4)

    assert queries.rows("web | count") == [(7,)]
    assert queries.rows("web | count", as_of=first) == [(3,)]


def test_a_view_is_read_like_a_dataset(segments: SegmentWriter, queries: QueryDriver) -> None:
    segments.write(signals=SIGNALS)
    view = make_view(segments.client, "slow")
    for number, text in enumerate(
        (
            "where signal == 'logs' | project timestamp, what = body",
            "where signal == 'traces' | project what = name, timestamp",
        )
    ):
        segments.client.catalog.LinkViewDatasetProjection(
            pb.LinkViewDatasetProjectionRequest(
                dataset_id=segments.dataset,
                view_id=view,
                projection_id=make_projection(segments.client, f"p{number}", text),
            )
        )
    later = time(EPOCH + 10 * DAY)

    assert queries.rows("slow | count") == queries.rows("SELECT count(*) FROM slow") == [(40,)]
    assert queries.rows("slow | join kind=leftsemi (web) on timestamp | count") == [(40,)]
    assert queries.rows(f"slow | where timestamp > {later} | count") == [(0,)]
    planned = queries.plan(f"slow | where timestamp > {later} | project what")
    assert planned.reads[0].times.low == (EPOCH + 10 * DAY) // 1_000 + 1
