"""Costs of this process: charged where work is done, and settled before a report.

There is one accumulator a process, as there is one set of metrics: CPU time and requests are known
of the process as a whole.
"""

import threading
import time

from dataplane.costs.accumulator import Accumulator, Work
from dataplane.costs.spent import Spent, cpu_micros_of, spent_now

COSTS = Accumulator()
charge = COSTS.charge
charge_task = COSTS.charge_task


class Meter:
    """Meter of the resources that the process spent since the last time; safe for many threads."""

    def __init__(self, costs: Accumulator) -> None:
        self._costs = costs
        self._lock = threading.Lock()
        self._spent, self._at = Spent(), 0.0
        # CPU time of children whose time counts as that of this process, as it was seen last.
        self._children: dict[int, int] = {}
        self._children_micros = 0

    def settle(self, work: Work) -> None:
        """Charge what was spent since the last time; `work` is the kind of idle time.

        The first time is the start of the process, whose CPU time is idle.
        """
        with self._lock:
            now, at = self._now(), time.monotonic()
            secs = at - self._at if self._at else 0.0
            self._costs.settle(work, now.since(self._spent), secs)
            self._spent, self._at = now, at

    def include(self, process_id: int) -> None:
        """Count the CPU time of a child as that of this process, until it ends."""
        with self._lock:
            self._children[process_id] = 0

    def exclude(self, process_id: int) -> None:
        """Look at a child for the last time, before its end is waited for."""
        with self._lock:
            self._look(process_id)
            self._children.pop(process_id, None)

    def _now(self) -> Spent:
        for process_id in tuple(self._children):
            self._look(process_id)
        spent = spent_now()
        cpu_micros = spent.cpu_micros + self._children_micros
        return Spent(cpu_micros, spent.read_requests, spent.write_requests)

    def _look(self, process_id: int) -> None:
        before = self._children.get(process_id)
        if before is not None:
            # One that has ended is not there any more.
            now = max(before, cpu_micros_of(process_id))
            self._children_micros += now - before
            self._children[process_id] = now


METER = Meter(COSTS)
