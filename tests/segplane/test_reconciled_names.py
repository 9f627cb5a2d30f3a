"""A restored database takes groups and names of what it does not know from the bucket."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from meta.config import Settings
from meta.store.recovery import name_numbers
from segments.noted_names import NAMES_ROOT, NotedName
from segplane.recovery import unknown_babies
from tests.support.meta import backups
from tests.support.meta.dataset_life import rename
from tests.support.meta.groups import create_group, rename_group
from tests.support.meta.noted_names import noting
from tests.support.meta.resources import ResourceDriver
from tests.support.nursery.drivers import CollectorDriver, nursery, texts
from tests.support.reconciling import (
    assert_sound,
    command,
    release_and_collect,
    running,
    with_lifetimes,
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings)


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)


@dataclass(frozen=True)
class Lost:
    """Ids that a database had before it was put back, and the keys of all names in the bucket."""

    old_group: str
    group: str
    moved: str
    taken: str
    collectors: list[CollectorDriver]
    keys: list[str]

    @property
    def web(self) -> str:
        return self.collectors[0].dataset_id

    @property
    def claim(self) -> str:
        return self.collectors[1].dataset_id


@pytest.fixture
def lost(meta_settings: Settings, empty_database_url: str, tmp_path: Path) -> Lost:
    """Change names after a backup, and restore it into another database."""
    with running(meta_settings) as tools:
        resources = ResourceDriver(tools.meta)
        old_group, moved = create_group(tools.meta, "old"), resources.make("dataset", "moved")
        taken = resources.make("dataset", "taken")
        with noting(meta_settings) as names:
            names.settle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        group = create_group(tools.meta, "shop")
        rename(tools.meta, moved, "shop/moved")
        rename(tools.meta, taken, "former")
        made = [resources.make("dataset", name) for name in ("shop/web", "taken")]
        resources.update(made[0], title="Clicks")
        collectors = [CollectorDriver(tools.meta, dataset) for dataset in made]
        for collector in collectors:
            collector.send("merged")
            nursery(tools.meta).cycle()
            collector.send("committed")
        rename_group(tools.meta, "old", "older")
        rename_group(tools.meta, "shop", "store")
    with noting(meta_settings) as names:
        names.settle()
        keys = names.object_keys()
    backups.restore(tmp_path / "dump", empty_database_url)
    return Lost(old_group, group, moved, taken, collectors, keys)


@pytest.mark.long
def test_a_restore_from_before_a_rename_and_a_new_group(
    meta_settings: Settings, empty_database_url: str, lost: Lost
) -> None:
    with running(meta_settings, empty_database_url) as tools:
        dry = command(meta_settings, empty_database_url, "--dry-run", "--json")
        done = command(meta_settings, empty_database_url)
        again = command(meta_settings, empty_database_url, "--json")

        assert (dry.exit_code, done.exit_code) == (0, 0), done.output
        assert json.loads(dry.stdout)["names"]["returned"] == []
        assert {
            f"group {lost.group} is called store",
            f"dataset {lost.web} is called store/web",
            f"dataset {lost.claim} is called reconciled-{lost.claim}: another one is called taken",
            f"dataset {lost.moved} is called moved: it was store/moved later",
            f"dataset {lost.taken} is called taken: it was former later",
            f"group {lost.old_group} is called old: it was older later",
        } <= set(done.stdout.splitlines())
        back = ResourceDriver(tools.meta).get(lost.web)
        assert (back.name, back.title, back.group_id) == ("web", "Clicks", lost.group)
        assert json.loads(again.stdout)["names"]["returned"] == []
        assert len(json.loads(again.stdout)["names"]["different"]) == 3
        for collector in lost.collectors:
            collector.client = tools.meta
        nursery(tools.meta).cycle()
        assert [texts(collector) for collector in lost.collectors] == [["committed", "merged"]] * 2
        assert_sound(tools)


@pytest.mark.long
def test_names_that_are_given_after_a_restore_overwrite_none(
    meta_settings: Settings, empty_database_url: str, lost: Lost
) -> None:
    with running(meta_settings, empty_database_url) as tools:
        assert command(meta_settings, empty_database_url).exit_code == 0

        rename(tools.meta, lost.moved, "store/moved-again")
        with noting(meta_settings, database_url=empty_database_url) as names:
            names.settle()
            noted = {str(i): (number, name.name) for i, (number, name) in names.noted().items()}
            before = names.object_keys()
        release_and_collect(tools)

        assert noted[lost.moved] == (3, "moved-again")
        assert noted[lost.claim] == (2, f"reconciled-{lost.claim}")
        assert noted[lost.web] == (2, "web")
        assert {key for key in lost.keys if lost.web in key or lost.group in key} <= set(before)
        # A janitor takes none of them for an orphan.
        assert [info.key for info in tools.store.list(NAMES_ROOT)] == before


def test_names_that_the_bucket_lost_are_written_again(
    meta_settings: Settings, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        dataset = ResourceDriver(tools.meta).make("dataset", "web")
        with noting(meta_settings) as names:
            names.settle()
            tools.store.delete(names.object_keys())
            assert command(meta_settings, meta_settings.database.url).exit_code == 0
            names.settle()
            noted = {str(i): name.name for i, (_, name) in names.noted().items()}
    assert noted[dataset] == "web"


def test_a_dataset_that_somebody_named_since_it_came_back_keeps_that_name(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as tools:
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        lost = CollectorDriver(tools.meta, ResourceDriver(tools.meta).make("dataset", "web"))
        lost.send("kept")
    with noting(meta_settings) as names:
        names.settle()
    backups.restore(tmp_path / "dump", empty_database_url)
    with running(meta_settings, empty_database_url):
        assert command(meta_settings, empty_database_url).exit_code == 0
        with noting(meta_settings, database_url=empty_database_url) as names:
            # As after a run that was killed before it had named the dataset.
            statement = "UPDATE datasets SET name = 'mine', noted_number = NULL WHERE id = :id"
            names.run(statement, id=lost.dataset_id)
            done = command(meta_settings, empty_database_url)
            names.settle()
            noted = {str(i): (number, name.name) for i, (number, name) in names.noted().items()}
    assert f"dataset {lost.dataset_id} is called mine" in done.stdout.splitlines()
    assert noted[lost.dataset_id] == (2, "mine")


def test_a_dataset_that_is_renamed_before_it_takes_the_name_of_the_bucket_keeps_its_name(
    meta_settings: Settings,
) -> None:
    with running(meta_settings), noting(meta_settings) as names:
        dataset = names.dataset("mine")

        def take(awaited: str) -> str:
            return names.write(
                lambda tx: name_numbers.take(tx, dataset, awaited, NotedName("web"), number=7)
            )

        assert take(f"reconciled-{dataset}") == "mine"
        names.settle()
        assert names.noted()[dataset] == (8, NotedName("mine"))
        assert take("mine") == "web"
