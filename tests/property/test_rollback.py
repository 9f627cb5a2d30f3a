"""A database that went back is noticed: no version means two things, and nothing is deleted."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from meta.config import Settings
from meta.errors import DeletionHeld, InvalidArgument, Unavailable, VersionExpired
from meta.v1 import ingest_token_pb2, operations_pb2
from segments.store.open import open_store
from segplane.__main__ import app
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.meta import rollback
from tests.support.meta.rollback import (
    RunningMeta,
    commit_and_merge,
    running_meta,
    running_postgres,
)
from tests.support.waiting import wait_until


@pytest.fixture
def folder() -> Iterator[Path]:
    with rollback.scratch_folder() as path:
        yield path


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def assert_restored(meta: RunningMeta, lost: int, polled: int, reason: str = "went back") -> None:
    """The versions that were lost are expired, new ones are higher, and deletion is held."""
    state = meta.state()
    assert state.deletion_held
    assert reason in state.witness.restored_reason
    with pytest.raises(DeletionHeld):
        meta.writer.due()
    with pytest.raises(VersionExpired):
        meta.writer.find("kept", as_of_version=lost)
    with pytest.raises(VersionExpired):
        meta.nursery.poll(since_seq=polled)
    _, version, _ = commit_and_merge(meta, "after")
    assert version > max(lost, polled)


def has_to_look(meta: RunningMeta) -> bool:
    return meta.running.database.continuity.must_look


def is_answering(meta: RunningMeta) -> bool:
    meta.watch.run_round()
    return meta.state().version > 0


def test_a_copied_folder_is_noticed_and_an_untouched_one_goes_on(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        _, kept, _ = commit_and_merge(m, "kept")
    rollback.copy_folder(folder / "pg", folder / "backup")
    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        _, lost, polled = commit_and_merge(m, "lost")
        # The folder that nobody touched goes on without a hold.
        assert not m.state().deletion_held
        assert [m.version("kept", version) for version in (kept, lost)] == [kept, lost]
    assert kept < lost
    rollback.copy_folder(folder / "backup", folder / "pg")

    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        assert m.version("kept", kept) == kept
        assert_restored(m, lost, polled)


def test_a_restore_into_the_running_server_is_noticed(
    postgres: EmbeddedPostgres,
    folder: Path,
    objects: Path,
    meta_settings: Settings,
    database_url: str,
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        commit_and_merge(meta, "kept")
        backup = rollback.dump(folder, database_url)
        _, lost, polled = commit_and_merge(meta, "lost")

        rollback.restore(folder, backup, database_url)

        wait_until(lambda: is_answering(meta), "meta uses the restored tables")
        assert_restored(meta, lost, polled)


def test_a_server_that_was_idle_draws_nothing_twice_after_a_restore(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    """It has seen none of what was lost; the first draw after the restore is its own."""
    with running_meta(meta_settings, database_url, objects) as idle:
        commit_and_merge(idle, "kept")
        backup = rollback.dump(folder, database_url)
        with running_meta(meta_settings, database_url, objects) as busy:
            _, lost, polled = commit_and_merge(busy, "lost")
        rollback.restore(folder, backup, database_url)

        wait_until(lambda: idle.can_create("next"), "meta uses the restored tables")
        assert_restored(idle, lost, polled)


def test_what_was_revoked_after_the_backup_is_revoked_again_before_the_first_call(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as m:
        dataset = m.catalog.dataset("kept")
        token, valid = m.catalog.token(dataset), m.catalog.token(dataset)
        request = operations_pb2.CreateAccessTokenRequest(subject="gone", role="reader")
        access = m.client.operations.CreateAccessToken(request).token
        backup = rollback.dump(folder, database_url)
        m.client.ingest_token.RevokeIngestToken(
            ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.id)
        )
        m.client.operations.RevokeAccessToken(
            operations_pb2.RevokeAccessTokenRequest(token_id=access.id)
        )
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as m:
        tokens = m.client.ingest_token.ListIngestTokens(ingest_token_pb2.ListIngestTokensRequest())
        revoked = {info.id for info in tokens.tokens if info.revoked_at}
        listed = m.client.operations.ListAccessTokens(operations_pb2.ListAccessTokensRequest())
        assert revoked == {token.id}
        assert valid.id in {info.id for info in tokens.tokens}
        assert [bool(info.revoked_at) for info in listed.tokens] == [True]
        # A revocation alone is its own tick.
        assert m.state().deletion_held


def test_a_setting_revokes_all_tokens_that_were_valid_at_the_backup(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, revokes_on_restore=True) as meta:
        token = meta.catalog.token(meta.catalog.dataset("kept"))
        backup = rollback.dump(folder, database_url)
        meta.catalog.dataset("lost")
        rollback.restore(folder, backup, database_url)
        wait_until(lambda: is_answering(meta), "meta uses the restored tables")

        tokens = meta.client.ingest_token.ListIngestTokens(
            ingest_token_pb2.ListIngestTokensRequest()
        )
        assert [info.id for info in tokens.tokens if info.revoked_at] == [token.id]


def test_a_number_of_a_client_proves_nothing(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        commit_and_merge(meta, "kept")
        before = meta.state().version

        with pytest.raises(InvalidArgument):
            meta.writer.find("kept", as_of_version=2**40)
        with pytest.raises(InvalidArgument):
            meta.nursery.poll(since_seq=2**40)
        assert has_to_look(meta)
        meta.watch.run_round()

        assert not has_to_look(meta)
        assert meta.state().version == before
        assert not meta.state().deletion_held


def test_few_marks_are_kept_and_an_idle_database_writes_none(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        store = open_store(meta.location)
        for index in range(40):
            meta.catalog.dataset(f"dataset-{index}")
            meta.watch.run_round()
        keys = [info.key for info in store.list("witness/")]
        for _ in range(5):
            meta.watch.run_round()

        assert 1 < len(keys) < 20
        assert [info.key for info in store.list("witness/")] == keys


def test_the_first_round_of_a_server_covers_the_commits_of_one_that_crashed(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    def last_tick() -> int:
        with psycopg.connect(database_url) as connection:
            row = connection.execute("SELECT tick FROM witness_state").fetchone()
        assert row is not None
        return int(row[0])

    with running_meta(meta_settings, database_url, objects):
        pass
    # The last tick is young, so the start makes none.
    with running_meta(meta_settings, database_url, objects) as meta:
        before = last_tick()
        assert [meta.watch.run_round() for _ in range(2)] == [True, False]
        assert last_tick() == before + 1


@pytest.mark.slow
def test_a_snapshot_of_a_disk_is_noticed(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    disk = rollback.LoopDisk(folder)
    if not disk.is_available():
        pytest.skip("loop devices cannot be had here")
    with (
        disk.mounted() as mount,
        running_postgres(mount / "pg", fsync="on") as pg,
        running_meta(meta_settings, pg.url, objects) as meta,
    ):
        commit_and_merge(meta, "kept")
        # While it runs, as of a volume: what the disk has at one moment.
        disk.take_snapshot()
        _, lost, polled = commit_and_merge(meta, "lost")
    disk.put_back()

    with (
        disk.mounted() as mount,
        running_postgres(mount / "pg", fsync="on") as pg,
        running_meta(meta_settings, pg.url, objects) as meta,
    ):
        assert_restored(meta, lost, polled)


@pytest.mark.slow
def test_a_recovery_to_a_point_in_time_is_noticed(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    archive = rollback.Archive(folder)
    with running_postgres(folder / "pg", **archive.settings()) as pg:
        with running_meta(meta_settings, pg.url, objects) as meta:
            archive.back_up(pg)
            _, kept, _ = commit_and_merge(meta, "kept")
            archive.name_point(pg, "here")
            _, lost, polled = commit_and_merge(meta, "lost")
        archive.finish(pg)
    archive.prepare_recovery("here")

    with (
        running_postgres(folder / "recovered") as pg,
        running_meta(meta_settings, pg.url, objects) as meta,
    ):
        assert meta.version("kept", kept) == kept
        assert_restored(meta, lost, polled)


def test_a_process_says_so_if_it_keeps_no_witness(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, keeps_witness=False) as meta:
        commit_and_merge(meta, "kept")

        assert not meta.state().witness.is_kept
        assert list(open_store(meta.location).list("witness/")) == []


def test_an_operator_holds_deletion_by_hand(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        address = f"127.0.0.1:{meta.running.port}"
        held = CliRunner().invoke(app, ["deletion", "--hold", "--meta-address", address])

        assert held.output == "deletion is held\n"
        with pytest.raises(DeletionHeld):
            meta.writer.due()
        again = CliRunner().invoke(app, ["deletion", "--hold", "--meta-address", address])
        assert again.output == "deletion was held already\n"
        status = CliRunner().invoke(app, ["deletion", "--meta-address", address])
        assert "held" in status.output
        assert "history 1" in status.output
        # A hold by hand is not a restore.
        assert not meta.state().witness.restored_reason
        CliRunner().invoke(app, ["deletion", "--release", "--meta-address", address])
        assert meta.writer.due() == []


@pytest.mark.long
def test_a_process_without_a_witness_refuses_what_it_has_seen_before(
    folder: Path, objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, keeps_witness=False) as meta:
        commit_and_merge(meta, "kept")
        backup = rollback.dump(folder, database_url)
        commit_and_merge(meta, "lost")
        rollback.restore(folder, backup, database_url)

        with pytest.raises(Unavailable, match="went back"):
            meta.catalog.dataset("next")
