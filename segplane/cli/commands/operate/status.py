"""segplane status: the processes of the installation, and what needs a person."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from segplane.cli.command import command, group
from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient
from segplane.cli.output import NONE, Answer, AsJson, message_dict, table
from segplane.cli.parameters import Option

if TYPE_CHECKING:
    from meta.v1 import status_pb2 as pb
    from segplane.health.processes import Judged, Status

app = group()
EVERY_SECS = 5.0
# Clears the screen and goes to its beginning.
_CLEAR = "\x1b[2J\x1b[H"


@command(app, "status")
def status(
    client: MetaClient,
    watch: Annotated[bool, Option("--watch", help="Show it again every 5 s until Ctrl-C.")] = False,
    every: Annotated[
        bool, Option("--all", help="Show also those that ended or were replaced long ago.")
    ] = False,
    checks: Annotated[
        bool, Option("--checks", help="Show also what each process found when it checked itself.")
    ] = False,
    as_json: AsJson = False,
) -> Answer:
    """Show each process of the installation, and whether anything needs a person.

    The first line says so, and the exit code is 1 if something does. Processes report every 30
    seconds, with their last progress, checks of their store, disk, memory, Java and Spark, their
    clock, and the ends of their certificate and credential. One that stopped reporting is listed
    for a week.
    """
    from segplane.health.processes import read_status

    if watch and as_json:
        raise usage("--watch shows a screen for people: it goes without --json")
    while watch:
        print(_CLEAR + "\n".join(screen(client, every=every, checks=checks)), flush=True)
        time.sleep(EVERY_SECS)
    state = read_status(client)
    lines = _lines(state, every=every, checks=checks)
    return Answer(_data(state), lines, exit_code=int(bool(state.needs)))


def screen(client: MetaClient, *, every: bool = False, checks: bool = False) -> list[str]:
    """Return the lines of now, or the error while meta does not answer."""
    from meta.errors import DeadlineExceeded, Unavailable
    from segplane.health.processes import read_status

    try:
        return list(_lines(read_status(client), every=every, checks=checks))
    except (DeadlineExceeded, Unavailable) as error:
        return [f"meta does not answer: {error.message} ({error.reason})"]


def _data(state: "Status") -> dict[str, object]:
    processes = [
        {"state": judged.state, "needs": list(judged.troubles), **message_dict(judged.process)}
        for judged in state.processes
    ]
    return {
        "ok": not state.needs,
        "needs": list(state.needs),
        "database_time_nanos": str(state.now_nanos),
        "processes": processes,
    }


def _lines(state: "Status", *, every: bool, checks: bool) -> Iterator[str]:
    from segplane.health.processes import is_shown

    yield state.headline
    for need in state.needs:
        yield f"  - {need}"
    shown = [judged for judged in state.processes if every or is_shown(judged, state.now_nanos)]
    if shown:
        yield ""
        headers = ("kind", "name", "release", "state", "seen", "running for", "last progress")
        yield from table(headers, (_row(judged, state.now_nanos) for judged in shown))
    rows = [
        (judged.process.report.kind, judged.process.report.name, check.name, _ok(check), check.text)
        for judged in shown
        for check in judged.process.report.checks
    ]
    if checks and rows:
        yield ""
        yield from table(("kind", "name", "check", "result", "finding"), rows)


def _ok(check: "pb.ProcessCheck") -> str:
    return "ok" if check.is_ok else "fails"


def _row(judged: "Judged", now_nanos: int) -> tuple[str, ...]:
    from segplane.health.processes import ProcessState, span

    process, report = judged.process, judged.process.report
    is_running = judged.state is ProcessState.REPORTS and report.started_at_nanos
    progress = NONE
    if report.progress:
        progress = (
            f"{report.progress}, {span(report.clock_nanos - report.progress_at_nanos)} before"
        )
    return (
        report.kind,
        report.name,
        report.release or NONE,
        judged.state,
        f"{span(now_nanos - process.last_seen_nanos)} ago",
        span(report.clock_nanos - report.started_at_nanos) if is_running else NONE,
        progress,
    )
