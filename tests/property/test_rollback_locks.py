"""Locks outlive a restore: by pg_dump and pg_restore of a database from before them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from meta.config import Settings
from meta.errors import DeletionHeld, Locked, Unavailable
from meta.process.shutdown import Shutdown
from meta.watches.rounds import Rounds
from segments.store.open import open_store
from segplane.__main__ import app
from tests.support.meta import rollback
from tests.support.meta.dataset_life import delete, undelete
from tests.support.meta.resource_locks import REASON, LockDriver
from tests.support.meta.rollback import RunningMeta, commit_and_merge, running_meta


@pytest.fixture
def folder() -> Iterator[Path]:
    with rollback.scratch_folder() as path:
        yield path


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def notes(meta: RunningMeta) -> list[str]:
    """The parts of the locks' notes in the bucket."""
    store = open_store(meta.location)
    return sorted(info.key.rpartition("/")[2] for info in store.list("witness/held/"))


def test_a_lock_of_after_the_backup_is_set_again_before_the_first_call(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        dataset, other = meta.catalog.dataset("kept"), meta.catalog.dataset("other")
        backup = rollback.dump(folder, database_url)
        before = LockDriver(meta.client).lock("dataset", dataset, ends_at_nanos=2**62)
        ended = LockDriver(meta.client).lock("dataset", other)
        LockDriver(meta.client).unlock("dataset", other, ended.token)
        assert before.is_witnessed
        assert notes(meta) == ["end", "lock", "lock"]
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        with pytest.raises(Locked, match=REASON):
            delete(meta.client, dataset)
        locks = LockDriver(meta.client)
        resource = locks.read("dataset", dataset)
        for name in ("locked_at", "locked_by", "lock_reason", "lock_ends_at"):
            assert getattr(resource, name) == getattr(before.resource, name)
        assert meta.state().deletion_held
        # The token is that of before.
        locks.unlock("dataset", dataset, before.token)
        assert delete(meta.client, dataset)
        assert delete(meta.client, other)


def test_the_end_of_a_lock_outlives_a_restore_too(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        dataset, locks = meta.catalog.dataset("kept"), LockDriver(meta.client)
        first = locks.lock("dataset", dataset)
        backup = rollback.dump(folder, database_url)
        locks.unlock("dataset", dataset, first.token)
        second = locks.lock("dataset", dataset)
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        locks = LockDriver(meta.client)
        assert locks.read("dataset", dataset).locked_at == second.resource.locked_at
        locks.unlock("dataset", dataset, second.token)
        assert delete(meta.client, dataset)
        assert undelete(meta.client, dataset).success


def test_a_lock_on_a_dataset_that_the_backup_lacks_holds_all_deletion(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    """Baby segments may hold its records, which no row says; the release of the hold is not enough.

    Reconciling brings it back; see tests/segplane/test_reconcile_locks.py. An admin may also break
    the lock.
    """
    with running_meta(meta_settings, database_url, objects) as meta:
        backup = rollback.dump(folder, database_url)
        dataset, _, _ = commit_and_merge(meta, "lost")
        LockDriver(meta.client).lock("dataset", dataset)
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        address = f"127.0.0.1:{meta.running.port}"
        released = CliRunner().invoke(app, ["deletion", "--release", "--meta-address", address])
        assert "still held: a locked dataset is not known" in released.stderr
        assert meta.state().deletion_held
        with pytest.raises(DeletionHeld, match="reconcile"):
            meta.writer.due()
        broken = LockDriver(meta.client).break_lock("dataset", dataset)
        assert not broken.HasField("resource")
        assert meta.writer.due() == []
        assert not meta.state().deletion_held


@pytest.mark.long
def test_nothing_is_locked_while_the_bucket_does_not_answer(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        dataset, locks = meta.catalog.dataset("kept"), LockDriver(meta.client)
        token = locks.lock("dataset", dataset).token
        spare = meta.catalog.dataset("spare")
        held = objects / "witness" / "held"
        moved = objects.parent / "moved"
        shutil.move(held, moved)
        held.write_text("no folder")

        with pytest.raises(Unavailable):
            locks.lock("dataset", spare)
        assert not locks.read("dataset", spare).HasField("locked_at")
        # It has ended, and is said to be unknown to a restored backup until the call is repeated.
        with pytest.raises(Unavailable, match="repeat the call"):
            locks.unlock("dataset", dataset, token)
        held.unlink()
        shutil.move(moved, held)
        locks.unlock("dataset", dataset, token)

        assert notes(meta) == ["end", "lock"]


def test_a_meta_without_a_witness_locks_and_says_so(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, keeps_witness=False) as meta:
        dataset, locks = meta.catalog.dataset("kept"), LockDriver(meta.client)
        locked = locks.lock("dataset", dataset)

        assert not locked.is_witnessed
        with pytest.raises(Locked):
            delete(meta.client, dataset)
        locks.unlock("dataset", dataset, locked.token)
        assert delete(meta.client, dataset)


def test_a_lock_whose_commit_fails_is_not_set_after_a_restore(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        dataset, locks = meta.catalog.dataset("kept"), LockDriver(meta.client)
        backup = rollback.dump(folder, database_url)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("ALTER TABLE resource_locks ADD CONSTRAINT no_lock CHECK (false)")
            with pytest.raises(Exception):  # noqa: B017 - whatever the database says
                locks.lock("dataset", dataset)
            connection.execute("ALTER TABLE resource_locks DROP CONSTRAINT no_lock")
        assert notes(meta) == ["end", "lock"]
        meta.catalog.dataset("lost")
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        assert delete(meta.client, dataset)


def test_a_lock_that_ended_long_ago_is_forgotten_and_not_set_again(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        locks = LockDriver(meta.client)
        old, ended, held = (meta.catalog.dataset(name) for name in ("old", "ended", "held"))
        for dataset in (old, ended):
            locks.unlock("dataset", dataset, locks.lock("dataset", dataset).token)
        locks.lock("dataset", held)
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(
                "UPDATE resource_locks SET ended_at = ended_at - interval '91 days'"
                " WHERE resource_id = %s",
                (old,),
            )
        rounds = Rounds(meta.running.database, meta_settings, Shutdown())

        assert rounds.forget_locks()
        assert not rounds.forget_locks()

        assert notes(meta) == ["end", "lock", "lock"]
        with psycopg.connect(database_url) as connection:
            rows = connection.execute("SELECT resource_id::text FROM resource_locks").fetchall()
        assert {row[0] for row in rows} == {ended, held}
