"""A database goes back a second time, before all is settled that the first time left."""

from pathlib import Path

import pytest

from janitor.jobs import Tools
from meta.config import Settings
from meta.errors import MetaError
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.operations_pb2 import ReleaseDeletionHoldRequest
from segments.keys import baby_prefix
from segplane.recovery import lost_segments, unknown_babies
from segplane.recovery.reconcile import ReconcileRefused
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta import backups, rollback
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    release_and_collect,
    run,
    running,
    with_lifetimes,
)
from tests.support.waiting import wait_until


def draws_a_version(tools: Tools) -> bool:
    """True once meta has compared the database with its witness."""
    try:
        tools.meta.catalog.CreateDataset(CreateDatasetRequest(name="drawn"))
    except MetaError:
        return False
    return True


def lose_a_segment(tools: Tools, dataset_id: str) -> None:
    """Merge records of its own stream, and let its babies be reaped."""
    fresh = CollectorDriver(tools.meta, dataset_id)
    fresh.send("lost")
    for _ in range(3):
        nursery(tools.meta).cycle()
    assert list(tools.store.list(baby_prefix(fresh.stream_id))) == []


@pytest.mark.slow
def test_a_second_rollback_passes_what_the_first_one_left_unknown(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A segment of the first lost time shares a batch with a live one, and lacks the other."""
    # The segment is as young as what a worker may be about to register, so it stays unknown.
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    monkeypatch.setattr(lost_segments, "_SKEW_NANOS", 10**15)
    with running(with_lifetimes(meta_settings)) as tools:
        known = CollectorDriver(tools.meta, dataset(tools.meta))
        for number in range(3):
            known.send(f"before {number}")
            nursery(tools.meta).cycle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        known.send("merged twice")
        nursery(tools.meta).cycle()
        assert merge_all(tools.meta, tools.store, tmp_path / "first") == 1
    backups.restore(tmp_path / "dump", empty_database_url)
    with (
        rollback.scratch_folder() as folder,
        running(with_lifetimes(meta_settings, tombstone_grace=0.0), empty_database_url) as tools,
    ):
        known.client = tools.meta
        assert run(tools, empty_database_url).is_complete
        tools.meta.operations.ReleaseDeletionHold(ReleaseDeletionHoldRequest())
        known.commit_again(3)
        nursery(tools.meta).cycle()
        assert merge_all(tools.meta, tools.store, tmp_path / "second") == 1
        nursery(tools.meta).cycle()
        backup = rollback.dump(folder, empty_database_url)
        lose_a_segment(tools, known.dataset_id)
        expected = texts(known)

        rollback.restore(folder, backup, empty_database_url)
        with pytest.raises(ReconcileRefused, match="not compared"):
            run(tools, empty_database_url)
        wait_until(lambda: draws_a_version(tools), "meta has noticed the rollback")
        report = run(tools, empty_database_url)

        assert report.is_complete, report
        assert len(report.segments.returned) == 1
        assert texts(known) == expected
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(known) == expected
