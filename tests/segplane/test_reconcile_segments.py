"""Merged segments come back whose babies are gone; what babies still hold is merged again."""

from pathlib import Path

import pytest

from janitor import jobs
from janitor.jobs import Tools
from meta.config import Settings
from meta.store.segments import object_keys, segments
from segments.baby import BabyKind
from segments.keys import baby_key, baby_prefix
from segments.markers import mark_hidden
from segplane.recovery import lost_segments, unknown_babies
from segplane.stack.postgres import EmbeddedPostgres, PostgresError, running_url
from tests.support.merge_worker.local_merges import merge_all
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


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 0)


def objects(tools: Tools, root: str) -> list[str]:
    return [info.key for info in tools.store.list(root)]


def merge_and_delete(tools: Tools, folder: Path) -> None:
    """Merge what is committed and then what is small, and delete what was merged."""
    nursery(tools.meta).cycle()
    merge_all(tools.meta, tools.store, folder)
    nursery(tools.meta).cycle()
    jobs.delete_tombstoned(tools)


def test_records_whose_babies_were_merged_and_deleted_come_back_once(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """The backup is older than the grace: its own segments were merged with later ones."""
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        other = CollectorDriver(tools.meta, dataset(tools.meta))
        for number in range(4):
            known.send(f"before {number}")
            other.send(f"other {number}")
            nursery(tools.meta).cycle()
        known.send("not merged at the backup")
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        known.send("after")
        fresh = CollectorDriver(tools.meta, known.dataset_id)
        fresh.send("of a new stream")
        merge_and_delete(tools, tmp_path / "merges")
        assert objects(tools, baby_prefix(known.stream_id)) == []
        assert objects(tools, baby_prefix(fresh.stream_id)) == []
        known.send("behind the segments")
        fresh.send("not merged")
        expected = sorted([*texts(known), "behind the segments", "not merged"])
        of_other = texts(other)
        assert len(expected) == 9

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        known.client = fresh.client = other.client = tools.meta
        # What is merged now could not be told from what is lost.
        assert merge_all(tools.meta, tools.store, tmp_path / "awaited") == 0
        result = command(meta_settings, empty_database_url)
        assert result.exit_code == 0, result.output

        known.commit_again(6)
        nursery(tools.meta).cycle()
        assert texts(known) == expected
        assert texts(other) == of_other
        assert_sound(tools)
        release_and_collect(tools)
        for number in range(4):
            known.send(f"next {number}")
            nursery(tools.meta).cycle()
        assert merge_all(tools.meta, tools.store, tmp_path / "again") > 0
        assert texts(known) == sorted([*expected, *(f"next {number}" for number in range(4))])
        assert texts(other) == of_other
        assert_sound(tools)


@pytest.mark.slow
def test_babies_decide_where_they_are_still_there(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """Some were merged anew before the command ran, and a collector filled a hole of others."""
    settings = with_lifetimes(meta_settings)
    with running(settings) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        filled = CollectorDriver(tools.meta, known.dataset_id)
        for collector in (known, filled):
            collector.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before = objects(tools, "dataset/")
        filled.send("gone")
        nursery(tools.meta).cycle()
        known.send("after")
        nursery(tools.meta).cycle()
        lost = sorted(set(objects(tools, "dataset/")).difference(before))
        expected = texts(known)
        tools.store.delete([baby_key(filled.stream_id, offset) for offset in (0, 1)])

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(settings, empty_database_url) as tools:
        known.client = filled.client = tools.meta
        known.commit_again(1)
        # As a collector does at its next flush: it finds nothing at the offset.
        filled.next_offset = 1
        filled.commit(filled.put(kind=BabyKind.FILLER))
        filled.send("next")
        nursery(tools.meta).cycle()
        assert "gone" not in texts(known)
        report = run(tools, empty_database_url)
        again = run(tools, empty_database_url)

        assert report.is_complete, report
        assert again.segments.returned == again.segments.garbage == ()
        assert [*report.segments.returned, *report.segments.garbage] == lost
        assert texts(known) == sorted([*expected, "next"])
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(known) == sorted([*expected, "next"])
        assert lost[1] not in objects(tools, "dataset/")
        assert_sound(tools)


@pytest.mark.slow
def test_what_was_deleted_and_hidden_after_the_backup_is_named(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    """A stream is gone whole, a dataset was made and deleted, and a segment was hidden."""
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        known.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        before = objects(tools, "dataset/")
        gone = CollectorDriver(tools.meta, known.dataset_id)
        gone.send("of a stream without babies")
        for _ in range(3):
            nursery(tools.meta).cycle()
        assert objects(tools, baby_prefix(gone.stream_id)) == []
        new = CollectorDriver(tools.meta, dataset(tools.meta))
        new.send("of a new dataset")
        for _ in range(3):
            nursery(tools.meta).cycle()
        assert objects(tools, baby_prefix(new.stream_id)) == []
        known.send("hidden")
        between = objects(tools, "dataset/")
        for _ in range(3):
            nursery(tools.meta).cycle()
        (hidden,) = set(objects(tools, "dataset/")).difference(between)
        mark_hidden(tools.store, hidden)
        expected = [text for text in texts(known) if text != "hidden"]
        assert len(between) == len(before) + 2

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        known.client = new.client = tools.meta
        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert report.segments.hidden == (hidden,)
        assert report.segments.new_dataset_ids == (new.dataset_id,)
        assert texts(known) == expected
        assert texts(new) == ["of a new dataset"]
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(known) == expected
        assert texts(new) == ["of a new dataset"]


@pytest.mark.slow
def test_a_reconciliation_of_segments_may_die_and_ingest_goes_on(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hasty = with_lifetimes(meta_settings, tombstone_grace=0.0)
    with running(hasty) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        known.send("before")
        nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        fresh = CollectorDriver(tools.meta, known.dataset_id)
        for text in ("a", "b"):
            known.send(text)
            fresh.send(f"fresh {text}")
            for _ in range(3):
                nursery(tools.meta).cycle()
        fresh.send("fresh c")
        expected = [*texts(known), "fresh c"]

    backups.restore(tmp_path / "dump", empty_database_url)
    with running(with_lifetimes(meta_settings), empty_database_url) as tools:
        known.client = fresh.client = tools.meta
        live = CollectorDriver(tools.meta, known.dataset_id)
        for number, step in enumerate(("claim", "insert")):
            with monkeypatch.context() as patched:
                patched.setattr(segments, step, None)
                with pytest.raises(TypeError):
                    run(tools, empty_database_url)
            live.send(f"meanwhile {number}")
            nursery(tools.meta).cycle()
            expected.append(f"meanwhile {number}")
        with monkeypatch.context() as patched:
            patched.setattr(object_keys, "condemn", None)
            run(tools, empty_database_url)
        assert run(tools, empty_database_url).is_complete

        nursery(tools.meta).cycle()
        assert texts(known) == sorted(expected)
        assert_sound(tools)
        release_and_collect(tools)
        known.next_offset = 3
        known.send("next")
        nursery(tools.meta).cycle()
        assert texts(known) == sorted([*expected, "next"])
        assert_sound(tools)


def test_the_address_of_a_running_database_is_found(postgres: EmbeddedPostgres) -> None:
    folder = postgres.log_path.parent

    assert running_url(folder) == postgres.url
    with pytest.raises(PostgresError, match="start the stack first"):
        running_url(folder / "elsewhere")
