"""Folders for unfinished output, each locked by its owner so that a dead one's can be removed."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

_PREFIX = "segplane-merge-"
_LOCK = "lock"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a folder, remove it afterwards, and before that those of processes that were killed."""
    remove_abandoned(parent)
    folder = Path(mkdtemp(prefix=_PREFIX, dir=parent))
    try:
        with (folder / "new-lock").open("xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Only now may others look at it: found unlocked, it would count as abandoned.
            (folder / "new-lock").rename(folder / _LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> int:
    """Remove folders whose owner is gone; returns how many.

    A folder without a lock file is just being made or removed by its owner: it is left alone.
    """
    removed = 0
    for folder in parent.glob(f"{_PREFIX}*"):
        # Somebody else's folder, or one that another process removes at this moment.
        with suppress(OSError), (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock.fileno()).st_nlink:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed
