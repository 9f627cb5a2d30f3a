"""Reports of processes: kept in memory as they come, and written together once a minute.

    report --> this server's memory --(a minute)--> one statement --> processes
                     |                                                   |
                     +-------------------> a list <----------------------+

No report waits for a write. A list has the reports to this server at once, and those to the others
after a minute.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge

from meta.commits.transactions import Transactions
from meta.self_report import SILENT_SECS
from meta.store.engine.pool import Transaction
from meta.store.status import processes
from meta.store.status.processes import PROCESSES_MAX, ProcessKey, ReportedProcess
from meta.store.versions import clock
from meta.v1.status_pb2 import ProcessReport

SAVED_EVERY_SECS = 60.0
# Processes of a kind that a look at their last reports takes.
LATEST_MAX = 100


@dataclass(frozen=True, slots=True)
class KindReports:
    """The last reports of processes of a kind, in the order of their keys."""

    processes: Sequence[ReportedProcess] = ()

    @property
    def seen_nanos(self) -> int:
        """The time of the last report by the database's clock; 0 = there is none."""
        return max((process.last_seen_nanos for process in self.processes), default=0)

    def running(self, now_nanos: int) -> list[ProcessReport]:
        """Return the reports of processes that report at a time and have not ended.

        Of the starts of a process the last one counts.
        """
        since_nanos = now_nanos - SILENT_SECS * 10**9
        last_starts = {process.name: process for process in self.processes}
        reports = [
            ProcessReport.FromString(process.report)
            for process in last_starts.values()
            if process.last_seen_nanos > since_nanos
        ]
        return [report for report in reports if not report.is_ending]


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

    def of_kind(self, tx: Transaction, kind: str) -> KindReports:
        """Return the last reports of a kind, with those that are not written yet."""
        reported = processes.latest(tx, kind, LATEST_MAX)
        with self._lock:
            came = [p for mine in self._reported.values() for p in mine.values()]
        reported += [process for process in came if process.kind == kind]
        return KindReports(list(_newest(iter(sorted(reported, key=lambda p: p.key)))))

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
