"""Rules of a folder store only: temporary names, empty folders, a missing disk."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.location import StoreLocation
from segments.store.folder import TEMPORARY_FOLDER, FolderStore
from segments.store.interface import ObjectStore
from segments.store.open import open_store

DIES_WHILE_WRITING = """
import os, sys
from pathlib import Path
from segments.store import folder
from segments.location import StoreLocation

def die(temporary, path):
    os._exit(9)

folder.os.link = die
store = folder.FolderStore(StoreLocation.from_url(sys.argv[1]))
store.put_if_absent("a/b", b"half")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def store(folder: Path) -> ObjectStore:
    folder.mkdir()
    return open_store(StoreLocation.from_url(f"file://{folder}"))


def test_a_writer_that_dies_leaves_no_object_and_its_rest_is_collected(
    store: ObjectStore, folder: Path
) -> None:
    url = store.location.url()
    died = subprocess.run([sys.executable, "-c", DIES_WHILE_WRITING, url], check=False, timeout=60)
    assert died.returncode == 9

    assert list(store.list("")) == []
    assert list(store.list(TEMPORARY_FOLDER)) == []
    assert list(store.list(f"{TEMPORARY_FOLDER}/")) == []
    with pytest.raises(ObjectMissing):
        store.get("a/b")
    assert len(os.listdir(folder / TEMPORARY_FOLDER)) == 1

    assert store.abort_stale_uploads("", time.time_ns() - 3600 * 10**9) == 0
    assert store.abort_stale_uploads("", time.time_ns() + 1) == 1

    assert os.listdir(folder / TEMPORARY_FOLDER) == []
    store.put_if_absent("a/b", b"whole")
    assert store.get("a/b") == b"whole"


def test_a_write_leaves_no_temporary_name(store: ObjectStore, folder: Path) -> None:
    store.put_if_absent("a", b"")
    with pytest.raises(ObjectExists):
        store.put_if_absent("a", b"")

    assert os.listdir(folder / TEMPORARY_FOLDER) == []


def test_an_object_that_the_system_takes_in_parts_is_whole(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or interrupted disk takes a part of a call: in a piece, or at the end of one."""
    whole, parts = os.writev, iter((3, 5, 2, 9))

    def partly(descriptor: int, pieces: list[memoryview]) -> int:
        return whole(descriptor, [memoryview(b"".join(pieces))[: next(parts)]])

    monkeypatch.setattr(os, "writev", partly)

    store.put_if_absent("a", b"abcd", b"efgh", b"", b"ijkl", b"m")

    assert store.get("a") == b"abcdefghijklm"


def test_the_stores_own_folder_holds_no_objects(store: ObjectStore) -> None:
    with pytest.raises(ValueError):
        store.put_if_absent(f"{TEMPORARY_FOLDER}/x", b"")
    with pytest.raises(ValueError):
        store.delete([f"{TEMPORARY_FOLDER}/x"])


def test_deleting_the_last_object_removes_its_folders(store: ObjectStore, folder: Path) -> None:
    store.put_if_absent("a/b/c/1", b"")
    store.put_if_absent("a/2", b"")

    store.delete(["a/b/c/1"])

    assert os.listdir(folder / "a") == ["2"]
    store.delete(["a/2"])
    assert os.listdir(folder) == [TEMPORARY_FOLDER]


def test_an_object_cannot_lie_below_another(store: ObjectStore) -> None:
    store.put_if_absent("a", b"")

    with pytest.raises(StoreError):
        store.put_if_absent("a/b", b"")
    with pytest.raises(StoreError):
        store.put_if_absent("a/b/c", b"")

    assert [info.key for info in store.list("")] == ["a"]


def test_links_and_names_that_are_not_text_are_not_objects(
    store: ObjectStore, folder: Path
) -> None:
    (folder / "link").symlink_to("/etc/hostname")
    (folder / "linked-folder").symlink_to("/etc")
    os.mkfifo(folder / "pipe")

    assert list(store.list("")) == []


def test_a_missing_folder_never_reads_as_an_empty_store(
    store: ObjectStore, folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"")
    folder.rmdir()

    for use in (
        lambda: store.put_if_absent("a", b""),
        lambda: store.put_file_if_absent("a", source),
        lambda: store.get("a"),
        lambda: store.head("a"),
        lambda: list(store.list("")),
        lambda: store.delete(["a"]),
    ):
        with pytest.raises(StoreUnusable, match="is missing: mount it or create it"):
            use()
    assert not folder.exists()


def test_the_probe_makes_the_folder(folder: Path) -> None:
    store = FolderStore(StoreLocation.from_url(f"file://{folder}/new/deep"))

    store.probe()

    assert (folder / "new/deep").is_dir()


def test_the_probe_names_a_place_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = FolderStore(StoreLocation.from_url(f"file://{tmp_path}/file/objects"))

    with pytest.raises(StoreUnusable, match="file/objects cannot hold objects") as refusal:
        store.probe()

    assert "\n" not in str(refusal.value)


def test_the_probe_refuses_a_file_system_without_hard_links(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(source))

    monkeypatch.setattr(os, "link", no_links)

    with pytest.raises(StoreUnusable, match="file system has hard links"):
        store.probe()


def test_a_source_that_is_missing_is_the_callers_mistake(
    store: ObjectStore, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        store.put_file_if_absent("a", tmp_path / "never")


def test_a_folder_that_comes_and_goes_never_reads_as_an_object(
    store: ObjectStore, folder: Path
) -> None:
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            with contextlib.suppress(OSError):
                os.mkdir(folder / "shared")
            with contextlib.suppress(OSError):
                os.rmdir(folder / "shared")

    colleague = threading.Thread(target=come_and_go)
    colleague.start()
    try:
        for number in range(60):
            # A folder that goes a hundred times in one write is another matter.
            with contextlib.suppress(StoreUnavailable):
                store.put_if_absent(f"shared/{number}", b"")
            store.delete([f"shared/{number}"])
    finally:
        is_over.set()
        colleague.join()
