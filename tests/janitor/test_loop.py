"""The schedule, and the process from its start to SIGTERM."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from janitor import config
from janitor.config import Settings
from janitor.jobs import Tools
from janitor.loop import AGAIN_SECS, Job, repeat, run_once, schedule
from meta.errors import DeletionHeld, Unavailable
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.metrics_address import MetricsAddress
from meta.process.shutdown import Shutdown
from meta.self_report import Progress
from segments.errors import StoreUnusable
from segments.location import StoreLocation
from tests.support.meta.server import MetaServer


@pytest.mark.parametrize(
    "error", [Unavailable("away"), StoreUnusable("gone"), ZeroDivisionError()], ids=repr
)
def test_a_job_that_fails_is_tried_again(tools: Tools, error: Exception) -> None:
    rounds = 0

    def fail_twice(tools: Tools) -> None:
        nonlocal rounds
        rounds += 1
        if rounds <= 2:
            raise error
        tools.shutdown.request()

    repeat(Job("failing", 0.001, fail_twice), lambda: tools, tools.shutdown)

    assert rounds == 3


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (None, ""),
        (Unavailable("away"), "away"),
        (StoreUnusable("no bucket"), "no bucket"),
        (ZeroDivisionError("x"), "ZeroDivisionError('x')"),
        # An operator's decision, which `segplane deletion plan` and `segplane why` show.
        (DeletionHeld("deletion is held"), ""),
    ],
    ids=repr,
)
def test_a_run_returns_why_it_failed(tools: Tools, error: Exception | None, failure: str) -> None:
    def run(tools: Tools) -> None:
        if error is not None:
            raise error

    assert run_once(Job("a job", 1, run), lambda: tools) == failure


class NotedRests(Shutdown):
    """Notes each rest and what is reported then, without waiting."""

    def __init__(self, progress: Progress, rests: int) -> None:
        super().__init__()
        self.noted: list[tuple[float | None, list[str]]] = []
        self._progress, self._rests = progress, rests

    def wait(self, seconds: float | None = None) -> bool:
        self.noted.append((seconds, self._progress.failures()))
        if len(self.noted) == self._rests:
            self.request()
        return self.is_requested


def test_a_failed_job_runs_again_soon_and_is_reported_if_it_fails_twice_in_a_row(
    tools: Tools,
) -> None:
    outcomes = [Unavailable("away"), None, Unavailable("away"), Unavailable("still"), None]

    def run(tools: Tools) -> None:
        if error := outcomes.pop(0):
            raise error

    progress = Progress()
    shutdown = NotedRests(progress, len(outcomes))
    repeat(Job("sweep", 3_600.0, run), lambda: tools, shutdown, progress)

    assert shutdown.noted == [
        (AGAIN_SECS, []),
        (3_600.0, []),
        (AGAIN_SECS, []),
        (3_600.0, ["sweep: still"]),
        (3_600.0, []),
    ]
    assert progress.last[1] == "sweep"


def test_a_failed_job_is_logged_under_the_field_names_of_this_release_and_the_last(
    tools: Tools,
) -> None:
    def fail(tools: Tools) -> None:
        raise Unavailable("away")

    with capture_logs() as events:
        run_once(Job("failing", 1, fail), lambda: tools)

    (event,) = events
    assert event["event"] == "chore_failed"
    assert event["job"] == "failing"


def test_every_job_has_its_interval() -> None:
    settings = Settings(
        merge_interval_secs=1,
        deletion_interval_secs=2,
        orphan_interval_secs=3,
        upload_interval_secs=4,
        scrub_interval_secs=5,
        footer_interval_secs=6,
        clock_interval_secs=7,
        vacuum_interval_secs=8,
    )

    assert {job.name: job.interval_secs for job in schedule(settings)} == {
        "plan_merges": 1,
        "delete_tombstoned": 2,
        "delete_table_metadata": 2,
        "collect_orphans": 3,
        "forget_streams": 3,
        "abort_uploads": 4,
        "scrub": 5,
        "read_footers": 6,
        "measure_clocks": 7,
        "carry_out_vacuums": 8,
    }


def test_settings_are_read_by_their_names() -> None:
    values = {
        "JANITOR_MERGE_INTERVAL_SECS": "1",
        "JANITOR_DELETION_INTERVAL_SECS": "2",
        "JANITOR_ORPHAN_INTERVAL_SECS": "3",
        "JANITOR_SCRUB_BYTES_PER_SEC": "4",
        "JANITOR_SCRUB_PASS_SECS": "5",
        "JANITOR_META_ADDRESS": "meta:9500",
        "JANITOR_OBJECT_STORE_URL": "s3://bucket",
        "JANITOR_METRICS_HOST": "0.0.0.0",
        "JANITOR_METRICS_PORT": "9100",
    }

    settings = config.load(Environment("JANITOR_", values))

    assert settings == Settings(
        merge_interval_secs=1,
        deletion_interval_secs=2,
        orphan_interval_secs=3,
        scrub_bytes_per_sec=4,
        scrub_pass_secs=5,
        meta_address="meta:9500",
        object_store=StoreLocation.from_url("s3://bucket"),
        metrics=MetricsAddress("0.0.0.0", 9100),
    )
    assert config.load(Environment("JANITOR_", {})) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MERGE_INTERVAL_SECS", "0"),
        ("SCRUB_PASS_SECS", "-1"),
        ("SCRUB_PASS_SECS", "a day"),
        ("OBJECT_STORE_URL", "ftp://bucket"),
        ("METRICS_PORT", "70000"),
    ],
)
def test_a_malformed_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"JANITOR_{name}"):
        config.load(Environment("JANITOR_", {f"JANITOR_{name}": value}))


@contextmanager
def janitor(**settings: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {f"JANITOR_{name}": value for name, value in settings.items()}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "janitor"],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(process: "subprocess.Popen[str]", event: str) -> str:
    """Read the log up to an event; the process is killed, and its log ends, after a minute."""
    assert process.stderr is not None
    deadline = threading.Timer(60, process.kill)
    deadline.start()
    lines = []
    try:
        for line in process.stderr:
            lines.append(line)
            if event in line:
                return line
    finally:
        deadline.cancel()
    raise AssertionError(f"no {event} in: {''.join(lines)}")


def test_the_process_ends_on_sigterm_after_its_step(meta_server: MetaServer) -> None:
    with janitor(META_ADDRESS=meta_server.address) as process:
        wait_for(process, "janitor_started")
        process.send_signal(signal.SIGTERM)

        wait_for(process, "janitor_stopped")
        assert process.wait(30) == 0


@pytest.mark.long
def test_the_process_waits_for_meta() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Bound but not listening: nobody answers.
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with janitor(META_ADDRESS=address) as process:
            wait_for(process, "waiting_for_meta")
            process.send_signal(signal.SIGTERM)

            assert process.wait(60) == 0


def test_a_store_that_cannot_serve_ends_the_process_with_one_line(
    meta_server: MetaServer, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    url = (tmp_path / "file" / "objects").as_uri()

    with janitor(META_ADDRESS=meta_server.address, OBJECT_STORE_URL=url) as process:
        line = wait_for(process, "error: ")
        assert "cannot hold objects" in line
        assert process.wait(30) == 2


def test_a_malformed_setting_ends_the_process_with_one_line() -> None:
    with janitor(MERGE_INTERVAL_SECS="soon") as process:
        assert wait_for(process, "error: ").startswith("error: JANITOR_MERGE_INTERVAL_SECS")
        assert process.wait(30) == 2
