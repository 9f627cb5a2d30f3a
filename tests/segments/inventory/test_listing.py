"""Listings over two real stores: the order of keys, positions, owners, streams, payloads."""

import pytest

from segments.ids import new_uuid7
from segments.inventory.listing import (
    batches,
    by_owner,
    exists,
    list_babies,
    list_objects,
    list_payloads,
    stream_ids,
)
from segments.keys import (
    BABIES_ROOT,
    DATASETS_ROOT,
    TABLES_ROOT,
    baby_key,
    new_merged_key,
    new_table_key,
    quarantine_note_key,
    quarantine_whole_key,
)
from segments.store.interface import ObjectInfo, ObjectStore

ROOTS = (BABIES_ROOT, DATASETS_ROOT, TABLES_ROOT)


@pytest.fixture
def keys(several_stores: ObjectStore) -> list[str]:
    """Write segments of two datasets in two stores, babies of two streams, and others' objects."""
    datasets = sorted(str(new_uuid7()) for _ in range(2))
    streams = sorted(str(new_uuid7()) for _ in range(2))
    written = [
        *(new_merged_key(d, store) for d in datasets for store in ("", "cold") for _ in range(2)),
        *(baby_key(s, offset) for s in streams for offset in range(3)),
        new_table_key(datasets[0], 7, "manifest.avro"),
        f"{baby_key(streams[0], 1)}.tmp",
        "dataset/readme",
        "ingest-stream/readme",
    ]
    for key in [*written, "other/readme", "quarantine/readme"]:
        several_stores.put_if_absent(key, b"")
    return sorted(written)


def test_the_objects_of_all_stores_are_listed_in_the_order_of_keys(
    several_stores: ObjectStore, keys: list[str]
) -> None:
    assert [info.key for info in list_objects(several_stores, *ROOTS)] == keys


def test_a_listing_goes_on_behind_any_key(several_stores: ObjectStore, keys: list[str]) -> None:
    for after in ["", *keys, "dataset/", "dataset0", "e", "ingest-stream/", "zzz"]:
        listed = [info.key for info in list_objects(several_stores, *ROOTS, after=after)]

        assert listed == [key for key in keys if key > after]


def test_objects_are_grouped_by_dataset_and_stream(
    several_stores: ObjectStore, keys: list[str]
) -> None:
    groups = [
        (owner, [info.key for info in objects])
        for owner, objects in by_owner(list_objects(several_stores, *ROOTS))
    ]

    assert [key for _, objects in groups for key in objects] == keys
    assert len({owner for owner, _ in groups}) == len(groups)
    assert all(key.startswith(owner) for owner, objects in groups for key in objects)


def test_each_stream_with_an_object_is_listed_once(
    several_stores: ObjectStore, keys: list[str]
) -> None:
    ids = list(stream_ids(list_objects(several_stores, BABIES_ROOT)))

    assert ids == sorted({key.split("/")[1] for key in keys if key.count("/") == 2} & set(ids))
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("first", "last", "offsets"),
    [(0, None, [0, 1, 2]), (1, None, [1, 2]), (0, 0, [0]), (1, 1, [1]), (2, 9, [2]), (3, None, [])],
)
def test_the_babies_of_a_stream_are_listed_between_two_offsets(
    several_stores: ObjectStore, keys: list[str], first: int, last: int | None, offsets: list[int]
) -> None:
    stream_id = next(stream_ids(list_objects(several_stores, BABIES_ROOT)))

    listed = [info.key for info in list_babies(several_stores, stream_id, first, last)]

    # The name between them that is not a baby's is skipped.
    assert listed == [baby_key(stream_id, offset) for offset in offsets]


def test_payloads_are_listed_without_their_notes(several_stores: ObjectStore) -> None:
    streams = sorted(str(new_uuid7()) for _ in range(2))
    payloads = [
        quarantine_whole_key(stream_id, offset) for stream_id in streams for offset in (1, 2)
    ]
    for key in payloads:
        several_stores.put_if_absent(key, b"")
        several_stores.put_if_absent(quarantine_note_key(key), b"")
    several_stores.put_if_absent("quarantine/readme", b"")

    assert [info.key for info, _ in list_payloads(several_stores)] == payloads
    assert [info.key for info, _ in list_payloads(several_stores, streams[1])] == payloads[2:]
    behind = [info.key for info, _ in list_payloads(several_stores, after=payloads[0])]
    assert behind == payloads[1:]


def test_one_object_is_asked_for(several_stores: ObjectStore, keys: list[str]) -> None:
    assert exists(several_stores, keys[0])
    assert not exists(several_stores, new_merged_key(str(new_uuid7()), "cold"))


def test_batches_are_full_but_for_the_last_and_taken_as_they_come() -> None:
    numbers = iter(range(7))
    split = batches(numbers, 3)

    assert next(split) == [0, 1, 2]
    assert next(numbers) == 3
    assert list(split) == [[4, 5, 6]]
    assert list(batches([], 3)) == []


def test_a_listing_is_read_as_far_as_it_is_asked_for() -> None:
    class Endless:
        def list(self, prefix: str, start_after: str = "") -> "Endless":
            return self

        def __iter__(self) -> "Endless":
            return self

        def __next__(self) -> ObjectInfo:
            return ObjectInfo("dataset/x", 1, 1)

    objects = list_objects(Endless(), DATASETS_ROOT, BABIES_ROOT)  # type: ignore[arg-type]

    assert next(objects).key == "dataset/x"
