"""The janitor over a database that went back: that no row names an object proves nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from janitor import jobs
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, forget_streams
from meta.client import MetaClient, location
from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.server import server
from meta.v1 import merge_task_pb2
from meta.v1.catalog_pb2 import GetDatasetRequest
from meta.v1.ingestion_pb2 import DownloadConfigRequest
from meta.v1.janitor_pb2 import CreateMergeTasksRequest
from meta.v1.operations_pb2 import ReleaseDeletionHoldRequest, SetDatasetSettingsRequest
from segments.keys import AttemptKey, baby_key, parse_key
from segments.location import Stores
from segments.store.open import open_store
from tests.support.merge_worker.local_merges import merge_all, write
from tests.support.meta import backups
from tests.support.meta.resource_locks import LockDriver
from tests.support.nursery.drivers import (
    CollectorDriver,
    dataset,
    nursery,
    texts,
    write_and_fail,
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Let every object be old enough for an orphan, but keep what merges replaced."""
    Path("/", meta_settings.location.path).mkdir()
    lifetimes = replace(meta_settings.lifetimes, orphan_min_age=0.0, retired_stream=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@contextmanager
def running(settings: Settings, database_url: str = "") -> Iterator[Tools]:
    """Run a meta in this process; gives a janitor's tools."""
    url = database_url or settings.database.url
    started = server.start(replace(settings, database=replace(settings.database, url=url)))
    try:
        address = f"127.0.0.1:{started.port}"
        with MetaClient(address) as client:
            reply = client.ingestion.DownloadConfig(DownloadConfigRequest(worker_id="test"))
            at = location(reply.cloud_object_prefix.bucket)
            store = open_store(at)
            yield Tools(client, store, Stores(at), JanitorSettings(address), Shutdown(), "janitor")
    finally:
        started.stop(2.0)


def keys(tools: Tools, root: str = "") -> list[str]:
    return [info.key for info in tools.store.list(root)]


def collect(tools: Tools) -> None:
    """Two sweeps, and what follows them."""
    for _ in range(2):
        jobs.collect_orphans(tools)
        forget_streams(tools)


def test_a_rollback_that_holds_no_deletion_costs_no_acknowledged_record(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        for number in range(4):
            known.send(f"before {number}")
            nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        known.send("after")
        fresh = CollectorDriver(tools.meta, known.dataset_id)
        fresh.send("of a new stream")
        nursery(tools.meta).cycle()
        assert merge_all(tools.meta, tools.store, tmp_path / "merges") == 1
        fresh.send("not merged")
        of_new_dataset = CollectorDriver(tools.meta, dataset(tools.meta))
        of_new_dataset.send("of a new dataset")
        nursery(tools.meta).cycle()
        fresh.stop()
        acknowledged = texts(known)
        before = keys(tools)
    assert len(acknowledged) == 7

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        known.client = fresh.client = tools.meta
        assert len(texts(known)) == 4
        # By less than a beat would hold nothing; here the witness noticed, and was overruled.
        tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
        collect(tools)

        left = keys(tools)

    gone = [parse_key(key) for key in before if key not in left]
    # The output of the lost merge holds a baby that no row says is merged.
    assert gone == []


def test_a_segment_stays_whose_babies_a_collector_commits_anew_without_records(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """It was reaped after the backup, so the collector takes its offset for a hole."""
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before = keys(tools, "dataset/")
        collector.send("after")
        nursery(tools.meta).cycle()
        (only_copy,) = set(keys(tools, "dataset/")).difference(before)
        tools.store.delete([baby_key(collector.stream_id, 1)])

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        collector.client, collector.next_offset = tools.meta, 1
        collector.commit(collector.put())
        nursery(tools.meta).cycle()
        tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
        collect(tools)

        assert collector.merged() == {collector.dataset_id: 1}
        assert only_copy in keys(tools, "dataset/")


def test_it_stays_also_if_a_standby_that_lagged_took_over_without_a_witness(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    settings = replace(meta_settings, keeps_witness=False)
    with running(settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("before")
        nursery(tools.meta).cycle()
        backups.dump(settings.database.url, tmp_path / "dump")
        before = keys(tools, "dataset/")
        collector.send("after")
        nursery(tools.meta).cycle()
        (only_copy,) = set(keys(tools, "dataset/")).difference(before)
        tools.store.delete([baby_key(collector.stream_id, 1)])

    backups.restore(tmp_path / "dump", empty_database_url)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("UPDATE meta_state SET timeline = timeline + 1")
    with running(settings, empty_database_url) as tools:
        collector.client, collector.next_offset = tools.meta, 1
        collector.commit(collector.put())
        nursery(tools.meta).cycle()
        tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
        collect(tools)

        assert only_copy in keys(tools, "dataset/")


def test_what_a_killed_nursery_and_a_killed_worker_left_is_deleted(
    meta_settings: Settings, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("a")
        nursery(tools.meta, write_and_fail).cycle()
        collect(tools)
        (left,) = keys(tools, "dataset/")

        nursery(tools.meta).cycle()
        for text in "bcd":
            collector.send(text)
            nursery(tools.meta).cycle()
        collect(tools)

        assert left not in keys(tools, "dataset/")
        assert texts(collector) == ["a", "b", "c", "d"]
        stray = write_of_a_killed_worker(tools, tmp_path)
        collect(tools)
        assert stray not in keys(tools, "dataset/")
        assert texts(collector) == ["a", "b", "c", "d"]


def write_of_a_killed_worker(tools: Tools, folder: Path) -> str:
    """Put the output of a task and die; gives its key."""
    tools.meta.janitor.CreateMergeTasks(CreateMergeTasksRequest())
    poll = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="killed")
    task = tools.meta.merge_task.PollForSegmentMergeTask(poll).task
    write(tools.store, folder / "killed", task)
    (key,) = (k for k in keys(tools, "dataset/") if isinstance(parse_key(k), AttemptKey))
    tools.meta.merge_task.FailSegmentMergeTask(
        merge_task_pb2.FailSegmentMergeTaskRequest(task_id=task.task_id)
    )
    return key


def test_an_unknown_segment_stays_while_a_holder_of_its_records_is_missing(
    meta_settings: Settings, tmp_path: Path
) -> None:
    """A merge is lost with the database, and its inputs were deleted after it."""
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        for text in "abcd":
            collector.send(text)
            nursery(tools.meta).cycle()
        inputs = keys(tools, "dataset/")
        stray = write_of_a_killed_worker(tools, tmp_path)
        content = tools.store.get(inputs[0])
        tools.store.delete(inputs[:1])

        collect(tools)

        assert stray in keys(tools, "dataset/")
        tools.store.put_if_absent(inputs[0], content)
        collect(tools)
        assert keys(tools, "dataset/") == inputs


def test_segments_of_records_past_their_retention_go_without_a_holder(
    meta_settings: Settings,
) -> None:
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("old")
        nursery(tools.meta, write_and_fail).cycle()
        request = SetDatasetSettingsRequest(dataset_id=collector.dataset_id)
        request.settings.event_retention.FromSeconds(86_400)
        collect(tools)
        assert len(keys(tools, "dataset/")) == 1

        tools.meta.operations.SetDatasetSettings(request)
        collect(tools)

        assert keys(tools, "dataset/") == []
        assert tools.meta.catalog.GetDataset(GetDatasetRequest(id=collector.dataset_id)).name


def test_segments_of_a_locked_dataset_do_not_go_by_its_retention(meta_settings: Settings) -> None:
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("old")
        nursery(tools.meta, write_and_fail).cycle()
        request = SetDatasetSettingsRequest(dataset_id=collector.dataset_id)
        request.settings.event_retention.FromSeconds(86_400)
        tools.meta.operations.SetDatasetSettings(request)
        LockDriver(tools.meta).lock("dataset", collector.dataset_id)

        collect(tools)

        assert len(keys(tools, "dataset/")) == 1


def test_a_retired_stream_is_known_for_as_long_as_something_is_listed_under_it(
    meta_settings: Settings,
) -> None:
    with running(meta_settings) as tools:
        collector = CollectorDriver(tools.meta, dataset(tools.meta))
        collector.send("a")
        collector.stop()
        for _ in range(4):
            nursery(tools.meta).cycle()
        assert collector.info() is None
        late = baby_key(collector.stream_id, 2)
        tools.store.put_if_absent(late, b"of a stalled collector")

        forget_streams(tools)
        assert late in keys(tools)
        collect(tools)

        assert keys(tools, "ingest-stream/") == []
        tools.store.put_if_absent(late, b"of a collector that stalled for longer")
        collect(tools)
        assert keys(tools, "ingest-stream/") == [late]
