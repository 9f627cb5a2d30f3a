"""Judgement of processes by their reports."""

from typing import Any

import pytest

from meta.self_report import RENEWAL_NANOS
from meta.v1 import status_pb2 as pb
from segplane.health import processes
from segplane.health.processes import (
    REPORT_AGE_NANOS,
    SECOND,
    SHOWN_NANOS,
    SILENT_NANOS,
    SKEW_NANOS,
    STALLED_NANOS,
    ProcessState,
    judged,
    span,
)

NOW = 1_790_000_000 * SECOND
WORKERS = ("nursery", "merge_worker", "janitor")
DAY = 86_400 * SECOND


def process(
    kind: str = "nursery", name: str = "host-1", *, seen: int = NOW, first: int = 0, **fields: Any
) -> pb.Process:
    mine = pb.Process.DESCRIPTOR.fields_by_name
    known_to_meta = {field: fields.pop(field) for field in list(fields) if field in mine}
    said: dict[str, Any] = {
        "kind": kind,
        "name": name,
        "started_at_nanos": NOW - 60 * SECOND,
        "clock_nanos": NOW,
    } | fields
    return pb.Process(
        report=pb.ProcessReport(**said),
        first_seen_nanos=first,
        last_seen_nanos=seen,
        **known_to_meta,
    )


def needs(*given: pb.Process) -> list[str]:
    """Needs of an installation that has all workers besides."""
    others = [process(kind, "other") for kind in WORKERS]
    return list(judged([*others, *given], NOW).needs)


def test_an_installation_in_order_needs_nobody() -> None:
    status = judged(map(process, WORKERS), NOW)

    assert (status.headline, status.needs) == ("ok: 3 processes report, nothing needs a person", [])


@pytest.mark.parametrize("kind", WORKERS)
def test_a_kind_without_a_process_needs_a_person(kind: str) -> None:
    status = judged([process(other) for other in WORKERS if other != kind], NOW)

    assert status.needs == [f"no {kind} reports"]
    assert status.headline == "1 thing needs a person; 2 processes report"


def test_a_process_is_silent_after_150_seconds() -> None:
    assert needs(process(seen=NOW - SILENT_NANOS + 1)) == []
    assert needs(process(seen=NOW - SILENT_NANOS)) == [
        "nursery host-1: stopped reporting 2 min ago"
    ]


def test_a_process_that_ended_in_good_order_needs_nobody() -> None:
    assert needs(process(seen=NOW - SILENT_NANOS, is_ending=True)) == []


def test_a_process_of_0_3_0_has_ended_once_it_is_silent() -> None:
    silent = process(seen=NOW - SILENT_NANOS, clock_nanos=0, started_at_nanos=0)

    assert [each.state for each in judged([silent], NOW).processes] == [ProcessState.ENDED]
    assert needs(silent) == []


def test_a_process_that_comes_later_replaces_the_one_of_its_kind_that_died() -> None:
    died = process(seen=NOW - SILENT_NANOS)
    # A pod that was killed comes back under another name.
    later = process(name="host-2", first=NOW - SILENT_NANOS + 1)
    beside = process(name="host-2", first=NOW - SILENT_NANOS)
    janitor = process("janitor", first=NOW)

    states = [each.state for each in judged([died, later], NOW).processes]

    assert states == [ProcessState.REPLACED, ProcessState.REPORTS]
    assert needs(died, later) == []
    assert needs(died, beside, janitor) == ["nursery host-1: stopped reporting 2 min ago"]


def test_a_process_that_comes_later_replaces_a_single_one() -> None:
    first = process(seen=NOW - 3 * SILENT_NANOS)
    second = process(name="host-2", seen=NOW - 2 * SILENT_NANOS)
    later = process(name="host-3", first=NOW - SILENT_NANOS)
    before_the_second = process(name="host-4", first=NOW - 3 * SILENT_NANOS + 1)

    one_is_missing = needs(first, second, later)

    assert one_is_missing == ["nursery host-2: stopped reporting 5 min ago"]
    assert needs(first, second, later, before_the_second) == []


