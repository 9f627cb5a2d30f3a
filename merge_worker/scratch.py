"""Folders for unfinished output, each locked by its owner: an unlocked one is abandoned.

A folder also holds the progress of its merge. Only a worker on the same machine can read it:
progress is informational, and not worth a network port between executors and driver.
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
_PROGRESS_SECS = 1.0


@contextmanager
def scratch_folder(parent: Path, name: str = "") -> Iterator[Path]:
    """Create a folder, removed on exit; folders of killed processes are removed first."""
    remove_abandoned(parent)
    folder = Path(mkdtemp(prefix=f"{_PREFIX}{name}-", dir=parent))
    try:
        with (folder / "new-lock").open("xb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Renamed only once it is locked: an unlocked lock file marks an abandoned folder.
            (folder / "new-lock").rename(folder / _LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path) -> int:
    """Remove folders whose owner is dead; returns how many.

    A folder without a lock file is being created or removed by its owner, and is kept.
    """
    removed = 0
    for folder in parent.glob(f"{_PREFIX}*"):
        # The folder may be another user's, or another process may remove it at this moment.
        with suppress(OSError), (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock.fileno()).st_nlink:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def progress_writer(folder: Path) -> Callable[[int], None]:
    """Return a callback that writes the rows merged so far to the folder, at most once a second."""
    written_at = 0.0

    def write(rows: int) -> None:
        nonlocal written_at
        now = time.monotonic()
        if now - written_at >= _PROGRESS_SECS:
            written_at = now
            # Replaced atomically: a partly written number would read as a smaller one.
            (folder / "new-rows").write_text(str(rows))
            (folder / "new-rows").replace(folder / _ROWS)

    return write


def rows_done(parent: Path, name: str) -> int:
    """Return the progress in the scratch folder of this name; 0 if there is none here."""
    for folder in parent.glob(f"{_PREFIX}{name}-*"):
        # The folder may be removed at this moment, or belong to an earlier run of the task.
        with suppress(OSError):
            return int((folder / _ROWS).read_text())
    return 0
