"""Resources that a process has spent, and those that one function takes."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from segments.request_counts import request_counts

Item = TypeVar("Item")
Result = TypeVar("Result")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds of CPU, and requests to the store."""

    cpu_micros: int = 0
    read_requests: int = 0
    write_requests: int = 0

    def since(self, before: "Spent") -> "Spent":
        """Return what was spent since an earlier moment."""
        return Spent(
            self.cpu_micros - before.cpu_micros,
            self.read_requests - before.read_requests,
            self.write_requests - before.write_requests,
        )


@dataclass(frozen=True, slots=True)
class Measured(Generic[Result]):
    """A result, and what it took."""

    result: Result
    spent: Spent


def spent_now() -> Spent:
    """Return what this process has spent since its start, without its children."""
    requests = request_counts()
    return Spent(time.process_time_ns() // 1_000, requests.reads, requests.writes)


def measured(function: Callable[[Item], Result], item: Item) -> Measured[Result]:
    """Call a function in a process that does nothing else meanwhile, such as that of a task."""
    before = spent_now()
    result = function(item)
    return Measured(result, spent_now().since(before))


def cpu_micros_of(process_id: int) -> int | None:
    """Return the CPU time of a process of this machine; None if it has ended."""
    with suppress(OSError, ValueError, IndexError):
        stat = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) * 1_000_000 // _TICKS
    return None
