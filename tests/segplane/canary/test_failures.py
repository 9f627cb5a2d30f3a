"""A canary whose collector, dataset or state file fails."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prometheus_client import REGISTRY

from segplane.__main__ import app
from segplane.cli.canary.probes import CanaryProbe, Patience, ProbeReport
from segplane.cli.canary.readers import GatewayReader
from segplane.cli.canary.run import Canary, CanaryPlan
from segplane.cli.canary.state_file import CanaryState, StateFile
from segplane.cli.delivery import DeliveryFailed, OtlpTarget, send
from tests.support.waiting import wait_until

_HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
_CUT = b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{}"


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """Answer every connection with the same bytes; gives the address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection:
                    request = b""
                    while not request.endswith(b"}"):
                        request += connection.recv(65_536)
                    if request.startswith(b"END"):
                        return
                    connection.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            with socket.create_connection(server.getsockname()) as last:
                last.sendall(b"END}")
            thread.join()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["canary", "--token", "x", "--count", "1", *arguments])


@pytest.mark.parametrize(
    "reply",
    [
        _HEAD + b"<html>",
        _HEAD + b"[1]",
        _HEAD + b'{"partialSuccess": "all"}',
        _HEAD + b'{"partialSuccess": {"rejectedLogRecords": [1]}}',
        _CUT % b"400 Bad Request",
        pytest.param(_CUT % b"200 OK", marks=pytest.mark.long),
        pytest.param(b"SSH-2.0\r\n\r\n", marks=pytest.mark.long),
    ],
)
def test_a_reply_that_is_not_of_otlp_is_a_failed_delivery(reply: bytes) -> None:
    with (
        answering(reply) as endpoint,
        pytest.raises(DeliveryFailed, match=r"the collector (answers|at)"),
    ):
        send(OtlpTarget(endpoint, "x"), "run", range(1))


def test_a_canary_names_a_record_whose_reply_is_not_of_otlp_and_goes_on() -> None:
    with answering(_HEAD + b"<html>") as endpoint:
        refused = run("--endpoint", endpoint)

    assert refused.exit_code == 1
    assert "refused: record 0 sent at" in refused.stdout
    assert "1 sent: 1 refused" in refused.stdout
    assert "requests to the store while records are merged within 8 s\n" in refused.stdout


def test_a_canary_whose_state_cannot_be_written_says_so_once_and_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "missing" / "state"
    with answering(_HEAD + b"<html>") as endpoint:
        done = run("--endpoint", endpoint, "--state", str(state))

    assert "1 sent: 1 refused" in done.stdout
    assert done.stderr.count("cannot write") == 1


def state_of(folder: Path, sent_at_nanos: int) -> Path:
    """Write the state of a canary that follows one record."""
    path = folder / "state"
    probe = CanaryProbe(0, sent_at_nanos, {"acknowledged": 0.1})
    StateFile(path).write(CanaryState("run", 1, (probe,), sent_at_nanos))
    return path


def test_a_record_is_unread_once_readings_fail_for_the_timeout() -> None:
    with answering(_HEAD + b"{}") as endpoint:
        done = run(
            *("--endpoint", endpoint, "--gateway", "http://127.0.0.1:1"),
            *("--late", "1", "--timeout", "1"),
        )

    assert done.exit_code == 1
    assert "1 sent: 1 unread" in done.stdout
    assert "acknowledged after" in done.stdout
    assert "the dataset could not be read for 1 s" in done.stdout


def test_a_canary_that_is_stopped_while_readings_fail_has_failed(tmp_path: Path) -> None:
    state = StateFile(state_of(tmp_path, time.time_ns() - 61 * 10**9))
    reader = GatewayReader("canary", "http://127.0.0.1:1", "")
    reports: list[ProbeReport] = []
    plan = CanaryPlan(3_600.0, 0, Patience(60.0, 60.0))
    canary = Canary(OtlpTarget("", ""), reader, plan, reports.append, state)
    stopped = threading.Event()
    before = read_failures()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(canary.run, stopped)
        wait_until(lambda: read_failures() > before, "a reading fails")
        assert not reports
        stopped.set()
    summary = running.result()

    assert [report.result for report in reports] == ["unread"]
    assert (summary.has_failed, summary.followed) == (True, 0)
    assert json.loads(state.path.read_text())["followed"] == []


def read_failures() -> float:
    return REGISTRY.get_sample_value("segplane_canary_read_failures_total") or 0.0
