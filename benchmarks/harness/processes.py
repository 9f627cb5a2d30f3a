"""Process trees of contenders: their CPU time, and stopping those that do not take part."""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class _Ticks:
    """User and system time of a process, and of its children that have ended."""

    parent: int
    own: int
    of_children: int

    @property
    def total(self) -> int:
        return self.own + self.of_children


def tree(root: int) -> list[int]:
    """The process and all that it started, while they run."""
    # Not from task/*/children: a JVM's threads end while they are listed, and take children along.
    children = defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        if fields := _fields(path):
            children[int(fields[1])].append(int(path.parent.name))
    found = [root]
    # Grows while it is walked: children of children follow.
    for pid in found:
        found.extend(children[pid])
    return found


def cpu_seconds(root: int) -> float:
    """CPU seconds, user and system, of a process and all that it started."""
    found = map(_ticks_of, tree(root))
    return sum(ticks.total for ticks in found if ticks) / _TICKS_PER_SEC


def exact_cpu_seconds(root: int) -> float:
    """CPU seconds of a process and all that it started and that runs, by their own clocks.

    The kernel counts them in nanoseconds, where those of `cpu_seconds` are 10 ms apart.
    """
    nanos = 0
    for pid in tree(root):
        with suppress(OSError):
            # The id of the clock of another process, as clock_getcpuclockid makes it.
            nanos += time.clock_gettime_ns(~pid << 3 | 2)
    return nanos / 1e9


def own_cpu_seconds(pid: int) -> float:
    """CPU seconds, user and system, of a process without those that it started."""
    ticks = _ticks_of(pid)
    return 0.0 if ticks is None else ticks.own / _TICKS_PER_SEC


class TreeClock:
    """CPU seconds of a process and all that it started, those of children nobody waited for too.

    A parent that ignores SIGCHLD, as PySpark's daemon does, loses the time of a child that ends:
    its time at the last reading stays counted.
    """

    def __init__(self, root: int) -> None:
        self._root, self._lost_ticks = root, 0
        self._seen: dict[int, _Ticks] = {}

    def __call__(self) -> float:
        """Return the CPU seconds so far."""
        now = {pid: ticks for pid in tree(self._root) if (ticks := _ticks_of(pid)) is not None}
        gone = defaultdict[int, int](int)
        for pid in self._seen.keys() - now.keys():
            gone[self._seen[pid].parent] += self._seen[pid].total
        for parent in gone.keys() & now.keys() & self._seen.keys():
            waited_for = now[parent].of_children - self._seen[parent].of_children
            self._lost_ticks += max(0, gone[parent] - waited_for)
        self._seen = now
        return (sum(ticks.total for ticks in now.values()) + self._lost_ticks) / _TICKS_PER_SEC


@contextmanager
def stopped(roots: Iterable[int]) -> Iterator[None]:
    """Stop process trees while the block runs, so that they take no CPU."""
    pids = [pid for root in roots for pid in tree(root)]
    _send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(pids, signal.SIGCONT)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _ticks_of(pid: int) -> _Ticks | None:
    fields = [int(field) for field in _fields(Path(f"/proc/{pid}/stat"))[1:15]]
    return _Ticks(fields[0], sum(fields[10:12]), sum(fields[12:])) if fields else None


def _fields(path: Path) -> list[str]:
    """Return the fields of a process from its state on; none once it has ended."""
    with suppress(OSError):
        # The name may hold spaces and brackets; the fields follow its last bracket.
        return path.read_text().rpartition(")")[2].split()
    return []
