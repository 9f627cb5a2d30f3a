"""Judgement of a canary's records."""

from collections.abc import Iterable

import pytest

from segplane.cli.canary.preparation import cost_of
from segplane.cli.canary.probes import (
    FOLLOWED_MAX,
    LATENCIES_MAX,
    CanaryProbe,
    Patience,
    ProbeLedger,
    ProbeReport,
    percentiles,
)

SECOND = 10**9


@pytest.fixture
def ledger() -> ProbeLedger:
    """Give a ledger of two records, which were sent at 0 and 1 s and acknowledged."""
    ledger = ProbeLedger(("visible", "merged"), Patience(10.0, 60.0))
    for number in range(2):
        assert not list(ledger.acknowledge(CanaryProbe(number, number * SECOND), 0.5))
    return ledger


def results(reports: Iterable[ProbeReport]) -> list[tuple[int, str]]:
    return [(report.number, report.result) for report in reports]


def test_a_record_has_arrived_once_the_last_step_shows_it_once(ledger: ProbeLedger) -> None:
    visible = results(ledger.see("visible", [0, 1], 3 * SECOND))
    (report,) = ledger.see("merged", [0], 5 * SECOND)

    assert visible == []
    assert (report.number, report.result, report.copies) == (0, "arrived", 1)
    assert report.steps == {"acknowledged": 0.5, "visible": 3.0, "merged": 5.0}
    assert list(ledger.followed) == [1]


def test_a_record_that_is_merged_between_two_readings_was_visible_as_well(
    ledger: ProbeLedger,
) -> None:
    (report,) = ledger.see("merged", [1], 4 * SECOND)

    assert report.steps == {"acknowledged": 0.5, "visible": 3.0, "merged": 3.0}


@pytest.mark.parametrize(
    ("step", "numbers", "seconds", "expected"),
    [
        ("merged", [0, 1], 10, [(0, "arrived"), (1, "arrived")]),
        ("merged", [0, 1], 11, [(0, "late"), (1, "arrived")]),
        ("merged", [], 60, []),
        ("merged", [], 61, [(0, "lost")]),
        ("visible", [], 100, []),
        ("visible", [1, 0, 1], 3, [(1, "doubled")]),
        ("merged", [0, 0, 0], 3, [(0, "doubled")]),
        ("merged", [7, 8], 3, []),
    ],
)
def test_readings_are_judged(
    ledger: ProbeLedger,
    step: str,
    numbers: list[int],
    seconds: int,
    expected: list[tuple[int, str]],
) -> None:
    assert results(ledger.see(step, numbers, seconds * SECOND)) == expected


def test_a_lost_record_says_how_far_it_came(ledger: ProbeLedger) -> None:
    list(ledger.see("visible", [0], SECOND))

    lost = list(ledger.see("merged", [], 100 * SECOND))

    assert [report.detail for report in lost] == [
        "visible, and not merged within 60 s",
        "acknowledged, and not merged within 60 s",
    ]


DAY_SECS = 86_400


@pytest.mark.parametrize(
    ("read_at", "numbers", "seconds", "expected"),
    [
        (1, [0], 11, [(0, "late")]),
        # Down for longer than --late: nobody knows when the record arrived.
        (1, [0], 12, [(0, "arrived")]),
        (1, [], 61, [(0, "lost")]),
        (1, [], DAY_SECS, [(0, "lost")]),
        (1, [], DAY_SECS + 1, [(0, "unread")]),
        # Before it was sent, there was nothing to read.
        (-100, [0], 10, [(0, "arrived")]),
        (-100, [0], 11, [(0, "arrived")]),
    ],
)
def test_a_restart_makes_no_record_late_or_lost(
    read_at: int, numbers: list[int], seconds: int, expected: list[tuple[int, str]]
) -> None:
    ledger = ProbeLedger(("visible", "merged"), Patience(10.0, 60.0))
    ledger.resume([CanaryProbe(0, 0, {"acknowledged": 0.5})], read_at * SECOND)

    reports = list(ledger.see("merged", numbers, seconds * SECOND))

    assert results(reports) == expected
    assert reports[0].steps == {"acknowledged": 0.5}
    assert not ledger.latencies


