"""Report of a process about itself: its certificates, its memory, its end."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from meta.self_report import Progress, SelfReport, Validity, first_due, memory
from meta.v1.status_pb2 import ProcessCheck
from tests.support import certificates
from tests.support.certificates import Authority

SECOND = 10**9
# The last second that nanoseconds in an int64 reach, in April 2262.
LAST = (2**63 - 1) // SECOND * SECOND
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


def nanos(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


def of_days(days: int, begin: datetime = BEGIN) -> certificates.Validity:
    return begin, begin + timedelta(days=days)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], Validity(0, 0)),
        ([of_days(90)], Validity(nanos(BEGIN), nanos(BEGIN + timedelta(days=90)))),
        (
            [(BEGIN, datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))],
            Validity(nanos(BEGIN), LAST),
        ),
        # The one of a day ends first, and is renewed later.
        ([of_days(30), of_days(1, BEGIN + timedelta(days=20))], of_days(30)),
        ([of_days(30), of_days(1, BEGIN + timedelta(days=19))], of_days(1, BEGIN + timedelta(19))),
    ],
    ids=["none", "one", "beyond 2262", "long before short", "short before long"],
)
def test_the_certificate_that_is_to_be_renewed_first_counts(
    tmp_path: Path,
    given: list[certificates.Validity],
    expected: Validity | certificates.Validity,
) -> None:
    authority = Authority(tmp_path)
    files = [authority.issue(f"host-{n}", valid=valid).cert for n, valid in enumerate(given)]
    damaged = tmp_path / "damaged.pem"
    damaged.write_text("-----BEGIN CERTIFICATE-----")

    due = first_due([*files, damaged, tmp_path / "missing.pem"])

    if not isinstance(expected, Validity):
        expected = Validity(*map(nanos, expected))
    assert due == expected


def test_memory_of_the_container_is_full_without_pages_of_files(tmp_path: Path) -> None:
    def used(size: int) -> ProcessCheck | None:
        (tmp_path / "memory.current").write_text(f"{size}\n")
        return memory(tmp_path)

    assert used(0) is None
    (tmp_path / "memory.max").write_text("max\n")
    assert used(0) is None
    (tmp_path / "memory.max").write_text("2000000000\n")
    full = used(1_900_000_001)
    pages = "anon 5\ninactive_file 400000000\nactive_file 500000000\n"
    (tmp_path / "memory.stat").write_text(pages)
    cached = used(1_900_000_001)

    assert full == ProcessCheck(name="memory", text="1.9 of 2.0 GB used")
    assert cached == ProcessCheck(name="memory", is_ok=True, text="1.0 of 2.0 GB used")


def test_a_report_that_cannot_be_made_is_none_and_logged_once() -> None:
    def fail() -> ProcessCheck:
        raise ZeroDivisionError

    report = SelfReport("nursery", "host-1", "settings", Progress(), checks=[fail])

    with capture_logs() as lines:
        assert [report.message(), report.message()] == [None, None]
    assert [line["event"] for line in lines] == ["report_not_made"]


def test_the_end_is_in_all_reports_after_it() -> None:
    report = SelfReport("nursery", "host-1", "settings", Progress())
    before = report.message()
    report.end()
    after = report.message()

    assert before is not None
    assert after is not None
    assert (before.is_ending, after.is_ending) == (False, True)
