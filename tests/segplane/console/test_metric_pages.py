"""The pages about metrics: which there are, one over time, rates of counters, groups."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from segplane.gateway.console.metrics.asked import GROUPS_MAX
from segplane.gateway.console.metrics.queries import POINTS_MAX, points_of
from tests.segplane.console.log_records import NOON
from tests.segplane.console.test_logs import opened
from tests.support.gateway.html import HtmlPage
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.traces import Row, write_rows

SECOND = 10**9
HOUR = [("from", "2026-01-01T12:00:00Z"), ("to", "2026-01-01T13:00:00Z")]
HOSTILE = "<script>alert(1)</script>\u202e{{ 7 * 7 }}"


def point(name: str, at_secs: int, **columns: Any) -> Row:
    return {
        "signal": "metrics",
        "timestamp": NOON + at_secs * SECOND,
        "start_timestamp": NOON - SECOND,
        "service_name": "web",
        "metric_name": name,
        "metric_type": "gauge",
        "attributes": "{}",
        "flags": 0,
        **columns,
    }


def counter(route: str, at_secs: int, value: int) -> Row:
    return point(
        "http.requests",
        at_secs,
        metric_type="sum",
        metric_unit="1",
        is_monotonic=True,
        aggregation_temporality=2,
        value_long=value,
        attributes=f'{{"http.route":"{route}"}}',
    )


def path(*parameters: tuple[str, str]) -> str:
    return f"ui/metrics?{urlencode([('dataset', 'web'), *HOUR, *parameters])}"


def rows(page: HtmlPage) -> Sequence[str]:
    return [row.text for row in page.all("tr")][1:]


@pytest.fixture(autouse=True)
def metrics(segments: SegmentWriter) -> None:
    counters = [
        counter(route, 60 * minute, minute * each)
        for route, each in (("/cart", 60), ("/pay", 120))
        for minute in range(10)
    ]
    gauges = [
        point("memory", 60 * minute, value_double=float(minute), metric_description=HOSTILE)
        for minute in range(3)
    ]
    sums = {"metric_type": "histogram", "aggregation_temporality": 2}
    histograms = [
        point("latency", 60 * minute, count=10 * minute, sum=40.0 * minute, **sums)
        for minute in range(1, 6)
    ]
    write_rows(segments, metrics=[*counters, *gauges, *histograms])


def test_the_metrics_of_a_time_are_listed_with_their_kind(console: GatewayServer) -> None:
    page = opened(console, path())

    assert rows(page) == [
        "http.requests sum, only rises 1 20",
        "latency histogram 5",
        "memory gauge 3 <script>alert(1)</script>U+202E{{ 7 * 7 }}",
    ]
    assert "No metric has a point" in opened(console, path(("service", "none"))).text
    assert "name=memory" in page.link("memory")


def test_a_gauge_is_an_average_and_other_functions_by_choice(console: GatewayServer) -> None:
    usual = opened(console, path(("name", "memory")))
    greatest = opened(console, path(("name", "memory"), ("fn", "max"), ("from", "-9000d")))

    assert rows(usual) == [f"2026-01-01 12:0{n}:00.000000 {n}" for n in range(3)]
    assert "Average, in steps of 60 s." in usual.text
    (table,) = [e for e in usual.all("table") if "data-chart-time" in e.attributes]
    assert table.attributes["data-chart-numbers"] == "1"
    assert [row.split()[-1] for row in rows(greatest)] == ["2"]


def test_a_counter_is_a_rate_of_its_series_summed_up_by_group(console: GatewayServer) -> None:
    all_series = opened(console, path(("name", "http.requests")))
    by_route = opened(console, path(("name", "http.requests"), ("by", "attributes.http.route")))

    assert [row.split()[-1] for row in rows(all_series)] == ["3", "3"]
    assert [row.split()[-2:] for row in rows(by_route)] == [
        *(["/cart", "1"], ["/pay", "2"]),
        *(["/cart", "1"], ["/pay", "2"]),
    ]
    assert "Increase per second, in steps of 300 s." in all_series.text
    without = opened(console, by_route.link("remove the group attributes.http.route"))
    assert rows(without) == rows(all_series)


def test_a_histogram_is_a_rate_of_its_count_or_a_mean(console: GatewayServer) -> None:
    counts = opened(console, path(("name", "latency")))
    means = opened(console, path(("name", "latency"), ("fn", "mean")))

    assert next(row.split()[-1] for row in rows(counts)) == "0.166667"
    assert {row.split()[-1] for row in rows(means)} == {"4"}


def test_what_cannot_be_shown_is_refused_in_words(console: GatewayServer) -> None:
    assert "No metric of this name" in opened(console, path(("name", HOSTILE))).text
    assert "expected one of" in opened(console, path(("fn", "drop")), 400).text
    most = [("by", f"attributes.{n}") for n in range(GROUPS_MAX)]
    opened(console, path(("name", "memory"), *most))
    more = opened(console, path(("name", "memory"), *most, ("by", "service_name")), 400)
    assert "at most 3" in more.text
    assert "x" * 80 in opened(console, path(("name", "x" * 256)), 400).text
    assert opened(console, path(("by", "no_such_column"), ("name", "memory")), 400)


def test_points_are_bounded() -> None:
    rows = [{"step": f"t{n}", "value": n, "group0": None} for n in range(POINTS_MAX)]
    all_fit = points_of(json.dumps(rows).encode(), 1)
    cut = points_of(json.dumps([*rows, {**rows[0], "value": None}]).encode(), 1)

    assert (len(all_fit.points), all_fit.is_cut) == (POINTS_MAX, False)
    assert (len(cut.points), cut.is_cut) == (POINTS_MAX, True)
    assert all_fit.points[0].group == "(none)"
