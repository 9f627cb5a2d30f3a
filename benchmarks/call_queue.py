"""A simulation of calls that share commits: callers, event loops, batches and the database.

It says what a machine with cores for every process would do, which two cores cannot measure. Times
are those of one call and one batch on a quiet machine. Each process has its own event loop,
which takes `call_secs` for a call that returns. Commits flush side by side; registrations take
turns at the counter, from the statement that draws the version to the end of the flush.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.harness.results import Result, compare
from meta.commits.group_commit import GATHER_CALLS, GATHER_SECS_MAX, GATHER_SECS_PER_CALL

SIMULATED_SECS = 5.0


@dataclass(frozen=True, slots=True)
class CallQueue:
    """`own_secs` of a batch's time in the database are side by side, `serial_secs` in turn.

    `is_gathering`: the queue waits for the callers of the batch before, also when it is empty.
    """

    callers: int
    call_secs: float
    batch_secs: float
    own_secs: float
    serial_secs: float = 0.0
    processes: int = 1
    is_gathering: bool = True


COMMITS = CallQueue(64, call_secs=0.0002, batch_secs=0.0005, own_secs=0.002)
REGISTRATIONS = CallQueue(
    64, call_secs=0.0003, batch_secs=0.002, own_secs=0.0015, serial_secs=0.0025
)


class _Process:
    """One server process: its loop, and the calls that wait in its queue."""

    def __init__(self, callers: int) -> None:
        self.waiting = callers
        self.loop_free = 0.0
        self.is_running = False
        # The number of calls that the gathering queue waits for, 0 = it does not gather.
        self.expected = 0
        self.batches = 0


class _Simulation:
    def __init__(self, queue: CallQueue) -> None:
        self._queue = queue
        self._processes = [
            _Process(queue.callers // queue.processes) for _ in range(queue.processes)
        ]
        self._events: list[tuple[float, int, str, int, int]] = []
        self._counter_free = 0.0
        self._num_events = 0

    def per_second(self) -> float:
        """Calls answered per second."""
        answered = 0
        for number in range(len(self._processes)):
            self._begin(number, 0.0)
        while self._events[0][0] < SIMULATED_SECS:
            now, _, kind, number, value = heapq.heappop(self._events)
            process = self._processes[number]
            if kind == "returned":
                process.waiting += 1
                if not process.is_running or 0 < process.expected <= process.waiting:
                    self._begin(number, now)
            elif kind == "answered":
                answered += value
                self._answer(number, now, value)
            elif process.expected and value == process.batches:
                self._begin(number, now)
        return answered / SIMULATED_SECS

    def _begin(self, number: int, now: float) -> None:
        """Begin a batch of all calls that wait; ends the work if there is none."""
        process, queue = self._processes[number], self._queue
        size, process.waiting, process.expected = process.waiting, 0, 0
        process.is_running = size > 0
        if not size:
            return
        process.batches += 1
        process.loop_free = max(process.loop_free, now) + queue.batch_secs
        ended = process.loop_free + queue.own_secs
        if queue.serial_secs:
            ended = self._counter_free = max(self._counter_free, ended) + queue.serial_secs
        self._push(ended, "answered", number, size)

    def _answer(self, number: int, now: float, size: int) -> None:
        process, queue = self._processes[number], self._queue
        for _ in range(size):
            process.loop_free = max(process.loop_free, now) + queue.call_secs
            self._push(process.loop_free, "returned", number)
        expected = min(size + process.waiting, GATHER_CALLS)
        is_idle = expected == 1 if queue.is_gathering else not process.waiting
        if is_idle or process.waiting >= expected:
            self._begin(number, now)
            return
        process.expected = expected if queue.is_gathering else queue.callers + 1
        secs = min(size * GATHER_SECS_PER_CALL, GATHER_SECS_MAX)
        self._push(now + secs, "gathered", number, process.batches)

    def _push(self, when: float, kind: str, number: int, value: int = 0) -> None:
        self._num_events += 1
        heapq.heappush(self._events, (when, self._num_events, kind, number, value))


def run() -> list[Result]:
    """Simulate each queue; nothing is measured."""
    return [*_gathering(), *_processes()]


def _gathering() -> Iterator[Result]:
    for callers in (1, 4, 16, 64):
        queue = replace(COMMITS, callers=callers)
        yield compare(
            f"queue_of_{callers}_callers",
            _Simulation(queue).per_second(),
            _Simulation(replace(queue, is_gathering=False)).per_second(),
            reference_name="the first caller that returns begins a batch",
            unit="simulated commits/s, flush of 2 ms",
            bar=1.0,
        )


def _processes() -> Iterator[Result]:
    for name, queue in {"commits": COMMITS, "registrations": REGISTRATIONS}.items():
        queue = replace(queue, callers=256)
        alone = _Simulation(queue).per_second()
        for processes in (2, 4):
            yield compare(
                f"queue_of_{name}_in_{processes}_processes",
                _Simulation(replace(queue, processes=processes)).per_second(),
                alone,
                reference_name="one process",
                unit=f"simulated {name}/s of {queue.callers} callers, a core for each process",
            )
