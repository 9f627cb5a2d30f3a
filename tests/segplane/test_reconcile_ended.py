"""Segments come back that also hold records of streams that had ended before the backup."""

from pathlib import Path

import pytest

from janitor import jobs
from janitor.jobs import Tools
from meta.config import Settings
from segplane.recovery import lost_segments, unknown_babies
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    release_and_collect,
    run,
    running,
    with_lifetimes,
)


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def merge_with_older(tools: Tools, folder: Path, *, is_deleted: bool) -> None:
    """Merge what is committed with the segments of before, which may be deleted."""
    nursery(tools.meta).cycle()
    assert merge_all(tools.meta, tools.store, folder) > 0
    nursery(tools.meta).cycle()
    if is_deleted:
        jobs.delete_tombstoned(tools)


@pytest.mark.long
@pytest.mark.parametrize("is_deleted", [True, False])
def test_segments_with_records_of_a_retired_stream_come_back(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path, is_deleted: bool
) -> None:
    """A merge after the backup took records of both; the retired stream has nothing to move."""
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        retired = CollectorDriver(tools.meta, dataset(tools.meta))
        retired.send("of a retired stream")
        retired.stop()
        active = CollectorDriver(tools.meta, retired.dataset_id)
        for number in range(3):
            active.send(f"before {number}")
            nursery(tools.meta).cycle()
        assert retired.info() is None
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        active.send("after")
        fresh = CollectorDriver(tools.meta, retired.dataset_id)
        fresh.send("of a new stream")
        merge_with_older(tools, tmp_path / "merges", is_deleted=is_deleted)
        expected = texts(active)

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(hasty, empty_database_url) as tools:
        retired.client = active.client = tools.meta
        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert texts(active) == expected
        assert retired.info() is None
        assert_sound(tools)
        nursery(tools.meta).cycle()
        release_and_collect(tools)
        assert texts(active) == expected
        assert_sound(tools)


@pytest.mark.long
def test_a_dataset_that_had_left_a_stream_does_not_enter_it_again(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """Its token was routed elsewhere, all it had was merged, and its entry was removed."""
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        first = dataset(tools.meta)
        moved = CollectorDriver(tools.meta, first)
        active = CollectorDriver(tools.meta, first)
        moved.send("before the token was routed elsewhere")
        nursery(tools.meta).cycle()
        second = dataset(tools.meta)
        moved.route(second)
        for number in range(3):
            moved.send(f"elsewhere {number}")
            active.send(f"before {number}")
            nursery(tools.meta).cycle()
        for _ in range(10):
            nursery(tools.meta).cycle()
        assert list(moved.merged()) == [second]
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        active.send("after")
        merge_with_older(tools, tmp_path / "merges", is_deleted=True)
        expected = texts(active)

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(hasty, empty_database_url) as tools:
        moved.client = active.client = tools.meta
        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert list(moved.merged()) == [second]
        assert texts(active) == expected
        assert_sound(tools)
