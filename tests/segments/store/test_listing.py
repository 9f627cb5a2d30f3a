"""Listings and clocks of an object store, the same of every store."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from segments.store.cloud import azure, gcs
from segments.store.interface import ObjectStore
from tests.support.object_store import moto


def test_a_listing_is_in_the_order_of_bytes(store: ObjectStore) -> None:
    keys = [
        "a",
        "a-b",
        "a.b",
        "ab/c",
        "ab0",
        "b/1",
        "b/10",
        "b/2",
        "b-/x",
        "Z/z",
        "é",
        "\uff5e",  # Below the next by its bytes, above it by UTF-16.
        *([] if store.location.provider == "azure" else ["🙂"]),
    ]
    for key in reversed(keys):
        store.put_if_absent(key, key.encode())

    listed = list(store.list(""))

    assert [info.key for info in listed] == sorted(keys, key=str.encode)
    assert [info.size_bytes for info in listed] == [len(info.key.encode()) for info in listed]


@pytest.mark.parametrize("prefix", ["", "b", "b/", "b/1", "b-", "nothing", "b/nothing/", "é"])
def test_a_listing_has_all_keys_of_its_prefix_and_no_others(
    store: ObjectStore, prefix: str
) -> None:
    keys = ["a", "b/1", "b/10", "b/2/x", "b-/x", "b.", "c/b/1", "é/é"]
    for key in keys:
        store.put_if_absent(key, b"")

    found = [info.key for info in store.list(prefix)]

    assert found == sorted((k for k in keys if k.startswith(prefix)), key=str.encode)


def test_a_listing_starts_after_any_key(store: ObjectStore) -> None:
    keys = ["a/1", "a/2/x", "a/2/y", "a/3", "b"]
    for key in keys:
        store.put_if_absent(key, b"")

    for after in [*keys, "a", "a/", "a/2", "a/2/", "a/2/xx", "a/20", "a0", "z", "A"]:
        found = [info.key for info in store.list("a/", start_after=after)]
        assert found == [k for k in keys if k.startswith("a/") and k > after], after


@pytest.mark.long
def test_a_listing_goes_on_past_a_page(
    request: pytest.FixtureRequest, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Servers of S3 choose the size of a page; of the others we ask for smaller ones.
    count = 1_020 if store.location.provider == "s3" else 120
    for module in (azure, gcs):
        monkeypatch.setattr(module, "_PAGE_MAX", 100)
    keys = [f"many/{number:05}" for number in range(count)]
    if request.node.callspec.id == "moto":
        moto.put_empty(store.location, keys)
    else:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda key: store.put_if_absent(key, b""), keys))

    assert [info.key for info in store.list("many/")] == keys
    assert [info.key for info in store.list("many/", start_after=keys[9])] == keys[10:]

    store.delete(keys)

    assert list(store.list("")) == []


def test_listed_times_are_about_now(store: ObjectStore) -> None:
    before = time.time_ns()
    store.put_if_absent("key", b"")

    (listed,) = store.list("")

    # S3 speaks of whole seconds in some answers.
    assert before - 2 * 10**9 < listed.modified_at_nanos < time.time_ns() + 2 * 10**9
    assert abs(store.head("key").modified_at_nanos - listed.modified_at_nanos) < 2 * 10**9


def test_the_stores_clock_is_that_of_its_objects(store: ObjectStore) -> None:
    before = store.now_nanos()
    store.put_if_absent("key", b"")

    assert before - 2 * 10**9 < store.head("key").modified_at_nanos
    assert store.head("key").modified_at_nanos < store.now_nanos() + 2 * 10**9
