"""Workers by when they were seen, and settings that DownloadConfig answers them."""

import json
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, QuotaExceeded, RoleRefused
from meta.roles import Role
from meta.store.workers import seen
from meta.v1 import ingestion_pb2, merge_task_pb2
from meta.v1 import operations_pb2 as pb
from meta.v1.common_pb2 import WorkerDatasets, WorkerSettings
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import guarded
from tests.support.meta.segments import WorkerDriver, Writer, segment_of

pytestmark = pytest.mark.one_meta


def download(client: MetaClient, worker_id: str) -> ingestion_pb2.DownloadConfigResponse:
    request = ingestion_pb2.DownloadConfigRequest(worker_id=worker_id, omit_datasets=True)
    return client.ingestion.DownloadConfig(request)


def change(client: MetaClient, name: str, *removed: str, **fields: Any) -> WorkerSettings:
    request = pb.SetWorkerSettingsRequest(
        name=name, settings=WorkerSettings(**fields), removed=removed
    )
    return client.operations.SetWorkerSettings(request).settings


def seen_ids(client: MetaClient, **fields: Any) -> list[str]:
    workers = client.operations.ListWorkers(pb.ListWorkersRequest(**fields)).workers
    return [worker.id for worker in workers]


@pytest.mark.one_meta(False)
def test_the_most_specific_name_wins_setting_by_setting(meta_client: MetaClient) -> None:
    change(meta_client, "merge_worker/*", concurrent_tasks=8, buffer_bytes_max=2**20)
    change(meta_client, "merge_worker/big-*", concurrent_tasks=16)
    change(meta_client, "merge_worker/big-1", buffer_bytes_max=2**30)

    def given(worker_id: str) -> tuple[int, int]:
        settings = download(meta_client, worker_id).worker_settings
        return settings.concurrent_tasks, settings.buffer_bytes_max

    assert given("merge_worker/big-1") == (16, 2**30)
    assert given("merge_worker/big-12") == (16, 2**20)
    assert given("merge_worker/small") == (8, 2**20)
    assert not download(meta_client, "nursery/big-1").HasField("worker_settings")
    request = pb.ListWorkerSettingsRequest(worker_id="merge_worker/big-1")
    reply = meta_client.operations.ListWorkerSettings(request)
    assert [named.name for named in reply.named] == [
        "merge_worker/*",
        "merge_worker/big-*",
        "merge_worker/big-1",
    ]
    assert reply.in_force == download(meta_client, "merge_worker/big-1").worker_settings


@pytest.mark.one_meta(False)
def test_a_change_is_seen_by_the_version_and_is_audited(meta_client: MetaClient) -> None:
    before = download(meta_client, "nursery/a").config_version

    change(meta_client, "nursery/*", batch_babies_max=7)
    change(meta_client, "nursery/*", batch_babies_max=7)

    assert download(meta_client, "nursery/a").config_version != before
    assert change(meta_client, "nursery/*", "batch_babies_max") == WorkerSettings()
    assert download(meta_client, "nursery/a").config_version == before
    everything = meta_client.operations.ListWorkerSettings(pb.ListWorkerSettingsRequest())
    assert list(everything.named) == []
    request = pb.ListAuditRecordsRequest(rpc="SetWorkerSettings")
    records = meta_client.operations.ListAuditRecords(request).records
    assert [json.loads(r.detail)["after"]["batch_babies_max"] for r in records] == [None, 7]
    assert {r.subject_id for r in records} == {"nursery/*"}


@pytest.mark.parametrize(
    ("name", "fields", "removed", "text"),
    [
        ("merge*worker", {"concurrent_tasks": 1}, (), "asterisk"),
        ("", {"concurrent_tasks": 1}, (), "must not be empty"),
        ("*", {"concurrent_tasks": 0}, (), "concurrent_tasks"),
        ("*", {"concurrent_tasks": 1_025}, (), "concurrent_tasks"),
        ("*", {"buffer_bytes_max": 2**20 - 1}, (), "buffer_bytes_max"),
        ("*", {"batch_babies_max": 10_001}, (), "batch_babies_max"),
        ("*", {"flush_timeout_ms": 9}, (), "flush_timeout_ms"),
        ("*", {"flush_timeout_ms": 600_001}, (), "flush_timeout_ms"),
        ("*", {"datasets": WorkerDatasets()}, (), "would do nothing"),
        ("*", {"concurrent_tasks": 1}, ("concurrent_tasks",), "set and removed"),
        ("*", {}, ("threads",), "names no setting"),
    ],
)
def test_settings_that_no_worker_can_heed_are_refused(
    meta_client: MetaClient, name: str, fields: dict[str, Any], removed: tuple[str, ...], text: str
) -> None:
    with pytest.raises(InvalidArgument, match=text):
        change(meta_client, name, *removed, **fields)


