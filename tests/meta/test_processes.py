"""Processes by what they report of themselves with DownloadConfig."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from structlog.testing import capture_logs

from meta import access
from meta import roles as role_calls
from meta.access import Principal
from meta.client import MetaClient
from meta.commits.process_reports import ProcessReports, reported_process
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import CursorInvalid, RoleRefused
from meta.roles import Role
from meta.server import server
from meta.services.messages.process_reports import (
    CHECKS_MAX,
    REPORT_BYTES_MAX,
    ROLES,
    find_report,
)
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.status import processes
from meta.store.status.processes import FIRST
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb
from tests.support.meta.guarded import guarded
from tests.support.meta.server import MetaServer

DAY_SECS = 86_400
NOW = time.time_ns()
INT64_MAX = 2**63 - 1


@pytest.fixture
def transactions(database_url: str) -> Iterator[Transactions]:
    """Transactions of another meta over the same database."""
    database = Database(DatabaseSettings(url=database_url))
    yield Transactions(database)
    database.close()


def report(client: MetaClient, worker_id: str = "", **fields: Any) -> None:
    said: dict[str, Any] = {"kind": "nursery", "name": "host-1", "started_at_nanos": 7} | fields
    request = ingestion_pb2.DownloadConfigRequest(
        worker_id=worker_id, report=pb.ProcessReport(**said)
    )
    assert client.ingestion.DownloadConfig(request).config_version


def listed(client: MetaClient, **fields: Any) -> list[pb.Process]:
    return list(client.status.ListProcesses(pb.ListProcessesRequest(**fields)).processes)


def titles(client: MetaClient) -> list[tuple[str, str, int]]:
    reports = [process.report for process in listed(client)]
    return [(each.kind, each.name, each.started_at_nanos) for each in reports]


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
    assert not meta_server.running.reports.save()
    report(client, **fields)
    (after,) = [each for each in listed(client) if each.report.name == name]

    assert before == written
    assert (before.report.release, before.report.progress) == ("0.4.0", "merged")
    assert 59 * 10**9 < before.clock_skew_nanos < 61 * 10**9
    assert before.first_seen_nanos == before.last_seen_nanos
    assert after.first_seen_nanos == before.first_seen_nanos < after.last_seen_nanos
    # It has no clock.
    assert after.clock_skew_nanos == 0


def test_another_server_lists_what_was_written(
    meta_server: MetaServer, transactions: Transactions
) -> None:
    report(meta_server.client)
    other = ProcessReports(transactions)

    assert transactions.read(lambda tx: other.page(tx, FIRST, 10)) == []
    meta_server.running.reports.save()

    (process,) = transactions.read(lambda tx: other.page(tx, FIRST, 10))
    assert (process.kind, process.name) == ("nursery", "host-1")


def test_an_end_that_comes_before_the_server_stops_is_written(
    meta_settings: Settings, transactions: Transactions
) -> None:
    running = server.start(meta_settings)
    with MetaClient(f"127.0.0.1:{running.port}") as client:
        report(client, is_ending=True)

    running.stop(1.0)

    written = transactions.read(lambda tx: processes.page(tx, FIRST, 10))
    assert [process.is_ended for process in written] == [True]


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


def test_a_report_beyond_its_bounds_is_dropped_and_the_call_answered(
    meta_client: MetaClient,
) -> None:
    # Two bytes for the field and two for the length.
    room = REPORT_BYTES_MAX - pb.ProcessReport(kind="nursery", name="large").ByteSize() - 5
    largest: dict[str, Any] = {"name": "large", "progress": "p" * room, "started_at_nanos": 7}
    assert pb.ProcessReport(kind="nursery", **largest).ByteSize() == REPORT_BYTES_MAX
    most = [pb.ProcessCheck(name="disk")] * CHECKS_MAX
    refused: dict[str, list[dict[str, Any]]] = {
        "report": [largest | {"progress": "p" * (room + 1)}],
        "report.kind": [{"kind": kind} for kind in ("", "Nursery", "a" * 33)],
        "report.name": [{"name": name} for name in ("", "x\x1b[2J", "x\u202e")],
        "report.progress": [{"progress": text} for text in ("a\nb", "a\u2028b")],
        "report.checks": [{"checks": [*most, pb.ProcessCheck()]}],
        "report.checks.name": [{"checks": [pb.ProcessCheck(name="disk\x07")]}],
    }

    with capture_logs() as lines:
        for fields in (fields for field in refused.values() for fields in field):
            report(meta_client, **fields)
        report(meta_client, **largest)
        report(meta_client, name="many", checks=most)

    assert titles(meta_client) == [("nursery", "large", 7), ("nursery", "many", 7)]
    dropped = [line for line in lines if line["event"] == "process_report_dropped"]
    # Once for each reason.
    assert len(dropped) == len(refused)
    assert {(line["log_level"], line["subject"]) for line in dropped} == {("warning", "anonymous")}


def test_numbers_at_the_ends_of_int64_and_beyond_are_listed_and_written(
    meta_server: MetaServer,
) -> None:
    numbers = ("clock_nanos", "progress_at_nanos", "started_at_nanos", "certificate_ends_at_nanos")
    ends = (-(2**63), 1 - 2**63, -1, 1, INT64_MAX)
    for nanos in ends:
        fields: dict[str, Any] = dict.fromkeys(numbers, nanos)
        report(meta_server.client, **fields)
        said = pb.ProcessReport(kind="janitor", name="host-1", started_at_nanos=nanos)
        later = reported_process(said, NOW, "s", credential_ends_at_nanos=10**9 * nanos)
        meta_server.running.reports.add(later)

    before = listed(meta_server.client)
    meta_server.running.reports.save()

    assert before == listed(meta_server.client)
    assert [process.report.started_at_nanos for process in before] == [*ends, *ends]
    credentials = [process.credential_ends_at_nanos for process in before[: len(ends)]]
    assert credentials == [-INT64_MAX, -INT64_MAX, -(10**9), 10**9, INT64_MAX]
    with psycopg.connect(meta_server.settings.database.url) as connection:
        assert connection.execute("SELECT count(*) FROM processes").fetchone() == (2 * len(ends),)


def test_a_process_reports_as_the_kind_of_its_role(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        limits: dict[str, Any] = {"dataset_names": ["default"]}
        callers: list[tuple[Role, str, dict[str, Any]]] = [(role, role.value, {}) for role in Role]
        callers += [(role, f"limited {role.value}", limits) for role in role_calls.SCOPED_ROLES]
        for role, name, fields in callers:
            with guard.client(role, **fields) as client:
                for kind in (*ROLES, "meta"):
                    report(client, kind=kind, name=name)
                # As a release without reports does.
                old = ingestion_pb2.DownloadConfigRequest(worker_id=f"nursery/old {name}")
                client.ingestion.DownloadConfig(old)
        reports = [process.report for process in listed(guard.admin)]

    expected = {(kind, name) for role, name, _ in callers for kind in ROLES if ROLES[kind] is role}
    expected |= {(kind, "admin") for kind in ROLES}
    # A limited gateway is one as well.
    assert ("gateway", "limited gateway") in expected
    expected |= {("meta", "admin"), ("nursery", "old nursery"), ("nursery", "old admin")}
    assert {(each.kind, each.name) for each in reports} == expected


def test_each_subject_has_a_process_for_itself(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        with guard.client(Role.NURSERY, "mine", expires_secs=DAY_SECS) as mine:
            # It does not choose when its token was made.
            report(mine, progress="merged", credential_begins_at_nanos=5)
            guard.running.reports.save()
        with guard.client(Role.NURSERY, "a stranger") as stranger:
            report(stranger, is_ending=True)
            unwritten = listed(guard.admin)
            guard.running.reports.save()
            with pytest.raises(RoleRefused):
                listed(stranger)

        written = listed(guard.admin)

    assert written == unwritten
    subjects = [(process.subject, process.report.is_ending) for process in written]
    assert subjects == [("a stranger", True), ("mine", False)]
    remaining_secs = written[1].credential_ends_at_nanos / 1e9 - time.time()
    assert DAY_SECS - 60 < remaining_secs <= DAY_SECS
    assert written[0].credential_ends_at_nanos == 0
    begins_at, ends_at = (
        written[1].report.credential_begins_at_nanos,
        written[1].credential_ends_at_nanos,
    )
    # Each is cut to a second.
    assert abs(ends_at - begins_at - DAY_SECS * 10**9) <= 10**9


@pytest.mark.parametrize("subject", ["", "a\0b", "s" * 256])
def test_a_subject_that_a_row_does_not_hold_is_dropped(
    transactions: Transactions, subject: str
) -> None:
    said = pb.ProcessReport(kind="nursery", name="host-1")
    request = ingestion_pb2.DownloadConfigRequest(report=said)
    caller = access.current.set(Principal(subject, Role.NURSERY))

    found = find_report(ProcessReports(transactions), request)

    access.current.reset(caller)
    assert found is None


def test_processes_that_do_not_report_are_known_by_their_worker_id(
    meta_client: MetaClient,
) -> None:
    for worker_id in ("nursery/host-4", "janitor", "fsck", "somebody", ""):
        request = ingestion_pb2.DownloadConfigRequest(worker_id=worker_id)
        meta_client.ingestion.DownloadConfig(request)
    # An empty report is of nobody.
    empty = ingestion_pb2.DownloadConfigRequest(
        worker_id="nursery/host-5", report=pb.ProcessReport()
    )
    meta_client.ingestion.DownloadConfig(empty)

    assert titles(meta_client) == [("janitor", "janitor", 0), ("nursery", "host-4", 0)]
