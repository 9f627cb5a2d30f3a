"""Folders for unfinished output, each locked by its owner so that a dead one's can be removed.

A folder also holds how far its merge is. Only a worker on the same machine sees that: progress is
for people, and not worth a port of its own between executors and driver.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

_PREFIX = "segplane-merge-"
_LOCK = "lock"
_ROWS = "rows"
_NOTE_SECS = 1.0


@contextmanager
def scratch_folder(parent: Path, name: str = "") -> Iterator[Path]:
    """Make a folder, remove it afterwards, and before that those of processes that were killed."""
    remove_abandoned(parent)
    folder = Path(mkdtemp(prefix=f"{_PREFIX}{name}-", dir=parent))
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


def note_rows(folder: Path) -> Callable[[int], None]:
    """Return what notes the rows merged so far in a scratch folder, at most once a second."""
    noted = 0.0

    def note(rows: int) -> None:
        nonlocal noted
        now = time.monotonic()
        if now - noted >= _NOTE_SECS:
            noted = now
            # Replaced whole: half a number would be a smaller one.
            (folder / "new-rows").write_text(str(rows))
            (folder / "new-rows").replace(folder / _ROWS)

    return note


def rows_done(parent: Path, name: str) -> int:
    """Return the rows that the scratch folder of this name notes; 0 if there is none here."""
    for folder in parent.glob(f"{_PREFIX}{name}-*"):
        # It may go at this moment, and the task may have been run before.
        with suppress(OSError):
            return int((folder / _ROWS).read_text())
    return 0
