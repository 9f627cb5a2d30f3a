"""Reports of processes in the memory of metas and in the table."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from meta.commits.process_reports import KindReports, ProcessReports, reported_process
from meta.commits.transactions import Transactions, precondition
from meta.errors import Unavailable
from meta.self_report import SILENT_SECS
from meta.store.engine.pool import Database, DatabaseSettings, Transaction
from meta.store.status import processes
from meta.store.status.processes import EXPIRY_NANOS, FIRST, PROCESSES_MAX, ReportedProcess
from meta.store.versions import clock
from meta.v1 import status_pb2 as pb

NOW = time.time_ns()


@pytest.fixture
def transactions(database_url: str) -> Iterator[Transactions]:
    """Transactions of another meta over the same database."""
    database = Database(DatabaseSettings(url=database_url))
    yield Transactions(database)
    database.close()


def reported(subject: str, number: int, seen: int) -> ReportedProcess:
    name = f"host-{number:05}"
    return ReportedProcess("nursery", name, 1, subject, b"", False, 0, 0, seen, seen)


def rows(transactions: Transactions) -> list[ReportedProcess]:
    return transactions.read(lambda tx: processes.page(tx, FIRST, 2 * PROCESSES_MAX))


@pytest.mark.parametrize("is_ending", [False, True], ids=["a newer report", "an end before it"])
@pytest.mark.parametrize("is_saved_first", [False, True])
def test_the_newest_report_of_a_start_stays_and_its_end_over_all(
    transactions: Transactions, is_ending: bool, is_saved_first: bool
) -> None:
    last = replace(reported("s", 1, seen=NOW), report=b"last", is_ended=is_ending)
    other = reported("s", 1, seen=NOW + (1 if is_ending else -1))
    servers = [ProcessReports(transactions) for _ in range(2)]
    one_server = ProcessReports(transactions)
    for process in (last, other) if is_saved_first else (other, last):
        one_server.add(process)
    for reports, process in zip(servers, (last, other), strict=True):
        reports.add(process)
    (in_memory,) = transactions.read(lambda tx: one_server.page(tx, FIRST, 10))

    for reports in servers if is_saved_first else reversed(servers):
        reports.save()

    (process,) = rows(transactions)
    seen = transactions.read(lambda tx: servers[1].of_kind(tx, "nursery"))
    assert process.report == in_memory.report == b"last"
    assert process.last_seen_nanos == in_memory.last_seen_nanos == NOW
    assert in_memory.first_seen_nanos == min(NOW, other.last_seen_nanos)
    assert [each.is_ended for each in seen.processes] == [is_ending]


def test_a_write_that_fails_loses_no_report(transactions: Transactions) -> None:
    reports = ProcessReports(transactions)
    ended = replace(reported("s", 1, seen=NOW), is_ended=True)
    reports.add(ended)
    reports.add(reported("s", 2, seen=NOW))
    newer = reported("s", 2, seen=NOW + 1)

    def refuse(_: Transaction) -> None:
        # It comes while the others are being written.
        reports.add(newer)
        raise Unavailable("the database is away")

    refusal = precondition.set(refuse)
    with pytest.raises(Unavailable):
        reports.save()
    precondition.reset(refusal)
    kept = transactions.read(lambda tx: reports.page(tx, FIRST, 10))
    reports.save()

    expected = [ended, replace(newer, first_seen_nanos=NOW)]
    assert kept == rows(transactions) == expected


def test_a_list_of_a_snapshot_before_the_write_misses_nothing(transactions: Transactions) -> None:
    reports = ProcessReports(transactions)
    process = reported("s", 1, seen=NOW)
    reports.add(process)

    def work(tx: Transaction) -> tuple[list[ReportedProcess], KindReports]:
        clock.now_nanos(tx)
        reports.save()
        return reports.page(tx, FIRST, 10), reports.of_kind(tx, "nursery")

    assert transactions.read(work) == ([process], KindReports([process]))


def test_each_process_of_a_kind_that_was_seen_and_has_not_ended_runs() -> None:
    # Two of one name run side by side where the name has no port.
    first, second = (
        pb.ProcessReport(kind="nursery", name="host", started_at_nanos=start) for start in (1, 2)
    )
    ended = pb.ProcessReport(kind="nursery", name="host", started_at_nanos=3, is_ending=True)
    silent_nanos = NOW - SILENT_SECS * 10**9
    kind = KindReports(
        [
            reported_process(first, silent_nanos + 1, "s"),
            reported_process(second, silent_nanos, "s"),
            reported_process(ended, NOW, "s"),
        ]
    )

    assert kind.running(NOW) == [first]
    assert kind.running(NOW - 1) == [first, second]


def test_a_subject_with_many_processes_displaces_its_own_alone(
    transactions: Transactions,
) -> None:
    reports = ProcessReports(transactions)
    reports.add(reported("quiet", 99_999, seen=NOW))
    for number in range(PROCESSES_MAX + 1):
        reports.add(reported("noisy", number, seen=NOW + number))

    reports.save()

    kept = rows(transactions)
    assert len(kept) == PROCESSES_MAX
    assert {each.subject for each in kept} == {"quiet", "noisy"}
    # The one that reported first went.
    assert kept[0].name == "host-00002"


def test_the_table_keeps_10000_processes_and_each_subject_its_newest(
    transactions: Transactions,
) -> None:
    expired = reported("gone", 0, seen=NOW - EXPIRY_NANOS - 10**9)
    noisy = [reported("noisy", number, seen=NOW + number) for number in range(1, PROCESSES_MAX + 1)]
    quiet = reported("quiet", 99_999, seen=NOW)
    transactions.write(lambda tx: processes.save(tx, [expired, *noisy]))

    transactions.write(lambda tx: processes.save(tx, [quiet]))
    transactions.write(lambda tx: processes.prune(tx, NOW))

    assert rows(transactions) == [*noisy[1:], quiet]
