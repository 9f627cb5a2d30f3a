"""Bounds of filters: what they skip no row of the filter has."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.signals import SIGNALS
from segplane.gateway.iceberg.refusals import RequestRefused
from segplane.gateway.iceberg.scans.scan_filters import MICROS_MAX, ScanBounds, scan_bounds

TIME, MICROS = "2026-11-22T10:00:00+00:00", 1_795_341_600_000_000
ALL = ScanBounds()


def one(kind: str, value: Any, term: Any = "timestamp") -> dict[str, Any]:
    return {"type": kind, "term": term, "value": value}


def pair(kind: str, left: Any, right: Any) -> dict[str, Any]:
    return {"type": kind, "left": left, "right": right}


LOGS = one("eq", "logs", "signal")


@pytest.mark.parametrize(
    ("expression", "bounds"),
    [
        (True, ALL),
        ({"type": "true"}, ALL),
        (one("gt-eq", TIME), ScanBounds(low=MICROS)),
        (one("gt", TIME), ScanBounds(low=MICROS + 1)),
        (one("lt", TIME), ScanBounds(high=MICROS - 1)),
        (one("lt", "2026-11-22T10:00:00.000000500Z"), ScanBounds(high=MICROS)),
        (one("lt-eq", MICROS), ScanBounds(high=MICROS)),
        (one("eq", "2026-11-22T10:00:00"), ScanBounds(MICROS, MICROS)),
        (one("gt", 10**40), ScanBounds(low=MICROS_MAX + 2)),
        (one("eq", TIME, {"type": "reference", "term": "TIMESTAMP"}), ScanBounds(MICROS, MICROS)),
        (one("eq", TIME, {"type": "transform", "transform": "day", "term": "timestamp"}), ALL),
        (one("eq", TIME, "other"), ALL),
        ({"type": "in", "term": "timestamp", "values": [3, 1, 2]}, ScanBounds(1, 3)),
        ({"type": "is-null", "term": "timestamp"}, ALL),
        (LOGS, ScanBounds(signals=frozenset({"logs"}))),
        (one("not-eq", "logs", "signal"), ScanBounds(signals=frozenset({"metrics", "traces"}))),
        (one("starts-with", "l", "signal"), ALL),
        (pair("and", LOGS, one("gt-eq", MICROS)), ScanBounds(MICROS, signals=frozenset({"logs"}))),
        (pair("or", LOGS, one("gt-eq", MICROS)), ALL),
        (pair("or", one("eq", 1), one("eq", 9)), ScanBounds(1, 9)),
        (pair("or", {"type": "false"}, LOGS), ScanBounds(signals=frozenset({"logs"}))),
        ({"type": "not", "child": LOGS}, ALL),
    ],
    # Not of the bounds: a set has its own order in each process that runs tests.
    ids=lambda value: "" if isinstance(value, ScanBounds) else str(value),
)
def test_a_filter_has_these_bounds(expression: Any, bounds: ScanBounds) -> None:
    assert scan_bounds(expression) == bounds


@pytest.mark.parametrize(
    "expression",
    [
        False,
        {"type": "false"},
        pair("and", LOGS, one("eq", "x", "signal")),
        pair("and", one("lt", 5), one("gt", 5)),
    ],
    ids=str,
)
def test_a_filter_that_no_row_fits_is_empty(expression: Any) -> None:
    assert scan_bounds(expression).is_empty


@pytest.mark.parametrize(
    "expression",
    [
        None,
        "x",
        {},
        {"type": "like", "term": "a", "value": "b"},
        {"type": "and", "left": True},
        {"type": "not"},
        {"type": "in", "term": "signal"},
        {"type": "eq", "value": 1},
        one("eq", "yesterday"),
        one("eq", True),
        one("eq", None),
        one("eq", {}),
        one("lt", 1.5),
    ],
    ids=str,
)
def test_what_is_not_a_filter_is_refused(expression: Any) -> None:
    with pytest.raises(RequestRefused):
        scan_bounds(expression)


def test_a_filter_is_bounded_in_depth() -> None:
    expression: Any = True
    for _ in range(300):
        expression = {"type": "not", "child": expression}

    with pytest.raises(RequestRefused, match="nested"):
        scan_bounds(expression)


_TIMES = st.integers(-5, 5)
_LEAVES = st.one_of(
    st.booleans(),
    st.builds(one, st.sampled_from(["lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq"]), _TIMES),
    st.builds(one, st.sampled_from(["eq", "not-eq"]), st.sampled_from(SIGNALS), st.just("signal")),
)
_FILTERS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(pair, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(lambda child: {"type": "not", "child": child}, inner),
    ),
)
_COMPARE = {
    "lt": int.__lt__,
    "lt-eq": int.__le__,
    "gt": int.__gt__,
    "gt-eq": int.__ge__,
}


def fits(expression: Any, time: int, signal: str) -> bool:
    """Evaluate a filter for one row."""
    if isinstance(expression, bool):
        return expression
    kind = expression["type"]
    if kind == "not":
        return not fits(expression["child"], time, signal)
    if kind in ("and", "or"):
        both = [fits(expression[side], time, signal) for side in ("left", "right")]
        return all(both) if kind == "and" else any(both)
    value: Any = time if expression["term"] == "timestamp" else signal
    if kind in ("eq", "not-eq"):
        return bool((value == expression["value"]) == (kind == "eq"))
    return bool(_COMPARE[kind](value, expression["value"]))


@given(_FILTERS, _TIMES, st.sampled_from(SIGNALS))
def test_every_row_that_fits_lies_within_the_bounds(
    expression: Any, time: int, signal: str
) -> None:
    bounds = scan_bounds(expression)

    if fits(expression, time, signal):
        row = replace(bounds, low=time, high=time, signals=frozenset({signal}))
        assert bounds & row == row
