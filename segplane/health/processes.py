"""Judgement of the processes of an installation by what they report."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from meta.client import MetaClient
from meta.self_report import RENEWAL_NANOS, SILENT_SECS, Validity
from meta.v1 import status_pb2 as pb

PAGE = 1_000
SECOND = 10**9
SILENT_NANOS = SILENT_SECS * SECOND
# A process that ended, or was replaced, is of interest for a while.
SHOWN_NANOS = 3_600 * SECOND
# Longest time without progress of processes that poll; a merge may take an hour.
STALLED_NANOS = {"nursery": 600 * SECOND, "janitor": 3_600 * SECOND}
SKEW_NANOS = 5 * SECOND
# A call is repeated for so long while no meta answers, with the report of its begin.
REPORT_AGE_NANOS = 30 * SECOND
# Without one of these, acknowledged records do not come to readers, or nothing is compacted.
REQUIRED = ("nursery", "merge_worker", "janitor")


class ProcessState(StrEnum):
    """ProcessState of a process."""

    REPORTS = "reports"
    SILENT = "stopped reporting"
    ENDED = "ended"
    REPLACED = "replaced"


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
    listed = list(processes)
    states = _with_replaced(listed, [_state(process, now_nanos) for process in listed])
    each = [
        Judged(process, state, tuple(_troubles(process, state, now_nanos)))
        for process, state in zip(listed, states, strict=True)
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


def _with_replaced(
    processes: Sequence[pb.Process], states: Sequence[ProcessState]
) -> list[ProcessState]:
    """Return states in which each process that came has replaced at most one that died before.

    That is one of its name if there is any, else another one of its kind.
    """
    replaced, came = set[int](), set(range(len(processes)))
    for attributes in (("kind", "name"), ("kind",)):
        groups: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
        for number, process in enumerate(processes):
            key = tuple(getattr(process.report, attribute) for attribute in attributes)
            dead, new = groups.setdefault(key, ([], []))
            if states[number] is ProcessState.SILENT and number not in replaced:
                dead.append(number)
            if number in came:
                new.append(number)
        for dead, new in groups.values():
            dead.sort(key=lambda number: processes[number].last_seen_nanos, reverse=True)
            for number in sorted(new, key=lambda number: processes[number].first_seen_nanos):
                first_seen_nanos = processes[number].first_seen_nanos
                if dead and processes[dead[-1]].last_seen_nanos < first_seen_nanos:
                    replaced.add(dead.pop())
                    came.remove(number)
    return [
        ProcessState.REPLACED if number in replaced else state
        for number, state in enumerate(states)
    ]


def _state(process: pb.Process, now_nanos: int) -> ProcessState:
    """Return the state of a process by its reports, not by those of others."""
    if process.report.is_ending:
        return ProcessState.ENDED
    if now_nanos - process.last_seen_nanos < SILENT_NANOS:
        return ProcessState.REPORTS
    if not process.report.clock_nanos:
        # One of 0.3.0 does not say that it ends.
        return ProcessState.ENDED
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
    since_nanos = report.progress_at_nanos or report.started_at_nanos
    idle_nanos = report.clock_nanos - since_nanos if since_nanos else 0
    if idle_nanos > STALLED_NANOS.get(report.kind, idle_nanos):
        last = f"the last was: {report.progress}" if report.progress_at_nanos else "since its start"
        yield f"no progress for {span(idle_nanos)}, {last}"
    if process.clock_skew_nanos > SKEW_NANOS:
        yield f"its clock is {span(process.clock_skew_nanos)} ahead of the database's"
    if process.clock_skew_nanos < -SKEW_NANOS - REPORT_AGE_NANOS:
        yield f"its clock is {span(-process.clock_skew_nanos)} behind the database's"
    certificate = Validity(report.certificate_begins_at_nanos, report.certificate_ends_at_nanos)
    token_ends_at = process.credential_ends_at_nanos
    # One of a day is replaced in the second half of the day.
    token_half = (token_ends_at - report.credential_begins_at_nanos) // 2
    for name, ends_at, due_at in (
        ("certificate", certificate.ends_at_nanos, certificate.renewal_due_nanos),
        ("access token", token_ends_at, token_ends_at - min(RENEWAL_NANOS, token_half)),
    ):
        if ends_at and now_nanos > due_at:
            nanos = ends_at - now_nanos
            yield f"its {name} " + (f"ends in {span(nanos)}" if nanos > 0 else "has ended")


def tenths(nanos: int) -> str:
    """Write a length of time, below a minute with a digit after the point, as in 2.9 s."""
    return span(nanos) if nanos >= 60 * SECOND else f"{nanos / SECOND:.1f} s"


def span(nanos: int) -> str:
    """Write a length of time in its two largest units, as in 3 h 20 min."""
    seconds = max(0, nanos) // SECOND
    for unit, size, smaller, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60)):
        if seconds >= size:
            parts = seconds % size // part
            return f"{seconds // size} {unit}" + (f" {parts} {smaller}" if parts else "")
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"
