"""Collectors that end or start between a restore and its reconciliation."""

import json
from pathlib import Path

import pytest

from janitor.jobs import Tools
from meta.config import Settings
from meta.errors import MetaError, StreamStopped
from segments.baby import BabyKind
from segments.keys import baby_prefix
from segplane.recovery import detached_streams, lost_segments, unknown_babies
from tests.support.meta import backups, rollback
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    run,
    running,
    with_lifetimes,
)
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def test_a_stream_whose_collector_is_gone_ends_only_once_its_segments_are_back(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Babies that were merged and deleted since the backup leave a hole before later babies."""
    monkeypatch.setattr(detached_streams, "PROGRESS_EVERY", 1)
    said: list[str] = []
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        silent = CollectorDriver(tools.meta, dataset(tools.meta))
        silent.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        silent.send("merged and deleted")
        # It is behind all that the segments that come back hold.
        silent.commit(silent.put(kind=BabyKind.FILLER))
        for _ in range(3):
            nursery(tools.meta).cycle()
        assert list(tools.store.list(baby_prefix(silent.stream_id))) == []
        silent.send("not merged")
        expected = sorted([*texts(silent), "not merged"])

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(hasty, empty_database_url) as tools:
        silent.client = tools.meta
        for _ in range(2):
            nursery(tools.meta, stream_timeout_secs=1e-9).cycle()

        report = run(tools, empty_database_url, said.append)

        assert report.is_complete, report
        assert said[-2:] == ["1 detached streams", "1 of 1 detached streams"]
        for _ in range(3):
            nursery(tools.meta, stream_timeout_secs=1e-9).cycle()
        assert texts(silent) == expected
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(silent) == expected


@pytest.mark.long
@pytest.mark.parametrize("is_merged", [True, False])
def test_a_collector_that_starts_after_a_restore_takes_no_offset_of_a_baby_that_is_gone(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path, is_merged: bool
) -> None:
    """Its stream was active at the backup, and its later babies were merged and deleted."""
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        before = CollectorDriver(tools.meta, dataset(tools.meta))
        before.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before.send("merged and deleted")
        nursery(tools.meta).cycle()
        nursery(tools.meta).cycle()
        assert list(tools.store.list(baby_prefix(before.stream_id))) == []
        expected = texts(before)

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(hasty, empty_database_url) as tools:
        after = CollectorDriver(tools.meta, before.dataset_id, before.collector_id)
        after.next_offset = 1 if after.stream_id == before.stream_id else 0
        after.send("after")
        if is_merged:
            nursery(tools.meta).cycle()
        report = run(tools, empty_database_url)

        assert report.is_complete, report
        nursery(tools.meta).cycle()
        assert texts(after) == sorted([*expected, "after"])
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(after) == sorted([*expected, "after"])


@pytest.mark.long
def test_a_flush_that_a_started_collector_wrote_again_is_there_once(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """Its former stream holds what was acknowledged before, and a flush that was not."""
    with running(with_lifetimes(meta_settings)) as tools:
        before = CollectorDriver(tools.meta, dataset(tools.meta))
        before.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before.send("acknowledged")
        before.put("repeated")

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        after = CollectorDriver(tools.meta, before.dataset_id, before.collector_id)
        assert after.stream_id != before.stream_id
        # A digest names its token.
        after.token_id = before.token_id
        after.send("repeated")
        for _ in range(2):
            nursery(tools.meta, stream_timeout_secs=1e-9).cycle()
        before.client = tools.meta
        planned = command(meta_settings, empty_database_url, "--dry-run", "--json")
        assert json.loads(planned.stdout)["streams"][0]["stream_id"] == before.stream_id, (
            planned.stdout
        )

        (ended,) = run(tools, empty_database_url).streams

        assert (ended.babies, ended.records, ended.repeated, ended.reason) == (1, 1, 1, "")
        nursery(tools.meta).cycle()
        assert texts(after) == ["acknowledged", "before", "repeated"]
        with pytest.raises(StreamStopped):
            before.commit_again(2)
        assert run(tools, empty_database_url).streams == ()
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(after) == ["acknowledged", "before", "repeated"]


def test_a_collector_that_runs_through_a_restore_keeps_its_stream(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """It also starts with its stream again once the reconciliation has attached it."""
    with running(with_lifetimes(meta_settings)) as tools:
        before = CollectorDriver(tools.meta, dataset(tools.meta))
        before.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before.send("after")

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        before.client = tools.meta
        before.commit_again(1)
        before.send("since the restore")
        (info,) = [before.info()]
        assert info is not None
        assert info.awaits_reconcile
        assert info.collector_id == before.collector_id

        assert run(tools, empty_database_url).is_complete

        after = CollectorDriver(tools.meta, before.dataset_id, before.collector_id, next_offset=3)
        assert after.stream_id == before.stream_id
        after.send("after the reconciliation")
        nursery(tools.meta).cycle()
        expected = ["after", "after the reconciliation", "before", "since the restore"]
        assert texts(after) == expected
        assert_sound(tools)


@pytest.mark.long
def test_of_two_restores_without_a_reconciliation_the_last_stream_is_attached(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(with_lifetimes(meta_settings)) as tools:
        first = CollectorDriver(tools.meta, dataset(tools.meta))
        first.send("first")
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        first.send("lost")
    backups.restore(tmp_path / "dump", empty_database_url)
    with (
        rollback.scratch_folder() as folder,
        running(with_lifetimes(meta_settings), empty_database_url) as tools,
    ):
        second = CollectorDriver(tools.meta, first.dataset_id, first.collector_id)
        second.send("second")
        backup = rollback.dump(folder, empty_database_url)
        rollback.restore(folder, backup, empty_database_url)
        wait_until(lambda: is_compared(tools), "meta has noticed the rollback")
        third = CollectorDriver(tools.meta, first.dataset_id)

        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert [stream.stream_id for stream in report.streams] == [first.stream_id]
        first.client = second.client = tools.meta
        again = CollectorDriver(tools.meta, first.dataset_id, first.collector_id)
        assert again.stream_id == second.stream_id
        for _ in range(2):
            nursery(tools.meta).cycle()
        assert texts(third) == ["first", "lost", "second"]
        assert_sound(tools)


def test_a_flush_that_was_acknowledged_before_a_second_restore_is_there_once(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second backup knows the successor's commit, so it is older than the second restore."""
    monkeypatch.setattr(unknown_babies, "_SKEW_NANOS", 0)
    with running(with_lifetimes(meta_settings)) as tools:
        first = CollectorDriver(tools.meta, dataset(tools.meta))
        first.send("first")
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        first.put("repeated")
    backups.restore(tmp_path / "dump", empty_database_url)
    with (
        rollback.scratch_folder() as folder,
        running(with_lifetimes(meta_settings), empty_database_url) as tools,
    ):
        second = CollectorDriver(tools.meta, first.dataset_id, first.collector_id)
        second.token_id = first.token_id
        second.send("repeated")
        backup = rollback.dump(folder, empty_database_url)
        rollback.restore(folder, backup, empty_database_url)
        wait_until(lambda: is_compared(tools), "meta has noticed the rollback")

        (ended,) = run(tools, empty_database_url).streams

        assert (ended.babies, ended.repeated, ended.reason) == (0, 1, "")
        for _ in range(2):
            nursery(tools.meta).cycle()
        assert texts(second) == ["first", "repeated"]
        assert_sound(tools)


def test_records_of_a_dataset_that_began_after_the_backup_come_back_with_their_stream(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """Nothing was committed in these streams at the backup, and no entry of the dataset exists."""
    with running(with_lifetimes(meta_settings)) as tools:
        ended = CollectorDriver(tools.meta, dataset(tools.meta))
        attached = CollectorDriver(tools.meta, ended.dataset_id)
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        later = dataset(tools.meta)
        for collector, text in ((ended, "of the ended"), (attached, "of the attached")):
            collector.route(later)
            collector.send(text)
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        ended.client = attached.client = tools.meta
        CollectorDriver(tools.meta, dataset(tools.meta), ended.collector_id)

        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert [s.new_dataset_ids for s in report.streams if s.new_dataset_ids] == [(later,)]
        attached.commit_again(0)
        for _ in range(2):
            nursery(tools.meta).cycle()
        assert texts(ended) == ["of the attached", "of the ended"]
        assert_sound(tools)


def is_compared(tools: Tools) -> bool:
    """True once meta has compared the database with its witness."""
    try:
        dataset(tools.meta)
    except MetaError:
        return False
    return True
