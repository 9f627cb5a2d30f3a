"""Races of databases, servers and crashes around one witness."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from dataplane.deletion_permit import ANSWER_SECS_MAX, DeletionPermit
from meta.config import Settings
from meta.errors import Unavailable
from meta.store.versions import witness_state
from meta.store.versions.witness import Mark
from meta.v1 import ingest_token_pb2, operations_pb2
from meta.watches.witness_log import WitnessLog
from segments.store.open import open_store
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


def take_over(meta: RunningMeta) -> bool:
    request = operations_pb2.HoldDeletionRequest(take_over=True)
    return meta.client.operations.HoldDeletion(request).success


def assert_stopped(meta: RunningMeta) -> None:
    """Another database has taken over: nothing is drawn, acknowledged or deleted."""
    with pytest.raises(Unavailable, match="taken over"):
        meta.watch.run_round()
    assert not meta.can_create("more")
    with pytest.raises(Unavailable, match="taken over"):
        meta.writer.due()
    assert meta.state().deletion_held
    assert meta.state().witness.superseded_by > 1


@pytest.mark.long
def test_of_an_original_and_its_restored_copy_one_stops(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    with running_postgres(folder / "original") as pg, running_meta(meta_settings, pg.url, objects):
        pass
    rollback.copy_folder(folder / "original", folder / "copy")
    with ExitStack() as stack:
        pg = stack.enter_context(running_postgres(folder / "original"))
        original = stack.enter_context(running_meta(meta_settings, pg.url, objects))
        commit_and_merge(original, "ours")
        original.watch.run_round()
        copied = stack.enter_context(running_postgres(folder / "copy"))
        copy = stack.enter_context(running_meta(meta_settings, copied.url, objects))

        assert copy.state().deletion_held
        # What the original still draws is below all that the copy draws.
        _, last, _ = commit_and_merge(original, "last")
        _, first, _ = commit_and_merge(copy, "first")
        assert last < first
        assert_stopped(original)

        # An operator decides for the original: the copy stops, again without a version in common.
        assert take_over(original)
        assert original.state().deletion_held
        _, again, _ = commit_and_merge(original, "again")
        assert again > first
        copy.catalog.dataset("unaware")
        assert_stopped(copy)


@pytest.mark.slow
def test_an_original_that_was_stopped_does_not_take_over_when_it_starts(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    with running_postgres(folder / "original") as pg:
        with running_meta(meta_settings, pg.url, objects) as meta:
            commit_and_merge(meta, "kept")
        rollback.copy_folder(folder / "original", folder / "copy")
        (folder / "copy" / "cluster" / "postmaster.pid").unlink()
        with running_meta(meta_settings, pg.url, objects) as meta:
            commit_and_merge(meta, "ours")
    with running_postgres(folder / "copy") as pg, running_meta(meta_settings, pg.url, objects) as m:
        commit_and_merge(m, "theirs")

    with (
        running_postgres(folder / "original") as pg,
        running_meta(meta_settings, pg.url, objects) as meta,
    ):
        assert meta.version("kept") > 0
        assert_stopped(meta)
        assert take_over(meta)
        assert meta.can_create("more")


@pytest.mark.parametrize("is_whole", [True, False], ids=["missing", "behind"])
def test_a_witness_that_is_missing_or_behind_is_held(
    objects: Path, meta_settings: Settings, database_url: str, is_whole: bool
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        store = open_store(meta.location)
        first = [info.key for info in store.list("witness/")]
        commit_and_merge(meta, "kept")
        meta.watch.run_round()
        commit_and_merge(meta, "more")
        meta.watch.run_round()
        version = meta.state().version
        later = {info.key for info in store.list("witness/")} - set(first)
        store.delete([*later, *first] if is_whole else sorted(later))

        meta.running.database.continuity.look_soon()
        wait_until(lambda: is_compared(meta), "the witness is compared")

        state = meta.state()
        assert state.deletion_held
        assert ("lost" if is_whole else "behind") in state.witness.restored_reason
        assert state.witness.history == 2
        # Nobody knows how far the lost versions went.
        assert state.version > version + 2**32
        assert meta.can_create("next")


def is_compared(meta: RunningMeta) -> bool:
    try:
        meta.watch.run_round()
    except Unavailable:
        return False
    return meta.state().witness.history > 1


def test_a_database_without_a_witness_begins_one_and_holds_nothing(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, keeps_witness=False) as meta:
        _, version, _ = commit_and_merge(meta, "kept")

    with running_meta(meta_settings, database_url, objects) as meta:
        assert meta.state().version == version
        assert not meta.state().deletion_held
        assert meta.state().witness.history == 1


def test_a_database_that_never_had_the_witness_of_its_bucket_is_restored(
    objects: Path, meta_settings: Settings, database_url: str, folder: Path
) -> None:
    """As after `catalog rebuild`, and with a backup from before the upgrade."""
    with running_meta(meta_settings, database_url, objects, keeps_witness=False) as meta:
        commit_and_merge(meta, "kept")
    backup = rollback.dump(folder, database_url)
    with running_meta(meta_settings, database_url, objects) as meta:
        _, lost, _ = commit_and_merge(meta, "lost")
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        state = meta.state()
        assert state.deletion_held
        assert state.witness.history == 2
        assert state.version > lost


def test_a_crash_between_the_steps_of_a_term_is_not_a_restore(
    objects: Path, meta_settings: Settings, database_url: str, folder: Path
) -> None:
    """The next term is named, and its mark written, by a server that then died."""
    with running_meta(meta_settings, database_url, objects) as meta:
        commit_and_merge(meta, "kept")
        database, store = meta.running.database, open_store(meta.location)
        next_term = uuid4()
        with database.write() as tx:
            side = witness_state.read(tx)
            assert witness_state.intend(tx, side, next_term)
        log = WitnessLog(store)
        newest = log.view(side.history).newest
        assert newest is not None
        ceiling = newest.ceiling + 1_000
        mark = Mark(newest.history, newest.number + 1, newest.tick, ceiling, next_term)
        assert log.write(mark)
    backup = rollback.dump(folder, database_url)
    rollback.restore(folder, backup, database_url)

    with running_meta(meta_settings, database_url, objects) as meta:
        assert not meta.state().deletion_held
        assert meta.state().version > ceiling
        assert meta.state().witness.history == 1


def test_a_writer_that_slept_lowers_nothing(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    """The number that it writes was written and removed meanwhile, so its put succeeds."""
    with running_meta(meta_settings, database_url, objects) as meta:
        log = WitnessLog(open_store(meta.location))
        asleep = log.view(1).newest
        assert asleep is not None
        for index in range(40):
            meta.catalog.dataset(f"dataset-{index}")
            meta.watch.run_round()
        before = log.view(1).newest
        assert before is not None

        low = Mark(1, asleep.number + 1, asleep.tick, asleep.ceiling + 2**30, asleep.term)
        assert log.write(low)

        assert log.view(1).newest == before
        meta.catalog.dataset("last")
        meta.watch.run_round()
        assert not meta.state().deletion_held


def test_a_revocation_that_is_not_noted_is_not_answered(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        token = meta.catalog.token(meta.catalog.dataset("kept"))
        request = ingest_token_pb2.RevokeIngestTokenRequest(token_id=token.id)
        objects.rename(objects.with_name("away"))

        with pytest.raises(Unavailable, match="repeat the call"):
            meta.client.ingest_token.RevokeIngestToken(request)
        # It is revoked here all the same.
        listed = meta.client.ingest_token.ListIngestTokens(
            ingest_token_pb2.ListIngestTokensRequest()
        )
        assert [bool(info.revoked_at) for info in listed.tokens] == [True]

        objects.with_name("away").rename(objects)
        meta.client.ingest_token.RevokeIngestToken(request)
        keys = [info.key for info in open_store(meta.location).list("witness/revoked/")]
        assert keys == [f"witness/revoked/ingest/{token.id}"]


def test_two_servers_that_publish_at_once_lose_no_tick(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with (
        running_meta(meta_settings, database_url, objects) as one,
        running_meta(meta_settings, database_url, objects) as other,
    ):
        for index in range(10):
            one.catalog.dataset(f"one-{index}")
            other.catalog.dataset(f"other-{index}")
            one.watch.run_round()
            other.watch.run_round()
        store = open_store(one.location)
        with one.running.database.read() as tx:
            side = witness_state.read(tx)
        marks = [json.loads(store.get(info.key)) for info in store.list("witness/")]

        assert max(mark["tick"] for mark in marks) == side.tick
        assert [mark["tick"] for mark in marks] == sorted(mark["tick"] for mark in marks)
        assert not one.state().deletion_held


def test_an_answer_from_before_a_rollback_deletes_nothing(
    objects: Path, meta_settings: Settings, database_url: str, folder: Path
) -> None:
    """A janitor was stopped between meta's answer and its deletion, and goes on afterwards."""
    now = [0.0]
    with running_meta(meta_settings, database_url, objects) as meta:
        commit_and_merge(meta, "kept")
        backup = rollback.dump(folder, database_url)
        commit_and_merge(meta, "lost")
        permit = DeletionPermit(meta.client, lambda: now[0]).begin()
        assert permit.is_valid()

        rollback.restore(folder, backup, database_url)
        now[0] += ANSWER_SECS_MAX + 1

        wait_until(lambda: meta.can_create("next"), "meta uses the restored tables")
        assert not permit.is_valid()
        # Not even when an operator has released deletion: the answer is of another history.
        meta.client.operations.ReleaseDeletionHold(operations_pb2.ReleaseDeletionHoldRequest())
        assert not permit.is_valid()
        assert permit.begin().is_valid()
