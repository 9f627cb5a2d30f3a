"""A reconciliation brings back from the bucket what a restored database lost, each record once."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from janitor import jobs
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools
from meta.client import MetaClient, location
from meta.config import Settings
from meta.errors import StreamStopped
from meta.process import Shutdown
from meta.server import server
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.recovery import restored_streams
from meta.v1.ingestion_pb2 import DownloadConfigRequest
from meta.v1.operations_pb2 import ReleaseDeletionHoldRequest
from segments.store.open import open_store
from segplane.__main__ import app
from segplane.fsck import catalog_check
from segplane.recovery import reconcile
from segplane.recovery.reconcile import StreamOutcome
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Let every object be old enough for an orphan."""
    Path("/", meta_settings.location.path).mkdir()
    lifetimes = replace(meta_settings.lifetimes, orphan_min_age=0.0)
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
            yield Tools(client, open_store(at), at, JanitorSettings(address), Shutdown(), "test")
    finally:
        started.stop(2.0)


def command(settings: Settings, database_url: str, *arguments: str) -> Result:
    """Run the command beside the servers."""
    options = ("--database-url", database_url, "--object-store-url", settings.location.url())
    return CliRunner().invoke(app, ["catalog", "reconcile", *options, *arguments])


def adopt(tools: Tools, database_url: str) -> list[StreamOutcome]:
    """Bring back what is unknown."""
    database = Database(DatabaseSettings(url=database_url))
    try:
        return list(reconcile.adopt_streams(database, tools.store, is_dry_run=False))
    finally:
        database.close()


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(reconcile, "QUIET_SECS", 0.0)


def assert_sound(tools: Tools) -> None:
    """No invariant is violated, and a janitor's pass deletes nothing that is live."""
    report = catalog_check.check(tools.meta, is_deep=True, orphan_age_secs=86_400)
    assert report.violations == []


def release_and_collect(tools: Tools) -> None:
    tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
    for _ in range(2):
        jobs.collect_orphans(tools)


def test_streams_that_a_restored_database_does_not_know_come_back(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        known.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        known.send("after")
        fresh = CollectorDriver(tools.meta, known.dataset_id)
        fresh.send("merged")
        nursery(tools.meta).cycle()
        fresh.send("not merged")
        fresh.stop()
        of_new_dataset = CollectorDriver(tools.meta, dataset(tools.meta))
        of_new_dataset.send("of a new dataset")
        nursery(tools.meta).cycle()
        known.put("not committed")
        acknowledged = texts(known)

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        dry = command(meta_settings, empty_database_url, "--dry-run", "--json")
        assert dry.exit_code == 0, dry.output
        expected = {fresh.stream_id: (3, 2), of_new_dataset.stream_id: (1, 1)}
        planned = {s["stream_id"]: s for s in json.loads(dry.stdout)["streams"]}
        assert {i: (s["babies"], s["records"]) for i, s in planned.items()} == expected
        fresh.client = known.client = of_new_dataset.client = tools.meta
        assert fresh.info() is None

        done = command(meta_settings, empty_database_url)
        assert done.exit_code == 0, done.output
        assert f"reconciled-{of_new_dataset.dataset_id}" in done.output
        again = command(meta_settings, empty_database_url, "--json")
        assert json.loads(again.stdout)["streams"] == []
        known.commit_again(1)
        known.commit_again(2)
        nursery(tools.meta).cycle()

        assert texts(known) == sorted([*acknowledged, "not committed"])
        assert texts(of_new_dataset) == ["of a new dataset"]
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(known) == sorted([*acknowledged, "not committed"])


def test_a_flush_that_was_written_to_another_stream_comes_back_once(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """The commit in an unknown stream was refused, so its collector has registered for another."""
    with running(meta_settings) as tools:
        dataset_id = dataset(tools.meta)
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        lost = CollectorDriver(tools.meta, dataset_id)
        mixed = CollectorDriver(tools.meta, dataset_id)
        for collector in (lost, mixed):
            collector.send("first", "again")
            collector.send("second")
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        fresh = CollectorDriver(tools.meta, dataset_id)
        lost.put("third", "fourth")
        mixed.put("fifth", "sixth")
        # A digest names its token.
        for collector, bodies in ((lost, ("third", "fourth")), (mixed, ("fifth",))):
            fresh.token_id = collector.token_id
            fresh.send(*bodies)
        fresh.token_id = lost.token_id
        fresh.send("again")
        nursery(tools.meta).cycle()

        outcomes = {outcome.stream_id: outcome for outcome in adopt(tools, empty_database_url)}
        nursery(tools.meta).cycle()

        back, left = outcomes[lost.stream_id], outcomes[mixed.stream_id]
        assert (back.babies, back.records, back.repeated) == (2, 3, 1)
        assert "acknowledged elsewhere" in left.reason
        # Equal bytes further up were acknowledged twice, and are two exports.
        expected = ["again", "again", "fifth", "first", "fourth", "second", "third"]
        assert texts(fresh) == expected
        lost.client = tools.meta
        with pytest.raises(StreamStopped):
            lost.commit_again(2)
        result = command(meta_settings, empty_database_url)
        assert result.exit_code == 1
        assert mixed.stream_id in result.output


@pytest.mark.slow
def test_a_reconciliation_may_die_anywhere_and_two_do_not_run_at_once(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running(meta_settings) as tools:
        dataset_id = dataset(tools.meta)
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        collectors = [CollectorDriver(tools.meta, dataset_id) for _ in range(3)]
        for collector in collectors:
            collector.send("a")
            collector.send("b")
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        for collector in collectors:
            collector.client = tools.meta
        database = Database(DatabaseSettings(url=empty_database_url))
        first = reconcile.adopt_streams(database, tools.store, is_dry_run=False)
        next(first)
        refused = command(meta_settings, empty_database_url)
        assert refused.exit_code == 1
        assert "runs" in refused.output
        # Killed between two transactions, and within one.
        first.close()
        with monkeypatch.context() as patched:
            patched.setattr(restored_streams, "write_streams", None)
            with pytest.raises(TypeError):
                adopt(tools, empty_database_url)
        assert sum(collector.info() is not None for collector in collectors) == 1
        assert len(adopt(tools, empty_database_url)) == 2
        database.close()
        nursery(tools.meta).cycle()

        assert texts(collectors[0]) == ["a", "a", "a", "b", "b", "b"]
        assert_sound(tools)


@pytest.mark.slow
def test_a_stream_that_was_written_just_now_and_another_bucket_are_left(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconcile, "QUIET_SECS", 60.0)
    with running(meta_settings) as tools:
        dataset_id = dataset(tools.meta)
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        collector = CollectorDriver(tools.meta, dataset_id)
        collector.send("a")
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        result = command(meta_settings, empty_database_url)
        assert result.exit_code == 1
        assert "run again" in result.output
        elsewhere = tmp_path / "elsewhere"
        shutil.copytree(Path("/", meta_settings.location.path), elsewhere)
        shutil.rmtree(elsewhere / "witness")
        at = ("--object-store-url", elsewhere.as_uri(), "--database-url", empty_database_url)
        result = CliRunner().invoke(app, ["catalog", "reconcile", *at])
        assert result.exit_code == 1
        assert "right bucket" in result.output
        collector.client = tools.meta
        assert collector.info() is None
