"""`segplane dev` and `serve` where something was killed before or while they start."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from dataplane.readiness import is_serving
from segplane.stack import preflight
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Stack
from segplane.stack.postgres import SUPERUSER
from segplane.stack.run_lock import RunLock
from tests.support.process_tree import children_of, command_of, is_alive
from tests.support.waiting import wait_until


@contextmanager
def serving(settings: StackSettings) -> Iterator["subprocess.Popen[str]"]:
    """Run a `segplane dev --meta-only`."""
    arguments = ("--data-dir", str(settings.data_dir), "--meta-port", str(settings.meta_port))
    process = subprocess.Popen(
        [sys.executable, "-m", "segplane", "dev", "--meta-only", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_until(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stdout is not None
    assert any(text in line for line in process.stdout), f"it ended without saying {text!r}"


@pytest.mark.long
def test_a_start_waits_for_the_ports_of_a_killed_predecessor(prepared: StackSettings) -> None:
    port = preflight.claim_ports({"--meta-port": 0})["--meta-port"]
    prepared = replace(prepared, meta_port=port)
    with serving(prepared) as killed:
        read_until(killed, "meta ready")
        (meta,) = (pid for pid in children_of(killed.pid) if "-m meta" in command_of(pid))
        os.kill(meta, signal.SIGSTOP)
        try:
            killed.kill()
            killed.wait()

            with serving(prepared) as successor:
                read_until(successor, "waiting for the processes of a killed run to end")
                os.kill(meta, signal.SIGCONT)
                read_until(successor, "meta ready")

                assert is_serving(prepared.meta_address)
                assert not is_alive(meta)
        finally:
            if is_alive(meta):
                os.kill(meta, signal.SIGKILL)


def test_a_lock_tells_a_killed_run_from_one_that_ended(settings: StackSettings) -> None:
    settings.data_dir.mkdir()
    first, second, third, fourth = (RunLock(settings.data_dir) for _ in range(4))

    assert not first.take()
    assert not second.take(), "a run that goes on is not a killed one"
    second.release()
    first.release()
    assert not third.take()
    (settings.data_dir / "run.lock").rename(settings.data_dir / "held")
    (settings.data_dir / "run.lock").write_text("4711\n")
    assert fourth.take()


@pytest.mark.long
def test_a_start_waits_for_a_postgres_in_recovery(prepared: StackSettings) -> None:
    """As long as it is told to: here until somebody promotes it."""
    environment = {**prepared.inherited, "META_DATABASE_WAIT_SECS": "300"}
    prepared = replace(prepared, inherited=environment)
    with Stack(prepared, lambda _: None, parts=()) as stack:
        cluster = stack.settings.data_dir / "postgres" / "cluster"
        meta_log = stack.log_dir / "meta.log"
    (cluster / "standby.signal").touch()
    lines_before = len(meta_log.read_text().splitlines())
    stack = Stack(prepared, lambda _: None, parts=())

    def promote_it() -> None:
        wait_until(
            lambda: any(
                "in recovery" in line for line in meta_log.read_text().splitlines()[lines_before:]
            ),
            "meta waits for the database",
        )
        socket = (cluster / "postmaster.pid").read_text().splitlines()[4]
        with psycopg.connect(f"host={socket} user={SUPERUSER} dbname=postgres") as connection:
            connection.execute("SELECT pg_promote(true, 60)")

    promoter = threading.Thread(target=promote_it)
    promoter.start()
    with stack:
        promoter.join()
        assert is_serving(stack.settings.meta_address)
        assert stack.children["meta"].restarts == 0


@pytest.mark.slow
def test_a_meta_that_is_killed_before_the_token_is_made_is_started_again(
    settings: StackSettings,
) -> None:
    events: list[str] = []

    def report(line: str) -> None:
        if line.startswith("meta ready") and not any("meta died" in event for event in events):
            pid = stack.children["meta"].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
        events.append(line)

    stack = Stack(settings, report, parts=(COLLECTOR,))
    with stack:
        assert stack.token.startswith("it_")
        assert is_serving(stack.settings.otlp_grpc_address)

    assert "meta died (signal SIGKILL), starting it again in 1 s" in events
