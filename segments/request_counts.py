"""Number of requests that this process made to object stores, by whether they read or write."""

import threading
from typing import NamedTuple


class RequestCounts(NamedTuple):
    """Requests since the start of the process.

    Lists count as writes, which they cost. Deletions, which are free, are not counted.
    """

    reads: int = 0
    writes: int = 0


_lock = threading.Lock()
_reads = _writes = 0


def count_read() -> None:
    """Count a request that reads an object or its size."""
    global _reads
    with _lock:
        _reads += 1


def count_writes(number: int = 1) -> None:
    """Count requests that write an object or a part of one, or list objects."""
    global _writes
    with _lock:
        _writes += number


def request_counts() -> RequestCounts:
    """Return the requests until now."""
    with _lock:
        return RequestCounts(_reads, _writes)
