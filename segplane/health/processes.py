"""Judgement of the processes of an installation by what they report."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from meta.client import MetaClient
from meta.self_report import SILENT_SECS
from meta.v1 import status_pb2 as pb

PAGE = 1_000
SECOND = 10**9
SILENT_NANOS = SILENT_SECS * SECOND
# A process that ended, or was started again, is of interest for a while.
SHOWN_NANOS = 3_600 * SECOND
# Longest time without progress of processes that poll; a merge may take an hour.
STALLED_NANOS = {"nursery": 600 * SECOND, "janitor": 3_600 * SECOND}
SKEW_NANOS = 5 * SECOND
ENDS_SOON_NANOS = 14 * 86_400 * SECOND
# Without one of these, acknowledged records do not come to readers, or nothing is compacted.
REQUIRED = ("nursery", "merge_worker", "janitor")


class ProcessState(StrEnum):
    """ProcessState of a process."""

    REPORTS = "reports"
    SILENT = "stopped reporting"
    ENDED = "ended"
    REPLACED = "started again"


@dataclass(frozen=True, slots=True)
class Judged:
    """A process, its state, and why a person has to act; times are the database's."""

    process: pb.Process
    state: ProcessState
    troubles: Sequence[str]

    @property
    def title(self) -> str:
        """Its kind and name."""
        return f"{self.process.report.kind} {self.process.report.name}"


@dataclass(frozen=True, slots=True)
class Status:
    """The processes of an installation, and all that needs a person."""

    processes: Sequence[Judged]
    needs: Sequence[str]
    now_nanos: int

    @property
    def headline(self) -> str:
        """One line: whether anything needs a person."""
        number = sum(each.state is ProcessState.REPORTS for each in self.processes)
        reporting = f"{number} process{'' if number == 1 else 'es'} report{'s' * (number == 1)}"
        if not self.needs:
            return f"ok: {reporting}, nothing needs a person"
        things = "1 thing needs" if len(self.needs) == 1 else f"{len(self.needs)} things need"
        return f"{things} a person; {reporting}"


def read_status(client: MetaClient) -> Status:
    """Read and judge the processes that meta knows; raises MetaError."""
    request, processes = pb.ListProcessesRequest(limit=PAGE), list[pb.Process]()
    while True:
        reply = client.status.ListProcesses(request)
        processes += reply.processes
        if not reply.next_cursor:
            return judged(processes, reply.database_time_nanos)
        request.after = reply.next_cursor


def judged(processes: Iterable[pb.Process], now_nanos: int) -> Status:
    """Judge processes at a time of the database."""
    by_name: dict[tuple[str, str], list[pb.Process]] = {}
    for process in processes:
        by_name.setdefault((process.report.kind, process.report.name), []).append(process)
    each = [
        Judged(process, state, tuple(_troubles(process, state, now_nanos)))
        for same in by_name.values()
        for process in same
        for state in [_state(process, same, now_nanos)]
    ]
    needs = [
        f"{judgement.title}: {trouble}" for judgement in each for trouble in judgement.troubles
    ]
    reporting = {
        judgement.process.report.kind
        for judgement in each
        if judgement.state is ProcessState.REPORTS
    }
    needs += [f"no {kind} reports" for kind in REQUIRED if kind not in reporting]
    return Status(each, needs, now_nanos)


def is_shown(judgement: Judged, now_nanos: int) -> bool:
    """Whether a process is of interest now."""
    is_over = judgement.state in (ProcessState.ENDED, ProcessState.REPLACED)
    return not is_over or now_nanos - judgement.process.last_seen_nanos < SHOWN_NANOS


def _state(process: pb.Process, same: Sequence[pb.Process], now_nanos: int) -> ProcessState:
    """Return the state of one of the processes with the same kind and name."""
    if process.report.is_ending:
        return ProcessState.ENDED
    if now_nanos - process.last_seen_nanos < SILENT_NANOS:
        return ProcessState.REPORTS
    if any(other.first_seen_nanos > process.last_seen_nanos for other in same):
        return ProcessState.REPLACED
    return ProcessState.SILENT


def _troubles(process: pb.Process, state: ProcessState, now_nanos: int) -> Iterator[str]:
    report = process.report
    if state is ProcessState.SILENT:
        yield f"stopped reporting {span(now_nanos - process.last_seen_nanos)} ago"
    if state is not ProcessState.REPORTS:
        return
    for check in report.checks:
        if not check.is_ok:
            yield f"{check.name}: {check.text}"
    idle_nanos = report.clock_nanos - report.progress_at_nanos
    if report.progress_at_nanos and idle_nanos > STALLED_NANOS.get(report.kind, idle_nanos):
        yield f"no progress for {span(idle_nanos)}, the last was: {report.progress}"
    if abs(process.clock_skew_nanos) > SKEW_NANOS:
        side = "ahead of" if process.clock_skew_nanos > 0 else "behind"
        yield f"its clock is {span(abs(process.clock_skew_nanos))} {side} the database's"
    for name, ends_at in (
        ("certificate", report.certificate_ends_at_nanos),
        ("credential", process.credential_ends_at_nanos),
    ):
        if ends_at and ends_at - now_nanos < ENDS_SOON_NANOS:
            nanos = ends_at - now_nanos
            yield f"its {name} " + (f"ends in {span(nanos)}" if nanos > 0 else "has ended")


def span(nanos: int) -> str:
    """Write a length of time in its two largest units, as in 3 h 20 min."""
    seconds = max(0, nanos) // SECOND
    for unit, size, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60)):
        if seconds >= size:
            parts = seconds % size // part
            return f"{seconds // size} {unit}" + (f" {parts} {smaller}" if parts else "")
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"
