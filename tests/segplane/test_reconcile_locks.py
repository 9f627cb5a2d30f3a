"""A lock on a dataset that a restored database does not know, until reconciling brings it back."""

from pathlib import Path

import pytest

from meta.config import Settings
from meta.errors import DeletionHeld, Locked
from meta.v1 import operations_pb2 as ops
from segplane.recovery import unknown_babies
from tests.support.meta import backups
from tests.support.meta.dataset_life import delete
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.segments import Writer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    running,
    with_lifetimes,
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings, tombstone_grace=0.0)


@pytest.mark.long
def test_nothing_is_deleted_until_the_locked_dataset_is_back_also_after_a_release(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    with running(meta_settings) as tools:
        kept = CollectorDriver(tools.meta, dataset(tools.meta))
        kept.send("kept")
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        lost = CollectorDriver(tools.meta, dataset(tools.meta))
        lost.send("merged")
        nursery(tools.meta).cycle()
        lost.send("committed")
        token = LockDriver(tools.meta).lock("dataset", lost.dataset_id).token
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url) as tools:
        kept.client = lost.client = tools.meta
        tools.meta.operations.ReleaseDeletionHold(ops.ReleaseDeletionHoldRequest())
        objects = sorted(info.key for info in tools.store.list(""))
        nursery(tools.meta).cycle()

        with pytest.raises(DeletionHeld, match="reconcile"):
            Writer(tools.meta).due()
        assert set(objects) <= {info.key for info in tools.store.list("")}
        assert command(meta_settings, empty_database_url).exit_code == 0

        Writer(tools.meta).due()
        with pytest.raises(Locked):
            delete(tools.meta, lost.dataset_id)
        nursery(tools.meta).cycle()
        release_and_collect(tools)
        assert sorted(texts(lost)) == ["committed", "merged"]
        LockDriver(tools.meta).unlock("dataset", lost.dataset_id, token)
        assert_sound(tools)
