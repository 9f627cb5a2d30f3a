"""Process trees of contenders: their CPU time, and stopping those that do not take part."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The process and all that it started, while they run."""
    found = [root]
    # Grows while it is walked: children of children follow. A process may end meanwhile.
    for pid in found:
        with suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found.extend(map(int, (task / "children").read_text().split()))
    return found


def cpu_seconds(root: int) -> float:
    """CPU seconds, user and system, of a process and all that it started."""
    return sum(map(_ticks, tree(root))) / _TICKS_PER_SEC


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


def _ticks(pid: int) -> int:
    """User and system time, of children that have ended as well."""
    with suppress(OSError):
        # The name may hold spaces and brackets; the fields follow its last bracket.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0
