"""Gauges of the installation: ends of credentials, free places, the release."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.access import ANONYMOUS
from meta.commits.transactions import Transactions
from meta.metrics import META
from meta.process.shutdown import Shutdown
from meta.self_report import Progress, SelfReport
from meta.server import jobs
from meta.store.engine.pool import Transaction
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.operations_pb2 import CreateAccessTokenRequest, RevokeAccessTokenRequest
from meta.watches.installation_gauges import NEAREST_MAX, InstallationGauges
from segplane.deploy import durations
from tests.support.certificates import Authority
from tests.support.meta.server import MetaServer

DAY_SECS = 86_400


def gauges_of(meta: MetaServer) -> InstallationGauges:
    running = meta.running
    return InstallationGauges(Transactions(running.database), meta.settings, running.reports)


def ends(kind: str) -> list[float]:
    ranks = (str(rank) for rank in range(1, NEAREST_MAX + 2))
    name = "segplane_meta_expiry_timestamp_seconds"
    values = (META.get_sample_value(name, {"kind": kind, "rank": rank}) for rank in ranks)
    return [value for value in values if value is not None]


def expiring(kind: str) -> float | None:
    return META.get_sample_value("segplane_meta_expiring", {"kind": kind})


def age_tokens(meta: MetaServer, days: float) -> None:
    with meta.running.database.write() as tx:
        aged = "created_at - make_interval(secs => :secs)"
        tx.execute(
            text(f"UPDATE access_tokens SET created_at = {aged}"),  # noqa: S608
            {"secs": days * DAY_SECS},
        )


def free(bound: str) -> float:
    return META.get_sample_value("segplane_free_places", {"bound": bound}) or 0.0


@pytest.mark.long
def test_the_nearest_five_ends_of_tokens_are_shown_and_those_that_are_due_counted(
    meta_server: MetaServer,
) -> None:
    gauges, operations = gauges_of(meta_server), meta_server.client.operations
    tokens = [
        operations.CreateAccessToken(
            CreateAccessTokenRequest(
                subject=f"s{days}", role="reader", expires_secs=days * DAY_SECS
            )
        ).token
        for days in (3, 1, 13, 15, 400, 30)
    ]
    age_tokens(meta_server, 400)

    gauges.run_round()

    days = [round((end - time.time()) / DAY_SECS) for end in ends("access_token")]
    assert days == [1, 3, 13, 15, 30]
    assert expiring("access_token") == 3

    for token in tokens[:4]:
        operations.RevokeAccessToken(RevokeAccessTokenRequest(token_id=token.id))
    gauges.run_round()

    days = [round((end - time.time()) / DAY_SECS) for end in ends("access_token")]
    assert days == [30, 400]
    assert expiring("access_token") == 0


def test_a_short_lived_token_counts_in_the_second_half_of_its_validity_only(
    meta_server: MetaServer,
) -> None:
    gauges, operations = gauges_of(meta_server), meta_server.client.operations
    operations.CreateAccessToken(
        CreateAccessTokenRequest(subject="s", role="reader", expires_secs=7 * DAY_SECS)
    )
    age_tokens(meta_server, 6.9)

    gauges.run_round()
    in_the_first_half = expiring("access_token")
    age_tokens(meta_server, 0.2)
    gauges.run_round()

    assert in_the_first_half == 0
    assert expiring("access_token") == 1


def test_a_short_lived_certificate_counts_in_the_last_third_of_its_validity_only(
    meta_server: MetaServer, tmp_path: Path
) -> None:
    now, authority = datetime.now(UTC), Authority(tmp_path / "authority")
    gauges = gauges_of(meta_server)

    def count_at(age: timedelta) -> float | None:
        valid = (now - age, now - age + timedelta(hours=24))
        cert = authority.issue(f"meta-{age.seconds}", valid=valid).cert
        report = SelfReport("meta", "m", meta_server.settings, Progress(), certificates=[cert])
        meta_server.running.reports.server = report
        meta_server.running.reports.save()
        gauges.run_round()
        report.end()
        meta_server.running.reports.save()
        return expiring("certificate")

    assert count_at(timedelta(hours=15)) == 0
    assert count_at(timedelta(hours=17)) == 1


@pytest.mark.long
def test_the_end_of_a_certificate_is_shown_while_its_process_reports(
    meta_server: MetaServer, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    end = (now + timedelta(days=6)).replace(microsecond=0)
    valid = (now - timedelta(days=30), end)
    files = Authority(tmp_path / "authority").issue("meta", valid=valid)
    report = SelfReport("meta", "m", meta_server.settings, Progress(), certificates=[files.cert])
    gauges = gauges_of(meta_server)

    meta_server.running.reports.server = report
    meta_server.running.reports.save()
    gauges.run_round()

    assert ends("certificate") == [end.timestamp()]
    assert expiring("certificate") == 1

    report.end()
    meta_server.running.reports.save()
    gauges.run_round()

    assert ends("certificate") == []
    assert expiring("certificate") == 0


def test_free_places_are_those_that_are_left(meta_server: MetaServer) -> None:
    gauges = gauges_of(meta_server)
    gauges.run_round()
    datasets = free("datasets")

    meta_server.client.catalog.CreateDataset(CreateDatasetRequest(name="another"))
    gauges.run_round()

    assert free("datasets") == datasets - 1
    assert free("streams") == max(1, meta_server.settings.threads // 4)
    with meta_server.running.pipeline.admission.admit(ANONYMOUS, "streams"):
        assert free("streams") == max(1, meta_server.settings.threads // 4) - 1


def test_a_connection_that_a_transaction_uses_is_not_free(meta_server: MetaServer) -> None:
    database = meta_server.running.database
    free_before = database.free_connections()
    with database.read():
        assert database.free_connections() == free_before - 1


def use(tx: Transaction, dataset_id: UUID, limit: int, records: int) -> None:
    """Let a dataset have a limit, and records of two processes in this month."""
    limited = "UPDATE datasets SET records_per_month = :limit WHERE id = :id"
    tx.execute(text(limited), {"id": dataset_id, "limit": limit})
    counted = (
        "INSERT INTO dataset_usage (dataset_id, month, slot, records)"
        " VALUES (:id, to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), :slot, :records)"
    )
    slots = [(0, records - 1), (1, 1)]
    tx.execute(text(counted), [{"id": dataset_id, "slot": s, "records": n} for s, n in slots])


def test_the_limit_of_records_that_is_used_most_is_shown(meta_server: MetaServer) -> None:
    def used(kind: str) -> float | None:
        return META.get_sample_value("segplane_meta_quota_used_ratio", {"limit": kind})

    catalog = meta_server.client.catalog
    ids = [catalog.CreateDataset(CreateDatasetRequest(name=name)).id for name in ("a", "b", "c")]
    gauges_of(meta_server).run_round()
    assert (used("dataset"), used("creator")) == (0, 0)
    assert META.get_sample_value("segplane_free_places", {"bound": "month_records"}) is None
    with meta_server.running.database.write() as tx:
        for dataset_id, limit, records in zip(ids, (100, 1_000, -1), (90, 500, 5_000), strict=True):
            use(tx, UUID(dataset_id), limit, records)
        tx.execute(
            text("UPDATE catalog_authors SET created_by = 'ann' WHERE entry_id = :id"),
            {"id": ids[2]},
        )
        tx.execute(text("INSERT INTO creator_quotas VALUES ('ann', 0, 10000)"))

    gauges_of(meta_server).run_round()

    assert (used("dataset"), used("creator")) == (0.9, 0.5)
    assert free("month_records") == 10


def test_no_job_rests_as_long_as_one_that_hangs(meta_server: MetaServer) -> None:
    running = meta_server.running
    made = jobs._jobs(running.database, running.report, meta_server.settings, Shutdown())

    pauses = {job.name: max(job.pause_secs, job.idle_secs_max) for job in made}

    hung_secs = durations.SECONDS["hung"]
    assert {name for name, secs in pauses.items() if secs > hung_secs / 2} == set()
