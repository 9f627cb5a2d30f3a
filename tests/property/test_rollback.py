"""A database that went back is noticed: no version means two things, and nothing is deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from meta.config import Settings
from meta.errors import DeletionHeld, VersionExpired
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.meta import rollback
from tests.support.meta.rollback import RunningMeta, running_meta, running_postgres
from tests.support.waiting import wait_until


@pytest.fixture
def folder() -> Iterator[Path]:
    with rollback.scratch_folder() as path:
        yield path


def commit_and_merge(meta: RunningMeta, name: str) -> tuple[str, int, int]:
    """Ingest and merge into a dataset; its id, the last version drawn and the last poll's."""
    dataset = meta.catalog.dataset(name)
    collector, stream = meta.collector(f"{name}-collector", meta.catalog.token(dataset))
    for offset in range(3):
        collector.commit(stream, offset, dataset)
    version = meta.nursery.merge(dataset, stream, -1, 2)
    return dataset, version, meta.nursery.poll().response_seq


def assert_restored(meta: RunningMeta, lost: int, polled: int) -> None:
    """The versions that were lost are expired, new ones are higher, and deletion is held."""
    assert meta.state().deletion_held
    assert meta.state().witness.restored_reason
    with pytest.raises(DeletionHeld):
        meta.writer.due()
    with pytest.raises(VersionExpired):
        meta.writer.find("kept", as_of_version=lost)
    with pytest.raises(VersionExpired):
        meta.nursery.poll(since_seq=polled)
    _, version, _ = commit_and_merge(meta, "after")
    assert version > max(lost, polled)


def test_a_copied_folder_is_noticed(folder: Path, tmp_path: Path, meta_settings: Settings) -> None:
    objects = tmp_path / "objects"
    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        _, kept, _ = commit_and_merge(m, "kept")
    rollback.copy_folder(folder / "pg", folder / "backup")
    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        assert not m.state().deletion_held
        _, lost, polled = commit_and_merge(m, "lost")
    rollback.copy_folder(folder / "backup", folder / "pg")

    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        assert m.version("kept", kept) == kept
        assert_restored(m, lost, polled)


def test_an_untouched_folder_goes_on_without_a_hold(
    folder: Path, tmp_path: Path, meta_settings: Settings
) -> None:
    objects = tmp_path / "objects"
    versions = []
    for name in ("first", "second", "third"):
        with (
            running_postgres(folder / "pg") as pg,
            running_meta(meta_settings, pg.url, objects) as meta,
        ):
            versions.append(commit_and_merge(meta, name)[1])
            assert not meta.state().deletion_held
            for earlier in versions:
                assert meta.version("first", earlier) == earlier
    assert versions == sorted(set(versions))


def test_a_restore_into_the_running_server_is_noticed(
    postgres: EmbeddedPostgres,
    folder: Path,
    tmp_path: Path,
    meta_settings: Settings,
    database_url: str,
) -> None:
    with running_meta(meta_settings, database_url, tmp_path / "objects") as meta:
        commit_and_merge(meta, "kept")
        backup = rollback.dump(postgres, folder, database_url)
        _, lost, polled = commit_and_merge(meta, "lost")

        rollback.restore(postgres, folder, backup, database_url)

        wait_until(lambda: is_answering(meta), "meta uses the restored tables")
        assert_restored(meta, lost, polled)


def is_answering(meta: RunningMeta) -> bool:
    meta.watch.run_round()
    return meta.state().version > 0
