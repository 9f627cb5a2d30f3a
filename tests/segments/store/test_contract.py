"""The contract of object stores, tested on a folder and on an S3 server."""

import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.errors import ObjectExists, ObjectMissing
from segments.store.interface import ObjectStore
from segments.store.upload_body import PART_BYTES

WRITERS = 12
STUCK_SECS = 60.0
HOSTILE_KEYS = [
    "a b/c d",
    "plus+and%20percent%",
    "question?and#hash&amp;=",
    "quote'and\"double",
    "back\\slash",
    "umlaut-äöü/日本語/🙂",
    "e\u0301-decomposed",
    "dots/..hidden/.leading/trailing.",
    "$(touch x);`id`|<>*",
    "-rf/~/--",
    "a/" + "n" * 255,
    "/".join(["part" * 10] * 20),
    "CON/nul.txt",
    "é/" + "🙂" * 63,
]
IMPOSSIBLE_KEYS = [
    *["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a/./b"],
    *["a\x00b", "a\nb", "\ud800", "n" * 256, "a/" * 500 + "b"],
]


def test_an_object_reads_back_as_written(store: ObjectStore) -> None:
    body = bytes(range(256)) * 1000

    store.put_if_absent("some/key", body)

    assert store.get("some/key") == body
    assert store.head("some/key").size_bytes == len(body)


def test_an_empty_object_is_an_object(store: ObjectStore) -> None:
    store.put_if_absent("empty", b"")

    assert store.get("empty") == b""
    assert store.head("empty").size_bytes == 0
    assert store.open_input("empty").read() == b""


def test_a_memoryview_is_written_as_it_is(store: ObjectStore) -> None:
    store.put_if_absent("view", memoryview(b"0123456789")[2:5])

    assert store.get("view") == b"234"


def test_pieces_are_written_as_one_object(store: ObjectStore) -> None:
    pieces = [b"", b"first", b"", *(b"%d" % number for number in range(3000)), b"x" * 10**6]

    store.put_if_absent("pieces", *pieces)

    assert store.get("pieces") == b"".join(pieces)
    with pytest.raises(ObjectExists):
        store.put_if_absent("pieces", b"other")
    store.put_if_absent("none")
    assert store.get("none") == b""


def test_a_second_write_is_refused_and_changes_nothing(store: ObjectStore) -> None:
    store.put_if_absent("key", b"first")

    for body in (b"second", b"first"):
        with pytest.raises(ObjectExists):
            store.put_if_absent("key", body)

    assert store.get("key") == b"first"


def test_a_file_is_put_whole_and_never_over_another(store: ObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"content")
    store.put_file_if_absent("from/file", source)
    source.write_bytes(b"other")

    with pytest.raises(ObjectExists):
        store.put_file_if_absent("from/file", source)

    assert store.get("from/file") == b"content"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("extra", [0, 1, PART_BYTES + 7], ids=["16 MiB", "a byte more", "2 parts"])
def test_a_large_file_is_put_whole_and_never_over_another(
    store: ObjectStore, tmp_path: Path, extra: int
) -> None:
    source = tmp_path / "large"
    body = bytes(range(251)) * ((PART_BYTES + extra) // 251 + 1)
    body = body[: PART_BYTES + extra]
    source.write_bytes(body)

    store.put_file_if_absent("large", source)

    assert store.get("large") == body
    with pytest.raises(ObjectExists):
        store.put_file_if_absent("large", source)
    assert store.abort_stale_uploads("", time.time_ns() + 10**12) == 0


def test_large_bytes_are_put_whole_and_never_over_another(store: ObjectStore) -> None:
    body = b"x" * (PART_BYTES + 1)
    store.put_if_absent("large", body)

    with pytest.raises(ObjectExists):
        store.put_if_absent("large", b"y" * (PART_BYTES + 1))

    assert store.get("large") == body


def test_of_twelve_writers_exactly_one_wins(store: ObjectStore) -> None:
    # A test that is timed out leaves fewer: they must not wait for the others for ever.
    barrier = threading.Barrier(WRITERS, timeout=STUCK_SECS)

    def write(key: str, writer: int) -> int | None:
        barrier.wait()
        try:
            store.put_if_absent(key, b"%d" % writer)
        except ObjectExists:
            return None
        return writer

    with ThreadPoolExecutor(WRITERS) as pool:
        for attempt in range(8):
            key = f"raced/{attempt}"
            outcomes = list(pool.map(write, [key] * WRITERS, range(WRITERS)))

            winners = [writer for writer in outcomes if writer is not None]
            assert len(winners) == 1
            assert store.get(key) == b"%d" % winners[0]


def test_ranges_end_where_the_object_ends(store: ObjectStore) -> None:
    store.put_if_absent("key", b"0123456789")

    assert store.get_range("key", 0, 10) == b"0123456789"
    assert store.get_range("key", 3, 4) == b"3456"
    assert store.get_range("key", 8, 100) == b"89"
    assert store.get_range("key", 10, 5) == b""
    assert store.get_range("key", 50, 5) == b""
    assert store.get_range("key", 3, 0) == b""


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.get("absent/key"),
        lambda store: store.get_range("absent/key", 0, 1),
        lambda store: store.head("absent/key"),
        lambda store: store.open_input("absent/key"),
    ],
    ids=["get", "get_range", "head", "open_input"],
)
def test_an_absent_object_is_missing(
    store: ObjectStore, read: Callable[[ObjectStore], object]
) -> None:
    with pytest.raises(ObjectMissing):
        read(store)


