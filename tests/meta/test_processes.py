"""Processes by what they report of themselves with DownloadConfig."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from meta.access import Role
from meta.client import MetaClient
from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import CursorInvalid, InvalidArgument, RoleRefused
from meta.services.messages.process_reports import CHECKS_MAX, REPORT_BYTES_MAX
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.status import processes
from meta.store.status.processes import EXPIRY_NANOS, FIRST, PROCESSES_MAX, ReportedProcess
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.guarded import guarded
from tests.support.meta.server import MetaServer

DAY_SECS = 86_400
NOW = time.time_ns()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(DatabaseSettings(url=database_url))
    yield database
    database.close()


def report(client: MetaClient, worker_id: str = "", **fields: Any) -> None:
    said: dict[str, Any] = {"kind": "nursery", "name": "host-1", "started_at_nanos": 7} | fields
    request = ingestion_pb2.DownloadConfigRequest(
        worker_id=worker_id, report=pb.ProcessReport(**said)
    )
    client.ingestion.DownloadConfig(request)


def listed(client: MetaClient, **fields: Any) -> list[pb.Process]:
    return list(client.status.ListProcesses(pb.ListProcessesRequest(**fields)).processes)


def titles(client: MetaClient) -> list[tuple[str, str, int]]:
    reports = [process.report for process in listed(client)]
    return [(each.kind, each.name, each.started_at_nanos) for each in reports]


def reported(subject: str, number: int, seen: int) -> ReportedProcess:
    return ReportedProcess("nursery", f"host-{number:05}", 1, subject, b"", 0, 0, seen, seen)


@pytest.mark.one_meta
def test_a_report_is_listed_at_once_and_again_after_it_was_written(
    meta_server: MetaServer,
) -> None:
    client, name = meta_server.client, f"host-{uuid4()}"
    fields: dict[str, Any] = {"name": name, "release": "0.4.0", "progress": "merged"}
    report(client, clock_nanos=time.time_ns() + 60 * 10**9, **fields)
    (before,) = [each for each in listed(client) if each.report.name == name]

    assert meta_server.running.reports.save()
    (written,) = [each for each in listed(client) if each.report.name == name]
    report(client, is_ending=True, **fields)
    (after,) = [each for each in listed(client) if each.report.name == name]

    assert before == written
    assert (before.report.release, before.report.progress) == ("0.4.0", "merged")
    assert 59 * 10**9 < before.clock_skew_nanos < 61 * 10**9
    assert before.first_seen_nanos == before.last_seen_nanos
    assert after.report.is_ending
    assert after.first_seen_nanos == before.first_seen_nanos < after.last_seen_nanos


@pytest.mark.one_meta
def test_a_report_without_a_clock_has_no_skew(meta_client: MetaClient) -> None:
    report(meta_client, name="clockless")
    (process,) = [each for each in listed(meta_client) if each.report.name == "clockless"]
    assert process.clock_skew_nanos == 0


def test_another_server_lists_what_was_written(meta_server: MetaServer) -> None:
    report(meta_server.client)
    database = Database(meta_server.settings.database)
    other = ProcessReports(Transactions(database))
    transactions = Transactions(database)

    assert transactions.read(lambda tx: other.page(tx, FIRST, 10)) == []
    meta_server.running.reports.save()

    (process,) = transactions.read(lambda tx: other.page(tx, FIRST, 10))
    assert (process.kind, process.name) == ("nursery", "host-1")
    database.close()


def test_an_older_report_that_another_server_writes_later_changes_nothing(
    database: Database,
) -> None:
    transactions = Transactions(database)
    first, second = ProcessReports(transactions), ProcessReports(transactions)
    first.add(reported("s", 1, seen=NOW))
    second.add(replace(reported("s", 1, seen=NOW + 1), report=b"newer"))

    second.save()
    first.save()

    (process,) = transactions.read(lambda tx: processes.page(tx, FIRST, 10))
    assert (process.last_seen_nanos, process.report) == (NOW + 1, b"newer")


def test_processes_come_by_pages_in_order(meta_client: MetaClient) -> None:
    for kind, name, start in (("nursery", "b", 2), ("nursery", "b", 1), ("janitor", "c", 1)):
        report(meta_client, kind=kind, name=name, started_at_nanos=start)
    report(meta_client, kind="nursery", name="a", started_at_nanos=9)
    expected = [("janitor", "c", 1), ("nursery", "a", 9), ("nursery", "b", 1), ("nursery", "b", 2)]

    first = meta_client.status.ListProcesses(pb.ListProcessesRequest(limit=3))
    request = pb.ListProcessesRequest(limit=3, after=first.next_cursor)
    second = meta_client.status.ListProcesses(request)

    assert titles(meta_client) == expected
    assert [len(first.processes), len(second.processes), second.next_cursor] == [3, 1, ""]
    assert second.processes[0].report.started_at_nanos == 2
    with pytest.raises(CursorInvalid):
        listed(meta_client, after="abc")


@pytest.mark.one_meta
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": ""}, "report.kind"),
        ({"kind": "Nursery"}, "report.kind"),
        ({"kind": "a" * 33}, "report.kind"),
        ({"name": ""}, "report.name"),
        ({"name": "x\x1b[2J"}, "report.name"),
        ({"progress": "a\nb"}, "report.progress"),
        ({"checks": [pb.ProcessCheck(name="disk\x07")]}, "report.checks[0].name"),
        ({"checks": [pb.ProcessCheck()] * (CHECKS_MAX + 1)}, "report.checks"),
    ],
)
def test_a_report_beyond_its_bounds_is_refused(
    meta_client: MetaClient, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        report(meta_client, **fields)
    assert refused.value.field == field


@pytest.mark.one_meta
def test_a_report_of_2048_bytes_is_taken_and_none_of_more(meta_client: MetaClient) -> None:
    said = pb.ProcessReport(kind="nursery", name="large", started_at_nanos=7)
    # Two bytes for the field and two for the length.
    room = REPORT_BYTES_MAX - said.ByteSize() - 3
    report(meta_client, name="large", progress="p" * room, kind="nursery")
    report(meta_client, name="many", checks=[pb.ProcessCheck(name="disk")] * CHECKS_MAX)

    with pytest.raises(InvalidArgument, match="more than 2048"):
        report(meta_client, name="large", progress="p" * (room + 1), kind="nursery")


def test_nobody_reports_for_another_subject(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        with guard.client(Role.NURSERY, "mine", expires_secs=DAY_SECS) as mine:
            report(mine, progress="merged")
            guard.running.reports.save()
        with guard.client(Role.INGEST, "a stranger") as stranger:
            report(stranger, is_ending=True)
            (unwritten,) = listed(guard.admin)
            guard.running.reports.save()
            with pytest.raises(RoleRefused):
                listed(stranger)

        (process,) = listed(guard.admin)

    assert process == unwritten
    assert (process.subject, process.report.is_ending) == ("mine", False)
    left_secs = process.credential_ends_at_nanos / 1e9 - time.time()
    assert DAY_SECS - 60 < left_secs <= DAY_SECS


def test_processes_that_do_not_report_are_known_by_their_worker_id(
    meta_client: MetaClient,
) -> None:
    for worker_id in ("nursery/host-4", "janitor", "fsck", "somebody", ""):
        request = ingestion_pb2.DownloadConfigRequest(worker_id=worker_id)
        meta_client.ingestion.DownloadConfig(request)

    assert titles(meta_client) == [("janitor", "janitor", 0), ("nursery", "host-4", 0)]


def test_an_empty_report_is_of_nobody(meta_client: MetaClient) -> None:
    request = ingestion_pb2.DownloadConfigRequest(
        worker_id="nursery/host-4", report=pb.ProcessReport()
    )
    meta_client.ingestion.DownloadConfig(request)

    assert titles(meta_client) == []


def test_a_subject_with_many_processes_displaces_its_own_alone(database: Database) -> None:
    reports = ProcessReports(Transactions(database))
    reports.add(reported("quiet", 99_999, seen=NOW))
    for number in range(PROCESSES_MAX + 1):
        reports.add(reported("noisy", number, seen=NOW + number))

    reports.save()

    kept = Transactions(database).read(lambda tx: processes.page(tx, FIRST, 2 * PROCESSES_MAX))
    assert len(kept) == PROCESSES_MAX
    assert {each.subject for each in kept} == {"quiet", "noisy"}
    # The one that reported first went.
    assert kept[0].name == "host-00002"


def test_the_table_keeps_10000_processes_and_each_subject_its_newest(database: Database) -> None:
    transactions = Transactions(database)
    expired = reported("gone", 0, seen=NOW - EXPIRY_NANOS - 10**9)
    noisy = [reported("noisy", number, seen=NOW + number) for number in range(1, PROCESSES_MAX + 1)]
    quiet = reported("quiet", 99_999, seen=NOW)
    transactions.write(lambda tx: processes.save(tx, [expired, *noisy]))

    transactions.write(lambda tx: processes.save(tx, [quiet]))
    transactions.write(lambda tx: processes.prune(tx, NOW))

    kept = transactions.read(lambda tx: processes.page(tx, FIRST, 2 * PROCESSES_MAX))
    assert len(kept) == PROCESSES_MAX
    assert kept == [*noisy[1:], quiet]


def test_one_process_named_by_two_subjects_is_the_first_ones(database: Database) -> None:
    reports = ProcessReports(Transactions(database))
    reports.add(reported("first", 1, seen=NOW))
    reports.save()
    reports.add(reported("second", 1, seen=NOW + 1))
    reports.add(reported("first", 1, seen=NOW + 2))

    (process,) = Transactions(database).read(lambda tx: reports.page(tx, FIRST, 10))

    assert process == replace(reported("first", 1, seen=NOW), last_seen_nanos=NOW + 2)
