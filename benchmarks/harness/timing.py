"""Times calls in turn, so that what else the machine does meets all of them alike."""

import statistics
import time
from collections.abc import Callable, Sequence


def interleaved(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The median time of each call in milliseconds, after one that is not counted."""
    times: list[list[float]] = [[] for _ in calls]
    for round_number in range(rounds + 1):
        for call, own in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            if round_number:
                own.append(1e3 * (time.perf_counter() - began))
    return [statistics.median(own) for own in times]


def least_cpu(
    calls: Sequence[Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """The least CPU time of each call in milliseconds, all threads of this process together.

    The calls take turns, after a first one each that is not counted. `clock` gives CPU seconds,
    where others than this process work too.
    """
    times: list[list[float]] = [[] for _ in calls]
    for round_number in range(rounds + 1):
        for call, own in zip(calls, times, strict=True):
            began = clock()
            call()
            if round_number:
                own.append(1e3 * (clock() - began))
    return [min(own) for own in times]
