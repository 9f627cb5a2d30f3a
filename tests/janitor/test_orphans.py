"""Objects that a sweep deletes, on a real folder; meta is a set of known keys here."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from janitor import orphans
from janitor.orphans import DELETED_FLOOR, delete_cap, is_ours, sweep
from meta.process.shutdown import Shutdown
from segments.errors import StoreUnusable
from segments.ids import new_uuid7
from segments.keys import attempt_prefix, baby_key, merged_prefix, new_table_key
from segments.location import NamedStore, StoreLocation, Stores
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores

FAR_FUTURE = 2**62


class Meta:
    """Knows keys and takes others, as meta's unique index does; remembers what it was asked."""

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.known = set(known)
        self.condemned: set[str] = set()
        self.calls: list[tuple[int, bool]] = []
        self.registers_before_condemning: set[str] = set()
        self.also_answers: list[str] = []

    def condemn(self, keys: Sequence[str], *, dry_run: bool) -> Sequence[str]:
        assert len(keys) <= 1_000
        self.calls.append((len(keys), dry_run))
        if not dry_run:
            self.known |= self.registers_before_condemning
        garbage = [key for key in keys if key not in self.known]
        if not dry_run:
            self.condemned |= set(garbage)
        return [*garbage, *self.also_answers]


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(StoreLocation.from_url(f"file://{tmp_path}"))


def put(store: ObjectStore, *keys: str) -> None:
    for key in keys:
        store.put_if_absent(key, b"")


def keys_of(store: ObjectStore) -> list[str]:
    return [info.key for info in store.list("")]


def merged_keys(count: int) -> list[str]:
    dataset_id = str(new_uuid7())
    return [f"{merged_prefix(dataset_id)}{new_uuid7()}.parquet" for _ in range(count)]


def test_only_what_no_row_knows_is_deleted(store: ObjectStore) -> None:
    live, orphan = merged_keys(2)
    task_orphan = f"{attempt_prefix(str(new_uuid7()), str(new_uuid7()), 3)}{new_uuid7()}.parquet"
    baby_live, baby_orphan = (baby_key(str(new_uuid7()), offset) for offset in (4, 5))
    put(store, live, orphan, task_orphan, baby_live, baby_orphan)
    meta = Meta(known=[live, baby_live])

    swept = sweep(store, meta.condemn, FAR_FUTURE, Shutdown())

    assert keys_of(store) == sorted([live, baby_live])
    assert meta.condemned == {orphan, task_orphan, baby_orphan}
    assert (swept.listed, swept.deleted, swept.remaining, swept.foreign) == (5, 3, 0, 0)


def test_a_young_object_is_not_even_asked_about(store: ObjectStore, tmp_path: Path) -> None:
    old, young = merged_keys(2)
    put(store, old, young)
    os.utime(tmp_path / old, ns=(1_000, 1_000))
    os.utime(tmp_path / young, ns=(2_000, 2_000))
    meta = Meta()

    sweep(store, meta.condemn, 1_999, Shutdown())

    assert keys_of(store) == [young]
    assert meta.calls == [(1, True), (1, False)]


def test_keys_that_are_not_ours_are_never_touched(store: ObjectStore) -> None:
    dataset, stream = f"dataset/{new_uuid7()}", f"ingest-stream/{new_uuid7()}"
    foreign = [
        "notes.txt",
        "probe/put-if-absent",
        f"quarantine/{new_uuid7()}/{'0' * 20}/whole",
        f"{dataset}/merged/backup.parquet",
        f"{dataset}/merged/{new_uuid7()}.parquet.bak",
        f"{dataset}/other/{new_uuid7()}.parquet",
        f"{stream}/7",
        f"{stream}/{'0' * 20}.tmp",
        "dataset/readme",
    ]
    put(store, *foreign)
    meta = Meta()

    swept = sweep(store, meta.condemn, FAR_FUTURE, Shutdown())

    assert keys_of(store) == sorted(foreign)
    assert meta.calls == []
    assert swept.foreign == 6


def test_one_sweep_deletes_a_tenth_of_a_dataset_at_most(store: ObjectStore) -> None:
    keys = merged_keys(1_200)
    few = merged_keys(3)
    put(store, *keys, *few, f"{keys[0].rsplit('/', 1)[0]}/foreign-in-the-middle")

    swept = sweep(store, Meta().condemn, FAR_FUTURE, Shutdown())

    assert (swept.deleted, swept.remaining) == (120 + 3, 1_080)
    assert len(keys_of(store)) == 1_080 + 1


def test_what_was_registered_after_the_dry_run_stays(store: ObjectStore) -> None:
    late, orphan = merged_keys(2)
    put(store, late, orphan)
    meta = Meta()
    meta.registers_before_condemning = {late}

    sweep(store, meta.condemn, FAR_FUTURE, Shutdown())

    assert keys_of(store) == [late]
    assert meta.condemned == {orphan}


def test_an_answer_beyond_the_question_deletes_nothing_more(
    store: ObjectStore, tmp_path: Path
) -> None:
    old, young = merged_keys(2)
    put(store, old, young, "precious")
    os.utime(tmp_path / old, ns=(1_000, 1_000))
    meta = Meta()
    meta.also_answers = [young, "precious", "../outside"]

    sweep(store, meta.condemn, 1_999, Shutdown())

    assert keys_of(store) == [young, "precious"]


def test_a_sweep_that_died_between_condemning_and_deleting_goes_on(store: ObjectStore) -> None:
    keys = merged_keys(3)
    put(store, *keys)
    meta = Meta()
    meta.condemn(keys, dry_run=False)

    sweep(store, meta.condemn, FAR_FUTURE, Shutdown())

    assert keys_of(store) == []


def test_a_requested_shutdown_deletes_nothing_more(store: ObjectStore) -> None:
    put(store, *merged_keys(3))
    shutdown, meta = Shutdown(), Meta()
    shutdown.request()

    sweep(store, meta.condemn, FAR_FUTURE, shutdown)

    assert len(keys_of(store)) == 3
    assert meta.condemned == set()


def test_after_the_end_of_a_permission_nothing_is_deleted_and_no_more_condemned(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphans, "CONDEMN_KEYS_MAX", 2)
    put(store, *merged_keys(7))
    meta, permitted = Meta(), iter((True, False, False, False))

    swept = sweep(store, meta.condemn, FAR_FUTURE, Shutdown(), lambda: next(permitted))

    assert (swept.deleted, len(keys_of(store))) == (2, 5)
    assert len(meta.condemned) == 4


def test_a_named_store_that_is_away_holds_up_no_orphan_of_the_default_one(tmp_path: Path) -> None:
    default, away = (StoreLocation.from_url((tmp_path / n).as_uri()) for n in ("default", "away"))
    (tmp_path / "default").mkdir()
    stores = open_stores(Stores(default, (NamedStore("cold", away),)))
    table = new_table_key(str(new_uuid7()), 7, "manifest.avro")
    put(stores, baby_key(str(new_uuid7()), 0), table, *merged_keys(1))

    with pytest.raises(StoreUnusable):
        sweep(stores, Meta().condemn, FAR_FUTURE, Shutdown())

    assert [key.split("/")[0] for key in keys_of(open_store(default))] == ["dataset"]


@given(st.integers(0, 10**9))
def test_the_cap_is_a_tenth_but_a_hundred_always(listed: int) -> None:
    cap = delete_cap(listed)

    assert cap >= DELETED_FLOOR
    assert cap == DELETED_FLOOR or cap * 10 <= listed


@given(st.text())
def test_no_text_passes_for_a_key_of_ours_by_chance(text: str) -> None:
    assert not is_ours(text)
