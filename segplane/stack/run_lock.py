"""Lock of a data folder, which tells the next run of a stack how the last one ended."""

import contextlib
import fcntl
import os
from pathlib import Path


class RunLock:
    """One run of a stack in its data folder: held from `take` to `release`.

    The file holds the run's process id until it ends as it should. The lock is ours alone: the
    children of a killed run do not inherit it and may still be ending.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "run.lock"
        self._file: int | None = None

    @property
    def is_held(self) -> bool:
        """True while this run holds the folder."""
        return self._file is not None

    def take(self) -> bool:
        """Begin a run; true if the last one was killed.

        A folder where another run continues is left to it: its database and its ports refuse us.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._file = file
        was_killed = os.fstat(file).st_size > 0
        os.truncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        return was_killed

    def release(self) -> None:
        """End the run, with all its processes; safe to call twice."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.truncate(file, 0)
            os.close(file)
