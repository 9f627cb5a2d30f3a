"""segplane status: real processes that report, end, and are killed."""

import json
import os
import signal
from collections.abc import Iterator

import psycopg
import pytest

from meta.client import MetaClient
from segplane.cli.commands.operate.status import screen
from segplane.health.processes import SILENT_NANOS
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until
from tests.support.worker_process import WorkerProcess

KINDS = ("nursery", "merge_worker", "janitor")


@pytest.fixture
def workers(meta_server: MetaServer) -> Iterator[dict[str, WorkerProcess]]:
    """Run one worker of each kind."""
    started = {}
    for kind in KINDS:
        prefix = kind.upper()
        environment = {
            f"{prefix}_META_ADDRESS": meta_server.address,
            f"{prefix}_PROCESS_NAME": f"{kind}-1",
        }
        started[kind] = WorkerProcess(kind, environment)
    yield started
    for process in started.values():
        process.close()


def test_status_says_which_processes_run_ended_and_died(
    meta_server: MetaServer, workers: dict[str, WorkerProcess], run: RunCommand
) -> None:
    def states() -> dict[str, str]:
        reply = json.loads(run("status", "--json").stdout)
        assert int(reply["database_time_nanos"]) > 0
        return {each["report"]["name"]: each["state"] for each in reply["processes"]}

    wait_until(lambda: len(states()) == len(KINDS), "all workers report")
    fine = run("status")
    assert fine.exit_code == 0, fine.stdout
    assert fine.stdout.splitlines()[0] == "ok: 3 processes report, nothing needs a person"
    checked = {tuple(line.split()[1:4]) for line in run("status", "--checks").stdout.splitlines()}
    assert {
        ("nursery-1", "disk", "ok"),
        ("merge_worker-1", "disk", "ok"),
        ("merge_worker-1", "store", "ok"),
    } <= checked

    workers["janitor"].ask_to_end()
    wait_until(lambda: states()["janitor-1"] == "ended", "the janitor reports its end")
    os.kill(workers["nursery"].pid, signal.SIGKILL)
    # As time would have it. A written report stays in memory until the next save.
    meta_server.running.reports.save()
    meta_server.running.reports.save()
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute(
            "UPDATE processes SET first_seen_nanos = first_seen_nanos - %(nanos)s,"
            " last_seen_nanos = last_seen_nanos - %(nanos)s WHERE kind = 'nursery'",
            {"nanos": SILENT_NANOS},
        )
    troubled = run("status")

    assert troubled.exit_code == 1
    assert troubled.stdout.splitlines()[:4] == [
        "3 things need a person; 1 process reports",
        "  - nursery nursery-1: stopped reporting 2 min ago",
        "  - no nursery reports",
        "  - no janitor reports",
    ]
    assert states() == {
        "janitor-1": "ended",
        "merge_worker-1": "reports",
        "nursery-1": "stopped reporting",
    }


def test_a_watch_goes_on_while_meta_does_not_answer_and_prints_no_json(run: RunCommand) -> None:
    with MetaClient("127.0.0.1:1", deadline_secs=0.1) as client:
        (line,) = screen(client)
    refused = run("status", "--watch", "--json")

    assert line.startswith("meta does not answer: ")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--watch" in refused.stderr


def test_an_empty_installation_says_what_is_missing(run: RunCommand) -> None:
    empty = run("status")

    assert empty.exit_code == 1
    assert empty.stdout.splitlines() == [
        "3 things need a person; 0 processes report",
        *(f"  - no {kind} reports" for kind in KINDS),
    ]
