"""A reconciliation after each way in which operators put an earlier state of a database back."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meta.config import Settings
from meta.v1 import ingest_token_pb2
from segplane.recovery import unknown_babies
from tests.support.meta import rollback
from tests.support.meta.rollback import running_postgres
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    running,
    with_lifetimes,
)

# What is done before the backup, after it, and with the database that was put back, by its URL.
Act = Callable[[str], None]

pytestmark = pytest.mark.slow


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings)


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    with rollback.scratch_folder() as path:
        yield path


def copy_the_folder(folder: Path, before: Act, after: Act, check: Act) -> None:
    with running_postgres(folder / "pg") as postgres:
        before(postgres.url)
    rollback.copy_folder(folder / "pg", folder / "backup")
    with running_postgres(folder / "pg") as postgres:
        after(postgres.url)
    rollback.copy_folder(folder / "backup", folder / "pg")
    with running_postgres(folder / "pg") as postgres:
        check(postgres.url)


def take_a_snapshot(folder: Path, before: Act, after: Act, check: Act) -> None:
    disk = rollback.LoopDisk(folder)
    if not disk.is_available():
        pytest.skip("loop devices cannot be had here")
    with disk.mounted() as mount, running_postgres(mount / "pg", fsync="on") as postgres:
        before(postgres.url)
        disk.take_snapshot()
        after(postgres.url)
    disk.put_back()
    with disk.mounted() as mount, running_postgres(mount / "pg", fsync="on") as postgres:
        check(postgres.url)


def recover_to_a_point(folder: Path, before: Act, after: Act, check: Act) -> None:
    archive = rollback.Archive(folder)
    with running_postgres(folder / "pg", **archive.settings()) as postgres:
        archive.back_up(postgres)
        before(postgres.url)
        archive.name_point(postgres, "here")
        after(postgres.url)
        archive.finish(postgres)
    archive.prepare_recovery("here")
    with running_postgres(folder / "recovered") as postgres:
        check(postgres.url)


def dump_and_restore(folder: Path, before: Act, after: Act, check: Act) -> None:
    with running_postgres(folder / "pg") as postgres:
        before(postgres.url)
        backup = rollback.dump(folder, postgres.url)
        after(postgres.url)
        rollback.restore(folder, backup, postgres.url)
        check(postgres.url)


@pytest.mark.parametrize(
    "put_back", [copy_the_folder, take_a_snapshot, recover_to_a_point, dump_and_restore]
)
def test_every_acknowledged_record_comes_back_once(
    folder: Path, meta_settings: Settings, put_back: Callable[[Path, Act, Act, Act], None]
) -> None:
    known: list[CollectorDriver] = []
    fresh: list[CollectorDriver] = []

    def before(url: str) -> None:
        with running(meta_settings, url) as tools:
            known.append(CollectorDriver(tools.meta, dataset(tools.meta)))
            known[0].send("before")
            nursery(tools.meta).cycle()

    def after(url: str) -> None:
        with running(meta_settings, url) as tools:
            known[0].client = tools.meta
            known[0].send("after")
            fresh.append(CollectorDriver(tools.meta, known[0].dataset_id))
            fresh[0].send("merged")
            nursery(tools.meta).cycle()
            fresh[0].send("not merged")
            fresh[0].stop()
            # Its stream is known, and its baby is committed and not merged.
            known[0].send("late")
            revoked = ingest_token_pb2.RevokeIngestTokenRequest(token_id=known[0].token_id)
            tools.meta.ingest_token.RevokeIngestToken(revoked)

    def check(url: str) -> None:
        with running(meta_settings, url) as tools:
            known[0].client = fresh[0].client = tools.meta
            listed = tools.meta.ingest_token.ListIngestTokens(
                ingest_token_pb2.ListIngestTokensRequest()
            ).tokens
            assert [bool(t.revoked_at) for t in listed if t.id == known[0].token_id] == [True]
            assert command(meta_settings, url, "--dry-run").exit_code == 0
            assert texts(known[0]) == ["before"]

            done = command(meta_settings, url)

            assert done.exit_code == 0, done.output
            known[0].commit_again(1)
            known[0].commit_again(2)
            nursery(tools.meta).cycle()
            expected = ["after", "before", "late", "merged", "not merged"]
            assert texts(known[0]) == expected
            assert_sound(tools)
            release_and_collect(tools)
            assert texts(known[0]) == expected

    put_back(folder, before, after, check)
