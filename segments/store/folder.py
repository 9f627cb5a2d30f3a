"""Objects as files of a folder, each complete before its name exists."""

import contextlib
import io
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from segments.errors import (
    ObjectExists,
    ObjectMissing,
    StoreError,
    StoreUnavailable,
    StoreUnusable,
)
from segments.keys import check_key
from segments.location import StoreLocation
from segments.self_checks import StoreUse, store_used
from segments.store.interface import ObjectInfo
from segments.store.probe import probe_put_if_absent

TEMPORARY_FOLDER = ".tmp"
# A delete may remove a parent folder just before a write links into it; each retry needs such luck.
LINK_TRIES = 100
# Linux takes as many in one call.
WRITEV_PIECES = 1024


@dataclass(frozen=True, slots=True)
class FolderStore:
    """The object store over one folder of a file system that has hard links."""

    location: StoreLocation

    @property
    def root(self) -> Path:
        """The folder."""
        return Path("/" + self.location.path)

    def put_if_absent(self, key: str, *pieces: bytes | memoryview) -> None:
        """Write an object unless the key has one."""
        self._put(key, lambda temporary: _write_whole(temporary, pieces))

    def put_file_if_absent(self, key: str, path: Path) -> None:
        """Write a local file's content as an object unless the key has one."""
        # Copied, not linked: the caller's file may be written again, an object never is.
        with path.open("rb") as source:
            self._put(key, lambda temporary: _copy(source, temporary))

    def get(self, key: str) -> bytes:
        """Read an object whole."""
        with self._opened(key) as file:
            return file.read()

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Read bytes from start on; fewer than length only at the object's end."""
        with self._opened(key) as file:
            file.seek(start)
            return file.read(length)

    def head(self, key: str) -> ObjectInfo:
        """Read an object's size and time."""
        with self._opened(key) as file:
            return _info(key, os.fstat(file.fileno()))

    def list(self, prefix: str, start_after: str = "") -> Iterator[ObjectInfo]:
        """List objects by key, in the order of their bytes."""
        folder, slash, _ = prefix.rpartition("/")
        if slash and _holds_no_key(folder):
            return iter(())
        with store_used(self.location, StoreUse.LIST):
            self._require_root()
        return self._walk(folder + slash, prefix, start_after)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects and the folders that this leaves empty."""
        # Deletions are not synced: a crash brings an object back as an orphan, which is collected.
        paths = [self._path(key) for key in keys]
        with store_used(self.location, StoreUse.DELETE):
            for path in paths:
                try:
                    path.unlink()
                except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    self._require_root()
                except OSError as error:
                    raise _refused(error) from error
                self._remove_empty(path.parent)

    def open_input(self, key: str) -> io.IOBase:
        """Open an object as a seekable binary file."""
        return self._opened(key)

    def probe(self) -> None:
        """Create the folder if need be and prove that hard links never overwrite."""
        if not hasattr(os, "link"):
            raise StoreUnusable("this system has no hard links; use an s3:// store")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            probe_put_if_absent(self)
        except (OSError, StoreError) as error:
            raise StoreUnusable(
                f"folder {self.root} cannot hold objects ({error}): "
                "check that it can be written and that its file system has hard links"
            ) from error

    def now_nanos(self) -> int:
        """The file system's clock, which a network drive has of its own."""
        try:
            self._make_folder(self.root / TEMPORARY_FOLDER)
            with tempfile.TemporaryFile(dir=self.root / TEMPORARY_FOLDER) as file:
                return os.fstat(file.fileno()).st_mtime_ns
        except OSError as error:
            raise _refused(error) from error

    def abort_stale_uploads(self, prefix: str, started_before_nanos: int) -> int:  # noqa: ARG002
        """Remove old temporary files under any prefix: their names do not show their objects."""
        stale = 0
        for entry in _scan(self.root / TEMPORARY_FOLDER):
            try:
                if entry.stat(follow_symlinks=False).st_mtime_ns < started_before_nanos:
                    os.unlink(entry.path)
                    stale += 1
            except FileNotFoundError:
                continue  # Its writer has just finished.
        return stale

    def _path(self, key: str) -> Path:
        check_key(key)
        if key.split("/", 1)[0] == TEMPORARY_FOLDER:
            raise ValueError(f"object key {key!r} lies in the store's own {TEMPORARY_FOLDER}")
        return self.root / key

    def _opened(self, key: str) -> io.BufferedReader:
        path = self._path(key)
        with store_used(self.location, StoreUse.READ):
            try:
                return path.open("rb")
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
                self._require_root()
                raise ObjectMissing(f"no object {key}") from error
            except OSError as error:
                raise _refused(error) from error

    def _require_root(self) -> None:
        # An unmounted disk must not read as a store without objects, nor be written beneath.
        if not self.root.is_dir():
            raise StoreUnusable(f"folder {self.root} is missing: mount it or create it")

    def _put(self, key: str, write: Callable[[Path], None]) -> None:
        with store_used(self.location, StoreUse.WRITE):
            self._put_new(key, write)

    def _put_new(self, key: str, write: Callable[[Path], None]) -> None:
        path = self._path(key)
        # It is in the folder of the objects, so that link(2) stays in one file system.
        temporary = self.root / TEMPORARY_FOLDER / uuid.uuid4().hex
        try:
            self._make_folder(temporary.parent)
            try:
                write(temporary)
                self._link(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except FileExistsError as error:
            raise ObjectExists(f"object {key} exists") from error
        except OSError as error:
            raise _refused(error) from error

    def _link(self, temporary: Path, path: Path) -> None:
        for tries_left in reversed(range(LINK_TRIES)):
            try:
                self._make_folder(path.parent)
                os.link(temporary, path)
                _sync_folder(path.parent)
                return
            except FileNotFoundError:
                if not tries_left or not temporary.exists():
                    raise

    def _make_folder(self, folder: Path) -> None:
        self._require_root()
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for step in reversed(missing):
            # exist_ok would look again whether it is a folder. Another process that has just
            # emptied it may remove it in between, which must not be taken for the object's
            # existence.
            with contextlib.suppress(FileExistsError):
                step.mkdir()
            _sync_folder(step.parent)

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.root:
            try:
                folder.rmdir()
            except OSError:
                return  # Not empty, or a colleague was first.
            folder = folder.parent

    def _walk(self, folder: str, prefix: str, start_after: str) -> Iterator[ObjectInfo]:
        after = os.fsencode(start_after)
        entries: list[tuple[bytes, str, os.DirEntry[str] | None]] = []
        for entry in _scan(self.root / folder):
            if entry.is_dir(follow_symlinks=False):
                below = folder + entry.name + "/"
                if below != TEMPORARY_FOLDER + "/" and _may_hold(below, prefix, after):
                    entries.append((os.fsencode(below), below, None))
            elif entry.is_file(follow_symlinks=False):
                key = folder + entry.name
                if key.startswith(prefix) and os.fsencode(key) > after:
                    entries.append((os.fsencode(key), key, entry))
        # A folder sorts by its name with the slash, as the keys below it do.
        for _, name, listed in sorted(entries, key=lambda item: item[0]):
            if listed is None:
                yield from self._walk(name, prefix, start_after)
                continue
            try:
                yield _info(name, listed.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue  # Deleted since the folder was read.


def _info(key: str, stat: os.stat_result) -> ObjectInfo:
    return ObjectInfo(key, stat.st_size, stat.st_mtime_ns)


def _scan(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _refused(error) from error


def _may_hold(folder: str, prefix: str, after: bytes) -> bool:
    name = os.fsencode(folder)
    within = folder.startswith(prefix) or prefix.startswith(folder)
    return within and (name > after or after.startswith(name))


def _holds_no_key(folder: str) -> bool:
    parts = folder.split("/")
    return parts[0] == TEMPORARY_FOLDER or any(part in ("", ".", "..") for part in parts)


def _write_whole(path: Path, pieces: Sequence[bytes | memoryview]) -> None:
    # Joining them would hold up all other threads; one call a piece would wait for them each time.
    remaining = [memoryview(piece) for piece in pieces if len(piece)]
    with path.open("xb", buffering=0) as file:
        while remaining:
            written = os.writev(file.fileno(), remaining[:WRITEV_PIECES])
            while remaining and written >= len(remaining[0]):
                written -= len(remaining.pop(0))
            if written:
                remaining[0] = remaining[0][written:]
        os.fsync(file.fileno())


def _copy(source: BinaryIO, path: Path) -> None:
    with path.open("xb") as writer:
        shutil.copyfileobj(source, writer, 1 << 20)
        writer.flush()
        os.fsync(writer.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(error: OSError) -> StoreError:
    if isinstance(error, PermissionError):
        return StoreUnusable(f"no permission for {error.filename}: check the folder's owner")
    if isinstance(error, NotADirectoryError):
        return StoreError("an object exists where the key has a folder")
    return StoreUnavailable(f"file system answered {error.strerror or error}")
