"""Reports of processes: kept in memory as they come, and written together once a minute.

    report --> this server's memory --(a minute)--> one statement --> processes
                     |                                                   |
                     +-------------------> a list <----------------------+

No report waits for a write. A list has the reports to this server at once, and those to the others
a minute later. A report stays in memory for a minute after it was written: a list may read a
snapshot from before the write.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from meta.commits.server_costs import ServerCosts
from meta.commits.transactions import Transactions
from meta.errors import InvalidArgument, MetaError
from meta.self_report import SILENT_SECS, SelfReport
from meta.store.engine.pool import Transaction
from meta.store.status import processes
from meta.store.status.processes import PROCESSES_MAX, ProcessKey, ReportedProcess
from meta.store.versions import clock
from meta.v1.status_pb2 import ProcessReport

log = structlog.get_logger()
SAVED_EVERY_SECS = 60.0
# Processes of a kind that a look at their last reports takes.
LATEST_MAX = 100
# The subject of a server itself; no credential has it.
SERVER_SUBJECT = ""
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class KindReports:
    """The last reports of processes of a kind, in the order of their keys."""

    processes: Sequence[ReportedProcess] = ()

    @property
    def seen_nanos(self) -> int:
        """The time of the last report by the database's clock; 0 = there is none."""
        return max((process.last_seen_nanos for process in self.processes), default=0)

    def running(self, now_nanos: int) -> list[ProcessReport]:
        """Return the reports of processes that report at a time and have not ended."""
        since_nanos = now_nanos - SILENT_SECS * 10**9
        return [
            ProcessReport.FromString(process.report)
            for process in self.processes
            if process.last_seen_nanos > since_nanos and not process.is_ended
        ]


class ProcessReports:
    """The reports that came since they were written last; safe for many threads."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        # This server; None before it serves.
        self.server: SelfReport | None = None
        self.costs = ServerCosts(transactions)
        self._lock = threading.Lock()
        # By subject, the processes by key; those that reported last are last.
        self._reported: dict[str, dict[ProcessKey, ReportedProcess]] = {}
        self._number = 0
        # Those of them that were written last.
        self._written: Sequence[ReportedProcess] = ()
        # Why reports were dropped, as the log has it.
        self._reasons = set[str]()

    def add(self, process: ReportedProcess) -> None:
        """Keep a report. Beyond the bound it displaces one of the subject that has most."""
        with self._lock:
            mine = self._reported.setdefault(process.subject, {})
            former = mine.pop(process.key, None)
            mine[process.key] = process if former is None else process.joined(former)
            if former is None:
                self._number += 1
                if self._number > PROCESSES_MAX:
                    self._displace()

    def drop(self, subject: str, error: MetaError) -> None:
        """Note that a report of a subject cannot be kept; each reason is logged once."""
        reason = error.field if isinstance(error, InvalidArgument) else error.reason
        if reason not in self._reasons:
            log.warning("process_report_dropped", subject=subject, error=error.message)
        self._reasons.add(reason)

    def save(self) -> bool:
        """Write what came since the last time, and the server itself; False if there is nothing."""
        report = None if self.server is None else self.server.message()
        if report is not None:
            now = self._transactions.read(clock.now_nanos)
            self.add(reported_process(report, now, SERVER_SUBJECT))
        with self._lock:
            written = set(map(id, self._written))
            waiting = [process for process in self._all() if id(process) not in written]

        def work(tx: Transaction) -> None:
            processes.save(tx, waiting)
            processes.prune(tx, clock.now_nanos(tx))

        if waiting:
            self._transactions.write(work)
        with self._lock:
            for process in self._written:
                if self._reported.get(process.subject, {}).get(process.key) is process:
                    self._remove(process.key)
            self._written = waiting
        return bool(waiting)

    def page(self, tx: Transaction, after: ProcessKey, most: int) -> list[ReportedProcess]:
        """Return the processes behind a key, with what is not written yet."""
        written = processes.page(tx, after, most)
        with self._lock:
            came = [process for process in self._all() if process.key > after]
        return _joined([*written, *came])[:most]

    def of_kind(self, tx: Transaction, kind: str) -> KindReports:
        """Return the last reports of a kind, with those that are not written yet."""
        written = processes.latest(tx, kind, LATEST_MAX)
        with self._lock:
            came = [process for process in self._all() if process.kind == kind]
        return KindReports(_joined([*written, *came]))

    def _all(self) -> Iterable[ReportedProcess]:
        return (process for mine in self._reported.values() for process in mine.values())

    def _displace(self) -> None:
        subject = max(self._reported, key=lambda each: len(self._reported[each]))
        self._remove(next(iter(self._reported[subject])))

    def _remove(self, key: ProcessKey) -> None:
        mine = self._reported[key.subject]
        del mine[key]
        if not mine:
            del self._reported[key.subject]
        self._number -= 1


def reported_process(
    report: ProcessReport, now: int, subject: str, *, credential_ends_at_nanos: int = 0
) -> ReportedProcess:
    """Return the process of a report that came at a time of the database."""
    return ReportedProcess(
        kind=report.kind,
        name=report.name,
        started_at_nanos=report.started_at_nanos,
        subject=subject,
        report=report.SerializeToString(),
        is_ended=report.is_ending,
        clock_skew_nanos=_int64(report.clock_nanos - now) if report.clock_nanos else 0,
        credential_ends_at_nanos=_int64(credential_ends_at_nanos),
        first_seen_nanos=now,
        last_seen_nanos=now,
    )


def _int64(number: int) -> int:
    return max(-_INT64_MAX, min(number, _INT64_MAX))


def _joined(reported: Iterable[ReportedProcess]) -> list[ReportedProcess]:
    """Return each process once, in the order of keys."""
    by_key: dict[ProcessKey, ReportedProcess] = {}
    for process in reported:
        former = by_key.get(process.key)
        by_key[process.key] = process if former is None else process.joined(former)
    return [by_key[key] for key in sorted(by_key)]
