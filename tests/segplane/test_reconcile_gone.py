"""A reconciliation names what was deleted or revoked after the backup, and asks where it must."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from janitor import jobs
from meta.config import Settings
from meta.store.deletion import dataset_deletion
from meta.store.engine.pool import Database, DatabaseSettings
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2
from segplane.recovery import gone_segments, unknown_babies
from tests.support.meta import backups
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    running,
    with_lifetimes,
)


def delete_now(tools: jobs.Tools, url: str, dataset_id: str) -> None:
    """Delete a dataset, end its grace, and delete its objects."""
    request = catalog_pb2.DeleteDatasetRequest(id=dataset_id)
    assert tools.meta.catalog.DeleteDataset(request).success
    database = Database(DatabaseSettings(url=url))
    with database.write() as tx:
        assert dataset_deletion.purge(tx, 0.0) > 0
    database.close()
    jobs.delete_tombstoned(tools)


class Restored:
    """Two collectors of a dataset each; one dataset and its token went after the backup."""

    def __init__(self, settings: Settings, restored_url: str, folder: Path) -> None:
        url = settings.database.url
        with running(with_lifetimes(settings, tombstone_grace=0.0)) as tools:
            self.kept = CollectorDriver(tools.meta, dataset(tools.meta))
            self.deleted = CollectorDriver(tools.meta, dataset(tools.meta))
            self.kept.send("kept")
            for number in range(2):
                self.deleted.send(f"deleted {number}")
                nursery(tools.meta).cycle()
            backups.dump(url, folder / "dump")
            revoked = ingest_token_pb2.RevokeIngestTokenRequest(token_id=self.deleted.token_id)
            tools.meta.ingest_token.RevokeIngestToken(revoked)
            self.deleted.stop()
            # Until it is merged, reaped and retired.
            while self.deleted.info() is not None:
                nursery(tools.meta).cycle()
            delete_now(tools, url, self.deleted.dataset_id)
            self.kept.send("after")
        backups.restore(folder / "dump", restored_url)


@pytest.mark.long
def test_deleted_segments_and_revoked_tokens_are_named_and_a_person_decides(
    meta_settings: Settings,
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)
    # Three pages of rows, and a last one that is full.
    monkeypatch.setattr(gone_segments, "PAGE", 1)
    case = Restored(meta_settings, empty_database_url, tmp_path)
    with running(meta_settings, empty_database_url) as tools:
        case.kept.client = case.deleted.client = tools.meta

        def reconcile(*options: str) -> Result:
            return command(meta_settings, empty_database_url, *options)

        named = reconcile()
        assert named.exit_code == 1
        assert "2 of 2 segments, 2 records, have no object any more" in named.output
        assert "revoked again: ingest token" in named.output
        assert case.deleted.token_id in named.output
        (gone,) = json.loads(reconcile("--json", "--deleted", "other").stdout)["gone"]
        assert (gone["dataset_id"], gone["is_accepted"]) == (case.deleted.dataset_id, False)
        planned = reconcile("--dry-run", "--deleted", "all")
        assert (planned.exit_code, "would be hidden" in planned.output) == (0, True)

        done = reconcile("--deleted", case.deleted.dataset_id, "--reason", "a customer left")

        assert done.exit_code == 0, done.output
        assert "they are hidden; `segplane datasets delete" in done.output
        losses = tools.meta.operations.ListLosses(operations_pb2.ListLossesRequest()).losses
        assert [loss.reason for loss in losses] == ["a customer left"] * 2
        after = reconcile("--json")
        assert (after.exit_code, json.loads(after.stdout)["gone"]) == (0, [])
        case.kept.commit_again(1)
        nursery(tools.meta).cycle()
        assert texts(case.deleted) == []
        assert_sound(tools)
        release_and_collect(tools)
        assert texts(case.kept) == ["after", "kept"]
