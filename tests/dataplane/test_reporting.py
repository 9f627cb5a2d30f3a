"""Reports of a process to a real meta."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from structlog.testing import capture_logs

from dataplane.location import Locator
from dataplane.reporting import Reporter
from meta.client import MetaClient
from meta.config import Settings
from meta.self_report import Progress, SelfReport
from meta.server import server
from meta.v1 import status_pb2 as pb
from meta.v1.status_pb2 import ProcessCheck
from tests.support.certificates import Authority


def listed(client: MetaClient) -> list[pb.Process]:
    return list(client.status.ListProcesses(pb.ListProcessesRequest()).processes)


def test_a_process_is_listed_with_a_certificate_that_ends_in_9999(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    valid = datetime(2026, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
    files = [Authority(tmp_path).issue("host-1", valid=valid).cert]
    locator = Locator(meta_client, "nursery/host-1")
    report = SelfReport("nursery", "host-1", "settings", Progress(), certificates=files)

    Reporter(report, locator).start().end()

    (process,) = listed(meta_client)
    ends_at = process.report.certificate_ends_at_nanos
    assert (ends_at // 10**9, process.report.is_ending) == ((2**63 - 1) // 10**9, True)


def test_a_report_that_cannot_be_made_does_not_fail_the_question(meta_client: MetaClient) -> None:
    def fail() -> ProcessCheck:
        raise ZeroDivisionError

    locator = Locator(meta_client, "nursery/host-1")
    locator.report = SelfReport("nursery", "host-1", "settings", Progress(), checks=[fail])

    locator.ask()

    assert locator.known.bucket.path
    assert listed(meta_client) == []


def test_a_meta_that_answers_late_is_asked_once(meta_client: MetaClient) -> None:
    made = count(1)

    def number() -> ProcessCheck:
        return ProcessCheck(name="number", text=str(next(made)))

    # Each look at its clock is 20 s after the one before.
    locator = Locator(meta_client, "nursery/host-1", monotonic=map(float, count(0, 20)).__next__)
    locator.report = SelfReport("nursery", "host-1", "settings", Progress(), checks=[number])

    locator.ask()

    (process,) = listed(meta_client)
    texts = [check.text for check in process.report.checks if check.name == "number"]
    assert (texts, next(made)) == (["1"], 2)


def test_a_refusal_is_logged_once(meta_settings: Settings) -> None:
    running = server.start(replace(meta_settings, auth_token="right"))
    try:
        with MetaClient(f"127.0.0.1:{running.port}", auth_token="wrong") as wrong:
            report = SelfReport("nursery", "host-1", "settings", Progress())
            with capture_logs() as lines:
                Reporter(report, Locator(wrong, "nursery/host-1")).start().end()
    finally:
        running.stop(0)

    refused = [line for line in lines if line["event"] == "process_not_reported"]
    assert [line["reason"] for line in refused] == ["UNAUTHENTICATED"]
