"""Names of datasets and groups reach the bucket, whatever dies or sleeps between two steps."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from meta.config import Settings
from meta.errors import Unavailable
from meta.store.catalog import groups
from meta.store.engine.pool import Database
from meta.store.recovery import name_numbers
from meta.watches import witness_watch
from meta.watches.name_notes import NAMES_AT_ONCE
from segments import noted_names
from segments.noted_names import CHARACTERS_MAX, DATASET, GROUP, OBJECT_BYTES_MAX, NotedName
from tests.support.meta.noted_names import NamesDriver, noting
from tests.support.meta.plans import rows_read


@pytest.fixture
def names(meta_settings: Settings) -> Iterator[NamesDriver]:
    with noting(meta_settings) as driver:
        yield driver


def key(entry_id: UUID, number: int, kind: str = DATASET) -> str:
    return noted_names.name_key(kind, str(entry_id), number)


def test_a_name_and_each_change_of_it_is_an_object_of_the_next_number(names: NamesDriver) -> None:
    group, dataset = names.group("shop"), names.dataset("shop/web")
    assert names.settle() == 1
    assert names.noted(GROUP) == {group: (1, NotedName("shop"))}
    assert names.noted() == {dataset: (1, NotedName("web", "", str(group)))}

    names.title(dataset, "Clicks")
    names.settle()
    names.rename(dataset, "clicks")
    names.write(lambda tx: groups.rename(tx, "shop", "store", characters_max=255))
    assert names.settle() == 1

    assert names.noted(GROUP) == {group: (2, NotedName("store"))}
    assert names.noted() == {dataset: (3, NotedName("clicks", "Clicks"))}
    # The former ones are removed, and nothing is due.
    assert names.object_keys() == [key(dataset, 3), key(group, 2, GROUP)]
    assert (names.settle(), names.unnoted()) == (0, 0)


def test_what_changes_no_name_takes_no_number(names: NamesDriver) -> None:
    dataset = names.dataset("web")
    names.settle()

    names.title(dataset, "")
    names.run("UPDATE datasets SET name = name, changed_version = 7")

    assert names.settle() == 0


def test_an_object_whose_row_was_not_written_is_not_written_again(names: NamesDriver) -> None:
    dataset = names.dataset("web")
    due = names.write(lambda tx: name_numbers.due(tx, 10))
    assert names.notes.write(names.store, due[0])
    before = names.object_keys()

    assert names.settle() == 1

    assert (names.object_keys(), names.unnoted()) == (before, 0)
    assert names.noted() == {dataset: (1, NotedName("web"))}


def test_a_writer_that_slept_writes_an_old_name(names: NamesDriver) -> None:
    dataset = names.dataset("web")
    slept = names.write(lambda tx: name_numbers.due(tx, 10))[0]
    names.rename(dataset, "clicks")
    names.settle()

    assert not names.notes.write(names.store, slept)
    names.write(lambda tx: name_numbers.note(tx, {DATASET: {dataset: slept.number}}))

    assert names.settle() == 0
    assert names.noted() == {dataset: (2, NotedName("clicks"))}
    names.rename(dataset, "web")
    names.settle()
    assert names.object_keys() == [key(dataset, 3)]


def test_a_change_while_its_former_name_is_written_is_due(names: NamesDriver) -> None:
    dataset = names.dataset("web")
    due = names.write(lambda tx: name_numbers.due(tx, 10))[0]
    names.notes.write(names.store, due)
    names.rename(dataset, "clicks")
    names.write(lambda tx: name_numbers.note(tx, {DATASET: {dataset: due.number}}))

    assert names.settle() == 1

    assert names.noted() == {dataset: (2, NotedName("clicks"))}


@pytest.mark.parametrize("in_bucket", ["clicks", "other"], ids=["equal", "different"])
def test_a_database_that_was_put_back_never_overwrites_a_name(
    names: NamesDriver, in_bucket: str
) -> None:
    dataset = names.dataset("web")
    names.settle()
    for number, name in ((2, in_bucket), (3, "lost")):
        content = noted_names.encode(NotedName(name))
        names.store.put_if_absent(key(dataset, number), content)

    names.rename(dataset, "clicks")
    names.settle()

    # An equal one below the highest does not count either.
    assert names.noted() == {dataset: (4, NotedName("clicks"))}
    assert names.unnoted() == 0


def test_the_next_number_is_taken_where_the_highest_object_has_other_bytes(
    names: NamesDriver,
) -> None:
    dataset = names.dataset("web")
    names.store.put_if_absent(key(dataset, 1), noted_names.encode(NotedName("other")))

    names.settle()

    assert names.noted() == {dataset: (2, NotedName("web"))}


def test_several_metas_write_the_same_objects(names: NamesDriver) -> None:
    made = [names.dataset(f"dataset-{number}") for number in range(40)]
    with noting(names.settings) as other, ThreadPoolExecutor(2) as pool:
        list(pool.map(NamesDriver.settle, (names, other)))
        for number, dataset in enumerate(made):
            names.rename(dataset, f"renamed-{number}")
        list(pool.map(NamesDriver.settle, (names, other)))

    assert names.unnoted() == 0
    assert names.noted() == {
        dataset: (2, NotedName(f"renamed-{number}")) for number, dataset in enumerate(made)
    }


def test_a_purged_dataset_and_a_deleted_group_lose_their_objects(names: NamesDriver) -> None:
    group, dataset = names.group("shop"), names.dataset("shop/web")
    other = names.dataset("other")
    names.run("UPDATE datasets SET deleted_at = now() WHERE id = :id", id=dataset)
    names.settle()
    # It can come back, so it keeps its name.
    assert dataset in names.noted()

    names.run("UPDATE datasets SET purged_at = now() WHERE id = :id", id=dataset)
    names.write(lambda tx: groups.delete(tx, group))
    names.run("UPDATE meta_state SET deletion_held = true")
    assert names.settle() == 0
    names.run("UPDATE meta_state SET deletion_held = false")
    assert names.settle() == 1

    assert names.object_keys() == [key(other, 1)]
    assert names.settle() == 0


def test_a_bucket_that_does_not_answer_leaves_names_due(names: NamesDriver) -> None:
    names.dataset("web")
    folder = Path("/", names.settings.location.path)
    moved = folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(Unavailable):
        names.notes.run_round()
    assert names.unnoted() == 1

    moved.rename(folder)

    assert names.settle() == 1
    assert names.unnoted() == 0


def test_what_was_written_before_a_failure_is_recorded(
    names: NamesDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names.dataset("first")
    names.settle()
    # An object that is a folder of the file system cannot be listed or written.
    broken = names.dataset("broken")
    names.run("UPDATE datasets SET name_number = 0 WHERE id = :id", id=broken)
    fine = names.dataset("fine")
    path = Path("/", names.settings.location.path, key(broken, 0)).parent
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no folder")

    with pytest.raises(Unavailable, match="names cannot be noted"):
        names.notes.run_round()

    assert names.noted()[fine] == (1, NotedName("fine"))
    assert names.run("SELECT noted_number FROM datasets WHERE id = :id", id=fine) == [(1,)]
    assert names.unnoted() == 1


@pytest.mark.parametrize("keeps", [True, False], ids=["not begun", "no setting"])
def test_a_meta_without_a_witness_writes_no_names(meta_settings: Settings, keeps: bool) -> None:
    """The folder does not exist, so that a meta with the setting has no witness either."""
    settings = replace(meta_settings, keeps_witness=keeps)
    database = Database(settings.database)
    witness_watch.begin(database, settings)
    driver = NamesDriver(database, settings)
    driver.dataset("web")

    assert driver.settle() == 0

    assert driver.unnoted() == 1
    witness_watch.end(database)
    database.close()


@pytest.mark.long
def test_existing_datasets_are_written_at_a_bounded_rate_and_changes_first(
    names: NamesDriver,
) -> None:
    names.run("""
        INSERT INTO datasets (id, name, name_number)
        SELECT gen_random_uuid(), 'dataset-' || n, 0 FROM generate_series(1, 10000) n
    """)
    assert names.notes.run_round()
    assert len(names.object_keys()) == NAMES_AT_ONCE
    (old,) = names.run("SELECT id FROM datasets WHERE noted_number = -1 ORDER BY key LIMIT 1")
    dataset = UUID(str(old[0]))
    names.rename(dataset, "renamed")
    group = names.group("new")

    assert names.notes.run_round()

    assert names.noted()[dataset] == (1, NotedName("renamed"))
    assert names.noted(GROUP) == {group: (1, NotedName("new"))}
    assert len(names.object_keys()) == 2 * NAMES_AT_ONCE
    assert names.unnoted() == 10_001 - 2 * NAMES_AT_ONCE
    assert names.settle() == 10_001 // NAMES_AT_ONCE - 1
    assert names.unnoted() == 0


def test_a_round_without_work_reads_no_names(names: NamesDriver) -> None:
    names.run("""
        INSERT INTO datasets (id, name, name_number, noted_number)
        SELECT gen_random_uuid(), 'dataset-' || n, 1, 1 FROM generate_series(1, 5000) n
    """)
    names.run("ANALYZE datasets")

    rows = rows_read(names.database, lambda tx: name_numbers.due(tx, NAMES_AT_ONCE))

    assert rows < 10


@pytest.mark.parametrize("excess", [0, 1], ids=["longest", "longer"])
def test_the_longest_name_and_title_are_read_back(names: NamesDriver, excess: int) -> None:
    longest = NotedName("𝔘" * CHARACTERS_MAX, "𝔘" * (CHARACTERS_MAX + excess), str(uuid4()))
    content = noted_names.encode(longest)

    assert len(content) < OBJECT_BYTES_MAX
    assert noted_names.decode(content) == (None if excess else longest)


@pytest.mark.parametrize("excess", [0, 1], ids=["at", "beyond"])
def test_an_object_beyond_the_bound_is_not_read(names: NamesDriver, excess: int) -> None:
    dataset = str(uuid4())
    content = noted_names.encode(NotedName("web")).ljust(OBJECT_BYTES_MAX + excess)
    names.store.put_if_absent(noted_names.name_key(DATASET, dataset, 1), content)

    read = noted_names.read(names.store, noted_names.newest(names.store, DATASET))

    assert read == ({} if excess else {dataset: NotedName("web")})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 10_000,
        b"[]",
        b'{"format": 2, "name": "a", "title": "", "group_id": ""}',
        b'{"format": 1, "name": "", "title": "", "group_id": ""}',
        b'{"format": 1, "name": 7, "title": "", "group_id": ""}',
        b'{"format": 1, "name": "a\\n", "title": "", "group_id": ""}',
        b'{"format": 1, "name": "\\ud800", "title": "", "group_id": ""}',
        b'{"format": 1, "name": "a", "title": "", "group_id": "shop"}',
        b'{"format": 1, "name": "a", "title": ""}',
    ],
)
def test_what_is_no_name_is_none(content: bytes) -> None:
    assert noted_names.decode(content) is None


def test_keys_that_are_none_of_a_name_are_left_out(names: NamesDriver) -> None:
    for tail in ("x/1", f"{uuid4()}/1", f"{uuid4()}/{'9' * 19}x", f"{uuid4()}/{'1' * 20}/more"):
        names.store.put_if_absent(f"{noted_names.NAMES_ROOT}dataset/{tail}", b"{}")

    assert noted_names.newest(names.store, DATASET) == {}