def test_a_dataset_that_does_not_exist_is_refused(meta_client: MetaClient) -> None:
    with pytest.raises(NotFound):
        change(meta_client, "*", datasets=WorkerDatasets(ids=[str(uuid4())]))


def test_a_worker_of_some_datasets_gets_the_tasks_of_these_alone(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    own, other = catalog.dataset("own"), catalog.dataset("other")
    for dataset in (other, own):
        Writer(meta_client).save(*[segment_of(dataset) for _ in range(4)])
    WorkerDriver(meta_client).plan()

    def poll(*dataset_ids: str) -> str:
        request = merge_task_pb2.PollForSegmentMergeTaskRequest(
            worker_id="w", dataset_ids=dataset_ids
        )
        return meta_client.merge_task.PollForSegmentMergeTask(request).task.dataset_id

    assert poll(own) == own
    assert poll(own) == ""
    assert poll(own, other) == other


def test_workers_are_listed_by_when_they_were_seen(
    meta_client: MetaClient, database_url: str
) -> None:
    for worker_id in ("nursery/b", "nursery/a", "janitor", ""):
        download(meta_client, worker_id)

    assert seen_ids(meta_client) == ["janitor", "nursery/a", "nursery/b"]
    assert seen_ids(meta_client, after_id="janitor", limit=1) == ["nursery/a"]
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE workers SET last_seen_at = now() - interval '31 days' WHERE id <> 'janitor'"
        )
    assert seen_ids(meta_client) == ["janitor"]
    download(meta_client, "nursery/a")
    assert seen_ids(meta_client) == ["janitor", "nursery/a"]


@pytest.mark.one_meta(False)
def test_the_workers_seen_longest_ago_make_room(meta_client: MetaClient, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO workers (id, last_seen_at) SELECT 'w' || lpad(k::text, 5, '0'),"
            " now() - k * interval '1 second' FROM generate_series(1, %s) k",
            [seen.WORKERS_MAX + 1],
        )

    download(meta_client, "new")

    with psycopg.connect(database_url) as connection:
        row = connection.execute("SELECT count(*), max(id) FROM workers WHERE id <> 'new'")
        assert row.fetchone() == (seen.WORKERS_MAX - 1, "w09999")


@pytest.mark.one_meta(False)
def test_readers_are_not_workers_and_see_no_settings_of_other_datasets(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        dataset = CatalogDriver(guard.admin).dataset("web")
        change(guard.admin, "*", datasets=WorkerDatasets(ids=[dataset]))
        CatalogDriver(guard.admin).dataset("other")

        with guard.client(Role.READER, "limited", dataset_names=["other"]) as limited:
            assert not download(limited, "one").HasField("worker_settings")
        with guard.client(Role.READER) as reader:
            assert download(reader, "two").HasField("worker_settings")
        with guard.client(Role.MERGE) as worker:
            assert download(worker, "three").HasField("worker_settings")
            with pytest.raises(RoleRefused):
                change(worker, "*", concurrent_tasks=1)

        assert seen_ids(guard.admin) == ["three"]


def test_the_number_of_names_is_bounded(meta_client: MetaClient, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO worker_settings (name, settings) SELECT 'n' || k,"
            """ '{"concurrent_tasks": 1, "of_a_later_release": 5}'"""
            " FROM generate_series(1, 255) k"
        )
    change(meta_client, "w", concurrent_tasks=1)

    with pytest.raises(QuotaExceeded):
        change(meta_client, "x", concurrent_tasks=1)
    assert change(meta_client, "n7", concurrent_tasks=2).concurrent_tasks == 2