def test_a_process_replaces_the_one_of_its_name_before_others() -> None:
    first = process(seen=NOW - 3 * SILENT_NANOS)
    second = process(name="host-2", seen=NOW - 2 * SILENT_NANOS)
    again = process(name="host-2", first=NOW - SILENT_NANOS)
    # It died after it had replaced another one.
    died_again = process(name="host-2", first=NOW - SILENT_NANOS - 5, seen=NOW - SILENT_NANOS - 1)

    assert needs(first, second, again) == ["nursery host-1: stopped reporting 7 min ago"]
    assert needs(first, second, died_again, again) == [
        "nursery host-1: stopped reporting 7 min ago"
    ]


@pytest.mark.parametrize(
    ("found", "need"),
    [
        (
            process(
                checks=[pb.ProcessCheck(name="disk", text="full"), pb.ProcessCheck(is_ok=True)]
            ),
            "disk: full",
        ),
        (process(clock_skew_nanos=SKEW_NANOS), None),
        (process(clock_skew_nanos=SKEW_NANOS + 1), "its clock is 5 s ahead of the database's"),
        # Its call was repeated until a meta answered.
        (process(clock_skew_nanos=-SKEW_NANOS - REPORT_AGE_NANOS), None),
        (
            process(clock_skew_nanos=-SKEW_NANOS - REPORT_AGE_NANOS - 1),
            "its clock is 35 s behind the database's",
        ),
        (process(certificate_ends_at_nanos=NOW + RENEWAL_NANOS), None),
        (
            process(certificate_ends_at_nanos=NOW + RENEWAL_NANOS - SECOND),
            "its certificate ends in 13 d 23 h",
        ),
        (process(certificate_ends_at_nanos=NOW), "its certificate has ended"),
        # One of a day is renewed each day without a person.
        (
            process(
                certificate_begins_at_nanos=NOW - DAY * 2 // 3,
                certificate_ends_at_nanos=NOW + DAY // 3,
            ),
            None,
        ),
        (
            process(
                certificate_begins_at_nanos=NOW - DAY * 2 // 3 - SECOND,
                certificate_ends_at_nanos=NOW + DAY // 3 - SECOND,
            ),
            "its certificate ends in 7 h 59 min",
        ),
        (process(credential_ends_at_nanos=NOW + RENEWAL_NANOS), None),
        (process(credential_ends_at_nanos=NOW + 90 * SECOND), "its access token ends in 1 min"),
        # One of a week is replaced in the last half of it.
        (
            process(
                credential_begins_at_nanos=NOW - 3 * DAY, credential_ends_at_nanos=NOW + 4 * DAY
            ),
            None,
        ),
        (
            process(
                credential_begins_at_nanos=NOW - 4 * DAY, credential_ends_at_nanos=NOW + 3 * DAY
            ),
            "its access token ends in 3 d",
        ),
        (process(progress_at_nanos=NOW - STALLED_NANOS["nursery"], progress="merged"), None),
        (
            process(progress_at_nanos=NOW - STALLED_NANOS["nursery"] - 1, progress="merged"),
            "no progress for 10 min, the last was: merged",
        ),
        (process(started_at_nanos=NOW - STALLED_NANOS["nursery"]), None),
        (
            process(started_at_nanos=NOW - STALLED_NANOS["nursery"] - 1),
            "no progress for 10 min, since its start",
        ),
        # A merge takes as long as it takes.
        (process("merge_worker", started_at_nanos=1), None),
    ],
)
def test_what_a_process_reports_may_need_a_person(found: pb.Process, need: str | None) -> None:
    assert needs(found) == ([] if need is None else [f"nursery host-1: {need}"])


def test_what_a_silent_process_said_last_is_no_need_of_its_own() -> None:
    silent = process(seen=NOW - SILENT_NANOS, checks=[pb.ProcessCheck(name="disk", text="full")])

    assert needs(silent) == ["nursery host-1: stopped reporting 2 min ago"]


def test_those_that_ended_are_shown_for_an_hour_and_silent_ones_always() -> None:
    ended = judged([process(seen=NOW - SHOWN_NANOS, is_ending=True)], NOW).processes[0]
    ending = judged([process(seen=NOW - SHOWN_NANOS + 1, is_ending=True)], NOW).processes[0]
    silent = judged([process(seen=NOW - 2 * SHOWN_NANOS)], NOW).processes[0]

    shown = [processes.is_shown(one, NOW) for one in (ended, ending, silent)]

    assert shown == [False, True, True]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (86_400, "1 d"),
        (100_000, "1 d 3 h"),
    ],
)
def test_a_span_has_its_two_largest_units(seconds: int, text: str) -> None:
    assert span(seconds * SECOND) == text