def test_a_prefix_of_a_key_is_not_an_object(store: ObjectStore) -> None:
    store.put_if_absent("a/b/c", b"")

    with pytest.raises(ObjectMissing):
        store.get("a/b")
    store.delete(["a/b"])

    assert store.get("a/b/c") == b""


@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_an_odd_key_is_kept_to_the_letter(store: ObjectStore, key: str) -> None:
    if store.location.provider == "azure" and any(c == "\\" or c > "\uffff" for c in key):
        with pytest.raises(ValueError, match="Azure keeps no key"):
            store.put_if_absent(key, b"")
        return
    store.put_if_absent(key, key.encode())

    assert store.get(key) == key.encode()
    assert [info.key for info in store.list("")] == [key]
    assert [info.key for info in store.list(key)] == [key]
    store.delete([key])
    assert list(store.list("")) == []


@pytest.mark.parametrize("key", IMPOSSIBLE_KEYS)
def test_a_key_that_no_store_can_hold_is_refused(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError):
        store.put_if_absent(key, b"")
    with pytest.raises(ValueError):
        store.get(key)
    with pytest.raises(ValueError):
        store.delete([key])


def test_deleting_twice_is_fine_and_spares_the_others(store: ObjectStore) -> None:
    for key in ("d/1", "d/2", "d/3"):
        store.put_if_absent(key, b"")

    store.delete(["d/1", "d/never", "d/3"])
    store.delete(["d/1"])
    store.delete([])

    assert [info.key for info in store.list("")] == ["d/2"]


def test_a_deleted_key_can_be_written_again(store: ObjectStore) -> None:
    store.put_if_absent("d/1", b"old")
    store.delete(["d/1"])

    store.put_if_absent("d/1", b"new")

    assert store.get("d/1") == b"new"


@pytest.mark.long
def test_writes_and_deletes_beside_each_other_lose_nothing(store: ObjectStore) -> None:
    """Emptying a folder removes it, so a writer may find its folder gone."""

    def write_and_delete(writer: int) -> None:
        for number in range(30):
            store.put_if_absent(f"shared/folder/{writer}-{number}", b"")
            if number < 29:
                store.delete([f"shared/folder/{writer}-{number}"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_delete, range(4)))

    assert len(list(store.list("shared/"))) == 4


def test_an_input_seeks_like_a_file(store: ObjectStore) -> None:
    body = bytes(range(256)) * 4096
    store.put_if_absent("key", body)

    with store.open_input("key") as file:
        assert file.read(10) == body[:10]
        assert file.seek(-7, 2) == len(body) - 7
        assert file.read() == body[-7:]
        assert file.read(1) == b""
        file.seek(500_000)
        assert file.read(300_000) == body[500_000:800_000]
        file.seek(10)
        assert file.read(5) == body[10:15]
        file.seek(len(body) + 5)
        assert file.read(5) == b""
        assert file.seekable()
        assert not file.closed
    assert file.closed


def test_parquet_is_read_through_an_input(store: ObjectStore, tmp_path: Path) -> None:
    table = pa.table({"number": range(100_000), "text": [f"value {n}" for n in range(100_000)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10_000)
    store.put_file_if_absent("t.parquet", tmp_path / "t.parquet")

    with pq.ParquetFile(pa.PythonFile(store.open_input("t.parquet"), mode="r")) as file:
        batches = list(file.iter_batches(columns=["text", "number"]))

    assert pa.Table.from_batches(batches).select(["number", "text"]).equals(table)


def test_a_store_pickles_as_its_location(store: ObjectStore) -> None:
    store.put_if_absent("key", b"body")

    copy = pickle.loads(pickle.dumps(store))  # noqa: S301

    assert copy == store
    assert copy.get("key") == b"body"


def test_the_probe_accepts_the_store_as_often_as_asked(store: ObjectStore) -> None:
    store.probe()
    store.probe()

    assert [info.key for info in store.list("")] == ["probe/put-if-absent"]
