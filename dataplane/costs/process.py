"""Costs of this process: charged where work is done, and settled before a report.

There is one accumulator a process, as there is one set of metrics: CPU time and requests are known
of the process as a whole.
"""

import threading
import time
from dataclasses import replace

from meta.costs.accumulator import Accumulator, Work
from meta.costs.cpu_time import cpu_micros_of
from meta.costs.spent import Spent, spent_so_far

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

    def _now(self) -> Spent:
        for process_id, before in tuple(self._children.items()):
            cpu_micros = cpu_micros_of(process_id)
            if cpu_micros is None:
                del self._children[process_id]
            else:
                self._children_micros += max(0, cpu_micros - before)
                self._children[process_id] = cpu_micros
        spent = spent_so_far()
        return replace(spent, cpu_micros=spent.cpu_micros + self._children_micros)


METER = Meter(COSTS)
