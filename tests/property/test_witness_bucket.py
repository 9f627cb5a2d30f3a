"""A bucket or a database that does not answer in time: what meta does with its witness."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from meta.config import Settings
from meta.errors import Unavailable
from meta.store.versions.witness import WitnessView
from meta.watches.witness import Witness
from tests.support.meta import rollback
from tests.support.meta.rollback import commit_and_merge, running_meta, running_postgres
from tests.support.waiting import wait_until


@pytest.fixture
def folder() -> Iterator[Path]:
    with rollback.scratch_folder() as path:
        yield path


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.mark.slow
def test_a_server_that_cannot_read_the_witness_answers_reads_and_draws_nothing(
    folder: Path, objects: Path, meta_settings: Settings
) -> None:
    with running_postgres(folder / "pg") as pg, running_meta(meta_settings, pg.url, objects) as m:
        _, kept, _ = commit_and_merge(m, "kept")
    objects.rename(objects.with_name("away"))
    with (
        running_postgres(folder / "pg") as pg,
        running_meta(meta_settings, pg.url, objects, makes_folder=False) as meta,
    ):
        assert meta.version("kept", kept) == kept
        assert meta.state().deletion_held
        with pytest.raises(Unavailable, match="witness"):
            meta.catalog.dataset("next")

        objects.with_name("away").rename(objects)

        wait_until(lambda: meta.can_create("next"), "meta reads the witness", poll_secs=0.2)
        assert not meta.state().deletion_held


@pytest.mark.long
def test_a_running_server_goes_on_without_the_bucket_up_to_its_ceiling(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects) as meta:
        objects.rename(objects.with_name("away"))
        commit_and_merge(meta, "kept")
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("UPDATE meta_state SET ceiling = version + 1")

        meta.catalog.dataset("last")
        with pytest.raises(Unavailable, match="witness"):
            meta.catalog.dataset("refused")

        objects.with_name("away").rename(objects)
        wait_until(lambda: meta.can_create("next"), "meta reads the witness", poll_secs=0.2)


def test_a_server_starts_while_another_transaction_holds_the_witness(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with running_meta(meta_settings, database_url, objects, keeps_witness=False):
        pass
    database = replace(meta_settings.database, lock_timeout_ms=20)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM witness_state FOR UPDATE")
        with running_meta(replace(meta_settings, database=database), database_url, objects) as meta:
            assert meta.state().witness.history == 0
            holder.rollback()

            meta.watch.run_round()

            assert meta.state().witness.history == 1


def test_a_server_that_slept_between_its_looks_at_bucket_and_database_holds_nothing(
    objects: Path, meta_settings: Settings, database_url: str
) -> None:
    with (
        running_meta(meta_settings, database_url, objects) as other,
        running_meta(meta_settings, database_url, objects) as slow,
    ):
        awake, sleeper = (m.running.database.continuity.guard for m in (other, slow))
        assert isinstance(awake, Witness)
        assert isinstance(sleeper, Witness)
        view, slept = sleeper._log.view, list[WitnessView]()

        def view_and_sleep(own_history: int | None) -> WitnessView:
            seen = view(own_history)
            if not slept:
                slept.append(seen)
                awake.tick(0.0)
                awake.tick(0.0)
            return seen

        sleeper._log.view = view_and_sleep  # type: ignore[method-assign]

        sleeper.look()

        assert slept
        assert not other.state().deletion_held
