"""Notices when files of certificates or secrets are written or replaced."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path


class FileChanges:
    """Compares files with how they were at the last look; safe for many threads.

    It looks at most every `check_secs`. A file that is missing differs from any that is there.
    """

    def __init__(
        self,
        paths: Sequence[str | Path],
        check_secs: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths = paths
        self._check_secs = check_secs
        self._clock = clock
        self._lock = threading.Lock()
        self._looked_at = clock()
        self._seen = self._identity()

    def have_happened(self) -> bool:
        """True if a file was written or replaced since the last look; said once."""
        if self._clock() - self._looked_at < self._check_secs:
            return False
        with self._lock:
            self._looked_at = self._clock()
            identity = self._identity()
            has_changed = identity != self._seen
            self._seen = identity
            return has_changed

    def _identity(self) -> object:
        try:
            return [(s.st_mtime_ns, s.st_size, s.st_ino) for s in map(os.stat, self._paths)]
        except OSError as error:
            return str(error)
