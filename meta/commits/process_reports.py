"""Reports of processes: kept in memory as they come, and written together once a minute.

    report --> this server's memory --(a minute)--> one statement --> processes
                     |                                                   |
                     +-------------------> a list <----------------------+

No report waits for a write. A list has the reports to this server at once, and those to the others
after a minute.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import merge

from meta.commits.transactions import Transactions
from meta.store.engine.pool import Transaction
from meta.store.status import processes
from meta.store.status.processes import PROCESSES_MAX, ProcessKey, ReportedProcess
from meta.store.versions import clock

SAVED_EVERY_SECS = 60.0


class ProcessReports:
    """The reports that came since they were written last; safe for many threads."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        # Returns the report of this server at a time of the database; None before it serves.
        self.own: Callable[[int], ReportedProcess] | None = None
        self._lock = threading.Lock()
        # By subject, the processes by key; those that reported last are last.
        self._reported: dict[str, dict[ProcessKey, ReportedProcess]] = {}
        self._number = 0

    def add(self, process: ReportedProcess) -> None:
        """Keep a report. Beyond the bound it displaces one of the subject that has most."""
        with self._lock:
            mine = self._reported.setdefault(process.subject, {})
            former = mine.pop(process.key, None)
            if former is None:
                self._number += 1
                if self._number > PROCESSES_MAX:
                    self._displace()
            mine[process.key] = process

    def save(self) -> bool:
        """Write what came since the last time, and the server itself; False if there is nothing."""
        with self._lock:
            reported, self._reported, self._number = self._reported, {}, 0
        # Two subjects may name one process; the one that it belongs to is in the table.
        waiting = [list(mine.values()) for mine in reported.values()]
        if self.own is not None:
            waiting.append([self.own(self._transactions.read(clock.now_nanos))])

        def work(tx: Transaction) -> None:
            for batch in waiting:
                if batch:
                    processes.save(tx, batch)
            processes.prune(tx, clock.now_nanos(tx))

        if not any(waiting):
            return False
        self._transactions.write(work)
        return True

    def page(self, tx: Transaction, after: ProcessKey, most: int) -> list[ReportedProcess]:
        """Return the processes behind a key, with what is not written yet."""
        written = processes.page(tx, after, most)
        with self._lock:
            came = [p for mine in self._reported.values() for p in mine.values() if p.key > after]
        came.sort(key=lambda process: process.key)
        merged = list(_newest(merge(written, came, key=lambda process: process.key)))
        return merged[:most]

    def _displace(self) -> None:
        subject = max(self._reported, key=lambda each: len(self._reported[each]))
        mine = self._reported[subject]
        del mine[next(iter(mine))]
        self._number -= 1


def _newest(ordered: Iterator[ReportedProcess]) -> Iterator[ReportedProcess]:
    """Yield each process once: as it was reported last, by the subject that reported it first."""
    last: ReportedProcess | None = None
    for process in ordered:
        if last is None or process.key != last.key:
            if last is not None:
                yield last
            last = process
        elif process.subject == last.subject and process.last_seen_nanos > last.last_seen_nanos:
            last = replace(process, first_seen_nanos=last.first_seen_nanos)
    if last is not None:
        yield last
