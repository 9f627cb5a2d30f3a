"""A reconciliation brings back from the bucket what a restored database lost, each record once."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from meta.config import Settings
from meta.errors import StreamStopped
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.recovery import restored_streams, unknown_streams
from segplane.__main__ import app
from segplane.recovery import unknown_babies
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    run,
    running,
    with_lifetimes,
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings)


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)


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
        assert f"dataset {of_new_dataset.dataset_id} is called " in done.output
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


@pytest.mark.long
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

        streams = run(tools, empty_database_url).streams
        outcomes = {outcome.stream_id: outcome for outcome in streams}
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
        with unknown_streams.sole_run(database) as is_sole:
            assert is_sole
            refused = command(meta_settings, empty_database_url)
        assert refused.exit_code == 1
        assert "another" in refused.output
        # Killed within a transaction, and between two.
        with monkeypatch.context() as patched:
            patched.setattr(restored_streams, "write_streams", None)
            with pytest.raises(TypeError):
                run(tools, empty_database_url)
        assert not any(collector.info() for collector in collectors)
        write, calls = restored_streams.write_streams, iter((True, False))

        def die_later(*args: Any, **options: Any) -> None:
            assert next(calls)
            write(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(restored_streams, "write_streams", die_later)
            with pytest.raises(AssertionError):
                run(tools, empty_database_url)
        assert sum(collector.info() is not None for collector in collectors) == 1
        assert len(run(tools, empty_database_url).streams) == 2
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
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 60.0)
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
