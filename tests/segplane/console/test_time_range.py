"""Time ranges in addresses of the console."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kql.dataset_table import dataset_table
from segplane.gateway.console.time_range import NANOS_MAX, TimeRange, absolute_range, parse_range
from segplane.gateway.http.refusals import QueryRefusal
from segplane.query.runs import plan_over

SECOND = 10**9
NOW = int(datetime(2026, 11, 29, 12, tzinfo=UTC).timestamp()) * SECOND
HOUR = 3_600 * SECOND
AGES = st.tuples(st.integers(0, 10_000), st.sampled_from("smhdw")).map(lambda a: f"-{a[0]}{a[1]}")
TIMES = st.integers(0, NANOS_MAX - 1)


def read(start: str = "", end: str = "") -> TimeRange:
    return parse_range({"from": start, "to": end}, NOW)


def test_an_address_without_bounds_is_the_last_hour() -> None:
    assert parse_range({}, NOW) == read("-1h", "now")
    assert (read().start.nanos, read().end.nanos) == (NOW - HOUR, NOW)
    assert read().parameters() == {"from": "-1h", "to": "now"}


def test_absolute_times_keep_all_of_their_digits() -> None:
    parameters = {"from": "2026-11-29T10:00:00.123456789Z", "to": "2026-11-29T10:00:00.123456790Z"}

    span = parse_range(parameters, NOW)

    assert span.end.nanos - span.start.nanos == 1
    assert span.parameters() == parameters


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("yesterday", "now"),
        ("-1y", "now"),
        ("-1234567890s", "now"),
        ("now", "-1h"),
        ("now", "now"),
        ("-99999w", "now"),
        ("1969-12-31T23:59:59Z", "now"),
        ("now", "2262-04-12T00:00:00Z"),
        ("2026-13-01T00:00:00Z", "now"),
        ("2026-11-29T10:00:00", "now"),
        ("2026-11-29T10:00:00.1234567890Z", "now"),
    ],
)
def test_other_bounds_are_refused(start: str, end: str) -> None:
    with pytest.raises(QueryRefusal):
        read(start, end)


def test_ranges_beside_it_have_its_length() -> None:
    span = read("-2h", "-1h")

    assert span.previous() == absolute_range(NOW - 3 * HOUR, NOW - 2 * HOUR)
    assert span.next() == absolute_range(NOW - HOUR, NOW)


def test_a_relative_range_stays_relative_when_zoomed_out() -> None:
    assert read("-1h", "now").zoomed_out().parameters() == {"from": "-2h", "to": "now"}
    assert read("-90m", "-30m").zoomed_out().parameters() == {"from": "-150m", "to": "-30m"}
    absolute = read("-2h", "-1h").absolute()
    assert absolute.zoomed_out() == absolute_range(NOW - 5 * HOUR // 2, NOW - HOUR // 2)


@given(AGES)
def test_an_age_is_the_same_when_it_is_read_again(age: str) -> None:
    try:
        span = read(age, "now")
    except QueryRefusal:
        return

    assert parse_range(span.parameters(), NOW) == span
    wider = span.zoomed_out()
    assert parse_range(wider.parameters(), NOW) == wider
    assert 0 <= wider.start.nanos <= span.start.nanos


@given(TIMES, TIMES)
def test_an_absolute_range_is_within_the_formats_times(first: int, second: int) -> None:
    span = absolute_range(first, second)

    for other in (span, span.previous(), span.next(), span.zoomed_out()):
        assert 0 <= other.start.nanos < other.end.nanos <= NANOS_MAX
        assert parse_range(other.parameters(), NOW) == other


@given(TIMES, TIMES)
def test_a_range_is_a_condition_of_kql(first: int, second: int) -> None:
    condition = absolute_range(first, second).kql()

    plan_over({"web": dataset_table("web")}, f"web | where {condition}", "kql", datetime.now(UTC))