def test_a_resumed_record_is_late_if_it_was_missing_after_the_restart() -> None:
    ledger = ProbeLedger(("visible", "merged"), Patience(10.0, 60.0))
    ledger.resume([CanaryProbe(n, 0, {"acknowledged": 0.5}) for n in range(2)], SECOND)
    assert not list(ledger.see("visible", [0, 1], 39 * SECOND))
    for seconds in (40, 55):
        assert not list(ledger.see("merged", [], seconds * SECOND))

    late, lost = ledger.see("merged", [0], 61 * SECOND)

    assert (late.result, lost.result) == ("late", "lost")
    assert lost.detail == "visible, and not merged within 60 s"
    assert lost.steps == {"acknowledged": 0.5}


@pytest.mark.parametrize(
    ("seconds", "interval"), [(1, 1.0), (11, 1.0), (21, 2.0), (41, 4.0), (51, 5.0), (300, 5.0)]
)
def test_readings_become_rarer_with_the_age_of_the_youngest_record(
    ledger: ProbeLedger, seconds: int, interval: float
) -> None:
    assert ledger.reading_interval_secs(seconds * SECOND) == interval


def test_records_to_look_at_again_are_read_at_once() -> None:
    assert ProbeLedger(("merged",), Patience(10.0, 60.0)).reading_interval_secs(SECOND) == 1.0


def test_arrived_records_are_looked_at_once_more(ledger: ProbeLedger) -> None:
    list(ledger.see("merged", [0, 1], 5 * SECOND))

    again = results(ledger.look_again([1, 1], [0, 1]))

    assert again == [(0, "lost"), (1, "doubled")]
    assert results(ledger.look_again([], [0, 1])) == []


@pytest.mark.parametrize(("seconds", "due"), [(60, []), (90, []), (91, [0]), (120, [0, 1])])
def test_arrived_records_are_due_after_the_timeout_and_at_most_half_of_it_later(
    ledger: ProbeLedger, seconds: int, due: list[int]
) -> None:
    list(ledger.acknowledge(CanaryProbe(2, 80 * SECOND), 0.5))
    list(ledger.see("merged", [0, 1, 2], 85 * SECOND))
    ledger.arrived[1].sent_at_nanos = 40 * SECOND

    assert ledger.due_again(seconds * SECOND) == due


def test_followed_records_are_bounded_and_the_oldest_is_given_up(ledger: ProbeLedger) -> None:
    list(ledger.see("merged", [0], SECOND))
    given_up = [
        report
        for number in range(2, FOLLOWED_MAX + 2)
        for report in ledger.acknowledge(CanaryProbe(number, number), 0.1)
    ]

    # The one that has arrived goes first, which needs no judgement.
    assert results(given_up) == [(1, "unread")]
    assert given_up[0].detail == "1,000 newer records are followed"
    assert not ledger.arrived
    assert len(ledger.followed) == FOLLOWED_MAX


def test_requests_of_a_day_grow_with_the_records_that_wait_at_a_time() -> None:
    seldom, often = cost_of(3_600.0), cost_of(1.0)

    assert (seldom.exports, often.exports) == (24, DAY_SECS)
    assert (seldom.requests // seldom.exports, often.requests // often.exports) == (18, 50)


def test_percentiles_are_of_the_last_latencies() -> None:
    ledger = ProbeLedger(("visible",), Patience(10.0, 60.0))
    for number in range(LATENCIES_MAX + 5):
        list(ledger.acknowledge(CanaryProbe(number, 0), number))
        list(ledger.see("visible", [number], 0))

    assert len(ledger.latencies["acknowledged"]) == LATENCIES_MAX
    assert percentiles([]) == {}
    assert percentiles([3.0]) == {"p50": 3.0, "p90": 3.0, "p99": 3.0, "max": 3.0}
    hundred = percentiles(float(n) for n in range(100))
    assert hundred == {"p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 99.0}
