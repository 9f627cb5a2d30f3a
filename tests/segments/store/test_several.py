"""Several stores as one: each object is where its key says, and they are listed in one order."""

from pathlib import Path

import pytest

from segments.errors import ObjectMissing, StoreUnusable
from segments.ids import new_uuid7
from segments.keys import FOLDER_AT, baby_key, new_merged_key, parse_key, store_of
from segments.location import (
    NAMED_MAX,
    NamedStore,
    StoreLocation,
    Stores,
    StoreUnknown,
    parse_named_stores,
)
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores


def of(folder: Path) -> StoreLocation:
    return StoreLocation.from_url(folder.as_uri())


def test_an_object_is_in_the_store_that_its_key_names(
    several_stores: ObjectStore, tmp_path: Path
) -> None:
    dataset = str(new_uuid7())
    here, there = new_merged_key(dataset), new_merged_key(dataset, "cold")

    several_stores.put_if_absent(here, b"here")
    several_stores.put_if_absent(there, b"there")

    assert open_store(of(tmp_path / "default")).get(here) == b"here"
    assert open_store(of(tmp_path / "cold")).get(there) == b"there"
    with pytest.raises(ObjectMissing):
        open_store(of(tmp_path / "default")).get(there)
    assert several_stores.get(there) == b"there"


def test_all_stores_are_listed_in_one_order(several_stores: ObjectStore) -> None:
    datasets = sorted(str(new_uuid7()) for _ in range(3))
    keys = [new_merged_key(d, store) for d in datasets for store in ("", "cold") for _ in range(3)]
    for key in [*keys, baby_key(datasets[0], 1)]:
        several_stores.put_if_absent(key, b"")

    listed = [info.key for info in several_stores.list("dataset/")]

    assert listed == sorted(keys)
    for start_after in keys:
        rest = [info.key for info in several_stores.list("dataset/", start_after)]
        assert rest == [key for key in sorted(keys) if key > start_after]
    own = f"dataset/{datasets[1]}/merged/store-cold/"
    assert [info.key for info in several_stores.list(own)] == sorted(
        key for key in keys if key.startswith(own)
    )
    assert len(list(several_stores.list(""))) == len(keys) + 1


def test_two_stores_may_share_a_bucket(tmp_path: Path) -> None:
    stores = open_stores(Stores(of(tmp_path), (NamedStore("cold", of(tmp_path)),)))
    dataset = str(new_uuid7())
    keys = sorted(new_merged_key(dataset, store) for store in ("", "cold"))

    for key in keys:
        stores.put_if_absent(key, b"")

    assert [info.key for info in stores.list("dataset/")] == keys


def test_a_key_of_a_store_that_is_not_configured_reaches_no_other(
    several_stores: ObjectStore,
) -> None:
    key = new_merged_key(str(new_uuid7()), "warm")

    for call in (several_stores.get, several_stores.head, lambda k: several_stores.delete([k])):
        with pytest.raises(StoreUnknown, match="'warm' is not configured"):
            call(key)


def test_a_probe_names_the_store_that_cannot_serve(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    (tmp_path / "default").mkdir()
    stores = Stores(of(tmp_path / "default"), (NamedStore("cold", of(file / "x")),))

    with pytest.raises(StoreUnusable, match="object store 'cold'"):
        open_stores(stores).probe()


def test_a_key_with_a_store_is_a_key_of_a_merged_segment() -> None:
    dataset = str(new_uuid7())
    key = new_merged_key(dataset, "cold-2")

    parsed = parse_key(key)

    assert getattr(parsed, "store", None) == store_of(key) == "cold-2"
    assert key[FOLDER_AT:].startswith("store-cold-2/")
    for name in ("", "Cold", "-cold", "c" * 32, "a_b"):
        assert store_of(f"dataset/{dataset}/merged/store-{name}/x.parquet") == ""
    assert store_of(f"hidden/{key}") == ""


def test_stores_are_named_with_commas() -> None:
    text = "cold=s3://b/p?endpoint=http://h:1, eu=gs://bucket ,"

    named = parse_named_stores(text)

    assert [store.name for store in named] == ["cold", "eu"]
    assert named[1].location == StoreLocation.from_url("gs://bucket")
    assert parse_named_stores("") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("s3://bucket", "must be NAME=URL"),
        ("Cold=s3://b", "lower-case"),
        ("default=s3://b", "needs no name"),
        ("a=s3://b,a=s3://c", "named twice"),
        ("a=ftp://b", "must start with"),
        (",".join(f"s{n}=s3://b" for n in range(NAMED_MAX + 1)), "more than 16"),
    ],
)
def test_what_names_no_stores_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_named_stores(text)
    assert len(parse_named_stores(",".join(f"s{n}=s3://b" for n in range(NAMED_MAX)))) == NAMED_MAX
