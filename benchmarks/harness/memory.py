"""Samples what a process and all that it started keep in memory, from /proc."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.harness.processes import tree

_INTERVAL_SECS = 0.1
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class PeakMemory:
    """The largest sum of resident bytes of a process tree between enter and exit.

    Pages that processes share count once for each of them.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak_bytes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.peak_bytes = max(self.peak_bytes, resident_bytes(self._root))
            if self._stop.wait(_INTERVAL_SECS):
                return


def resident_bytes(root: int) -> int:
    """Return the resident bytes of a process and all that it started."""
    return sum(map(_resident, tree(root)))


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    return 0
