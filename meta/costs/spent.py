"""Resources that this process has spent, and those that one function takes."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from segments.request_counts import request_counts

Item = TypeVar("Item")
Result = TypeVar("Result")


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


def spent_so_far() -> Spent:
    """Return what this process has spent since its start, without its children."""
    requests = request_counts()
    return Spent(time.process_time_ns() // 1_000, requests.reads, requests.writes)


def measured(function: Callable[[Item], Result], item: Item) -> Measured[Result]:
    """Call a function in a process that does nothing else meanwhile, such as that of a task."""
    before = spent_so_far()
    result = function(item)
    return Measured(result, spent_so_far().since(before))
