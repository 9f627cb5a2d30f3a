"""A disk of a test's own that can be filled: a file system in memory with a size."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

_CHUNK = b"\0" * 65_536


@dataclass(frozen=True)
class SmallDisk:
    """Its own mounted file system."""

    folder: Path

    def fill(self) -> None:
        """Leave no byte free."""
        filler = os.open(self._filler, os.O_WRONLY | os.O_CREAT)
        try:
            with suppress(OSError):
                while os.write(filler, _CHUNK):
                    pass
        finally:
            os.close(filler)

    def empty(self) -> None:
        """Free what was filled."""
        self._filler.unlink()

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"


@contextmanager
def small_disk(parent: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk below a folder; skips the test by name where that cannot be done."""
    folder = parent / "disk"
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder))
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no disk can be mounted here: it needs root")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)
