"""segplane doctor over a real meta: its checks, those that it cannot make, and who has to act."""

import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import psycopg
import pytest
from click.testing import CliRunner
from sqlalchemy import text

from meta.config import Settings
from meta.roles import Role
from meta.v1 import ingestion_pb2
from meta.v1 import status_pb2 as pb
from meta.v1.operations_pb2 import CreateAccessTokenRequest
from segplane.__main__ import app
from segplane.health.doctor.installation import port_check
from segplane.health.doctor.verdicts import CheckVerdict
from segplane.health.processes import Judged, ProcessState
from tests.support.certificates import Authority
from tests.support.command_line import RunCommand
from tests.support.meta.guarded import ended_access_tokens, guarded
from tests.support.meta.server import MetaServer


@pytest.fixture
def reporting(meta_server: MetaServer) -> MetaServer:
    """Give a meta to which one process of each kind reports."""
    for kind in ("nursery", "merge_worker", "janitor"):
        report = pb.ProcessReport(
            kind=kind, name=f"{kind}-1", started_at_nanos=1, clock_nanos=1, release="0.4.0"
        )
        meta_server.client.ingestion.DownloadConfig(
            ingestion_pb2.DownloadConfigRequest(report=report)
        )
    return meta_server


def verdicts(output: str) -> dict[str, str]:
    checks = json.loads(output)["checks"]
    return {f"{check['area']}/{check['name']}": check["verdict"] for check in checks}


def test_what_cannot_be_checked_is_unknown_and_says_what_is_missing(run: RunCommand) -> None:
    checked = verdicts(run("doctor", "--json").stdout)
    shown = run("doctor")

    assert checked["database/Postgres"] == "unknown"
    assert checked["meta/state"] == "ok"
    assert "set META_DATABASE_URL" in shown.stdout
    # Nothing reports.
    assert shown.exit_code == 1
    assert "no nursery reports" in shown.stdout


def test_access_tokens_that_end_soon_are_named(meta_server: MetaServer, run: RunCommand) -> None:
    operations = meta_server.client.operations
    for subject, hours in (("grafana", 25), ("nursery-eu", 24 * 90)):
        request = CreateAccessTokenRequest(
            subject=subject, role="reader", expires_secs=3_600 * hours
        )
        operations.CreateAccessToken(request)
    assert verdicts(run("doctor", "--json").stdout)["meta/access tokens"] == "ok"
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE access_tokens SET created_at = created_at - interval '30 days'"))

    shown = run("doctor").stdout

    assert "that of grafana ends in 1 d" in shown
    assert "nursery-eu" not in shown


@pytest.mark.database_owner
def test_with_the_database_it_is_checked_too(reporting: MetaServer, run: RunCommand) -> None:
    url = reporting.settings.database.url
    checked = verdicts(run("doctor", "--json", "--database-url", url).stdout)

    assert checked["database/version"] == checked["database/schema"] == "ok"
    assert checked["bucket/writes"] == checked["bucket/rules"] == "ok"

    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0070'")
    behind = run("doctor", "--database-url", url)

    assert behind.exit_code == 1
    assert "run segplane migrate" in behind.stdout


def test_a_database_that_does_not_answer_needs_a_person(run: RunCommand) -> None:
    url = "postgresql://meta:hidden-word@127.0.0.1:1/segplane"
    answer = run("doctor", "--database-url", url)

    assert answer.exit_code == 1
    assert "cannot be read" in answer.stdout
    assert "hidden-word" not in answer.output


def test_a_meta_that_is_away_is_named_and_the_machine_is_checked_all_the_same() -> None:
    environment = {"SEGPLANE_META_ADDRESS": "127.0.0.1:1"}
    answer = CliRunner().invoke(app, ["doctor", "--json"], env=environment)

    checked = verdicts(answer.stdout)
    assert answer.exit_code == 1
    assert checked["meta/state"] == "needs a person"
    assert checked["bucket/all"] == checked["this machine/clock"] == "unknown"
    assert "this machine/disk" in checked


@pytest.mark.long
def test_a_certificate_of_meta_that_has_ended_is_named(tmp_path: Path) -> None:
    now, authority = datetime.now(UTC), Authority(tmp_path / "authority")
    valid = (now - timedelta(days=2), now - timedelta(days=1))
    files = authority.issue("meta", valid=valid)
    pair = (files.key.read_bytes(), files.cert.read_bytes())
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    environment = {
        "SEGPLANE_META_ADDRESS": f"127.0.0.1:{port}",
        "SEGPLANE_META_CA_FILE": str(authority.ca_file),
    }
    answers = [
        CliRunner().invoke(app, [command], env=environment) for command in ("status", "doctor")
    ]
    server.stop(0)

    assert f"meta does not answer at 127.0.0.1:{port}: its certificate has expired" in (
        answers[0].stderr
    )
    assert f"the certificate of meta at 127.0.0.1:{port} has expired" in answers[1].stdout


def test_a_bundle_holds_the_checks_and_the_processes(
    reporting: MetaServer, run: RunCommand, tmp_path: Path
) -> None:
    path = tmp_path / "support.zip"
    answer = run("doctor", "--bundle", str(path))

    assert f"written: {path}" in answer.stderr
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        processes = json.loads(archive.read("processes.json"))
    assert names == ["doctor.json", "release.json", "processes.json"]
    assert {each["report"]["kind"] for each in processes} == {"nursery", "merge_worker", "janitor"}


def test_a_credential_that_has_ended_needs_a_person(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        environment = {
            "SEGPLANE_META_ADDRESS": guard.address,
            "SEGPLANE_META_AUTH_TOKEN": ended_access_tokens(guard, meta_settings.database.url)[
                "expired"
            ],
        }
        ended = CliRunner().invoke(app, ["doctor"], env=environment)
        environment["SEGPLANE_META_AUTH_TOKEN"] = guard.token(Role.INGEST).plaintext_token
        of_collector = CliRunner().invoke(app, ["doctor"], env=environment)

    assert ended.exit_code == 1
    assert "1 thing needs a person" in ended.stdout
    # Of another role, the processes are not known to be well or not.
    assert "use a credential of the role operator-read" in of_collector.stdout


@pytest.mark.parametrize("name", ["..:1", "host:8\u00b2", "a" * 70 + ".example:80", ":", "h:99999"])
def test_a_process_with_an_odd_name_ends_no_examination(name: str) -> None:
    report = pb.ProcessReport(kind="gateway", name=name)
    judged = Judged(pb.Process(report=report), ProcessState.REPORTS, ())

    assert port_check(judged).verdict is CheckVerdict.UNKNOWN
