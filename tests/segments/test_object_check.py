"""Reading an object whole: each kind of damage is found, and a sound object is sound."""

from pathlib import Path

import pytest

from segments.baby import crc32c, encode_baby
from segments.errors import StoreUnusable
from segments.keys import baby_key, new_merged_key
from segments.location import StoreLocation
from segments.object_check import KnownObject, ObjectReading, check_object
from segments.store.folder import FolderStore
from tests.support.babies import BABY, damaged
from tests.support.parquet.rows import DATASET, rows_of, write_segment

SEGMENT_KEY = new_merged_key(DATASET)
BABY_KEY = baby_key("01a20108-99e5-76ea-9105-e5e47202c1e8", 7)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(StoreLocation.from_url((tmp_path / "objects").as_uri()))
    store.probe()
    return store


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("segment") / "one.parquet"
    write_segment(path, {"logs": rows_of("logs", 500, seed=1)})
    return path.read_bytes()


def flipped(body: bytes, at: int) -> bytes:
    return body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :]


def check(
    store: FolderStore, key: str, body: bytes, known_crc: int | None, *, read_pages: bool = False
) -> ObjectReading:
    store.put_if_absent(key, body)
    return check_object(store, KnownObject(key, len(body), known_crc), read_pages=read_pages)


@pytest.mark.parametrize("read_pages", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_sound_objects_are_sound(
    store: FolderStore, segment: bytes, is_known: bool, read_pages: bool
) -> None:
    for key, body in ((SEGMENT_KEY, segment), (BABY_KEY, encode_baby(BABY))):
        crc = crc32c(body) if is_known else None
        reading = check(store, key, body, crc, read_pages=read_pages)

        assert reading == ObjectReading(len(body), crc32c(body), "")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_flipped_byte_anywhere_differs_from_the_checksum(
    store: FolderStore, segment: bytes, share: float
) -> None:
    body = flipped(segment, int(len(segment) * share))

    reading = check(store, SEGMENT_KEY, body, crc32c(segment))

    assert f"{crc32c(segment):08x} is registered" in reading.damage


def test_a_flipped_byte_in_a_page_is_found_without_a_checksum(
    store: FolderStore, segment: bytes
) -> None:
    body = flipped(segment, len(segment) // 3)

    assert "content" in check(store, SEGMENT_KEY, body, None, read_pages=True).damage


def test_a_baby_without_a_known_checksum_is_decoded(store: FolderStore) -> None:
    assert "content" in check(store, BABY_KEY, damaged(encode_baby(BABY)), None).damage


def test_another_size_is_damage_even_without_a_checksum(store: FolderStore, segment: bytes) -> None:
    store.put_if_absent(SEGMENT_KEY, segment[:-1])

    reading = check_object(store, KnownObject(SEGMENT_KEY, len(segment), None), read_pages=False)

    assert reading.damage == f"it has {len(segment) - 1} bytes, {len(segment)} are registered"


def test_a_missing_object_is_damage_and_a_missing_store_is_none(store: FolderStore) -> None:
    known = KnownObject(SEGMENT_KEY, 10, 1)

    assert check_object(store, known, read_pages=False).damage == "the object is missing"
    store.root.rename(store.root.with_name("unmounted"))
    with pytest.raises(StoreUnusable):
        check_object(store, known, read_pages=False)
