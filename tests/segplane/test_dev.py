"""`segplane dev` and `serve` without Spark: starts, crashes, restarts, and what goes wrong."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from dataplane.readiness import is_serving
from meta.v1 import nursery_pb2
from segplane.__main__ import app
from segplane.stack import config
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, Interrupted, Stack
from segplane.stack.preflight import NotReady
from tests.support.process_tree import children_of, is_alive
from tests.support.waiting import wait_until

DEADLINE_SECS = 60.0
FREE_PORTS = tuple(
    part
    for name in ("meta", "otlp-grpc", "otlp-http", "gateway")
    for part in (f"--{name}-port", "0")
)


def test_records_token_and_stream_outlast_restarts(settings: StackSettings) -> None:
    with _stack(settings) as stack:
        token = stack.token
        _send_log(stack)
        assert _committed(stack) == 1
        assert stack.settings.token_path.stat().st_mode & 0o777 == 0o600

    with _stack(settings) as stack:
        assert stack.token == token
        assert [stream.stopped_offset for stream in _streams(stack)] == [1], "ended by the stop"
        _send_log(stack)
        stack.settings.token_path.write_text("it_lost\n")

    with _stack(settings) as stack:
        assert stack.token not in ("it_lost", token), "a lost token is replaced"
        _send_log(stack)


@pytest.mark.long
def test_a_meta_with_an_auth_token_is_used_by_all(prepared: StackSettings) -> None:
    guarded = replace(prepared, inherited={**prepared.inherited, "META_AUTH_TOKEN": "secret"})

    with _stack(guarded) as stack:
        _send_log(stack)
        address = stack.settings.meta_address
        environment = {"SEGPLANE_META_ADDRESS": address}
        listed = ["datasets", "list"]
        done = CliRunner().invoke(app, listed, env=environment)
        environment["SEGPLANE_META_AUTH_TOKEN"] = "secret"
        allowed = CliRunner().invoke(app, listed, env=environment)

    assert (done.exit_code, allowed.exit_code) == (1, 0)
    assert done.stderr.endswith("(UNAUTHENTICATED)\n")


def test_a_killed_meta_comes_back_and_takes_records(prepared: StackSettings) -> None:
    events: list[str] = []
    with _stack(prepared, report=events.append) as stack:
        pid = stack.children["meta"].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        wait_until(
            lambda: stack.children["meta"].pid not in (None, pid),
            "meta to be started again",
            tick=stack.check,
        )
        wait_until(
            lambda: is_serving(stack.settings.meta_address), "meta to serve", tick=stack.check
        )

        _send_log(stack)
    assert "meta died (signal SIGKILL), starting it again in 1 s" in events


@pytest.mark.long
def test_a_killed_postgres_comes_back_under_the_same_url(prepared: StackSettings) -> None:
    with _stack(prepared, parts=()) as stack:
        pid = int((stack.settings.data_dir / "postgres/cluster/postmaster.pid").open().readline())
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_serving(stack.settings.meta_address), "meta to be away")

        wait_until(
            lambda: is_serving(stack.settings.meta_address), "meta to serve", tick=stack.check
        )


def test_a_start_can_be_interrupted(settings: StackSettings) -> None:
    with pytest.raises(Interrupted):
        Stack(settings, print, lambda: True, parts=()).__enter__()

    assert not (settings.data_dir / "postgres/cluster/postmaster.pid").exists()


@pytest.mark.slow
def test_two_stacks_in_one_folder_are_refused(prepared: StackSettings) -> None:
    with _stack(prepared, parts=()):
        done = _segplane(
            "dev", "--meta-only", "--data-dir", str(prepared.data_dir), "--meta-port", "0"
        )

    assert done.returncode == 2
    assert done.stderr.startswith("error: another segplane process uses")


def test_a_taken_port_is_refused_before_anything_starts(settings: StackSettings) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        port = listener.getsockname()[1]

        done = _segplane(
            "dev", "--meta-only", "--data-dir", str(settings.data_dir), "--meta-port", str(port)
        )

    assert done.returncode == 2
    assert f"port {port} cannot be opened" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (settings.data_dir / "postgres").exists()


def test_a_wrong_setting_of_a_process_is_reported_in_one_line(prepared: StackSettings) -> None:
    done = _segplane("dev", "--meta-only", *_folder(prepared), META_THREADS="many")

    assert done.returncode == 2
    assert done.stderr == "error: META_THREADS is 'many', not a whole number\n"


def test_a_start_in_production_names_all_refused_settings_before_it_makes_anything(
    settings: StackSettings,
) -> None:
    done = _segplane(
        "dev", "--meta-only", *_folder(settings), SEGPLANE_PROFILE="production", META_AUDIT_SECS="1"
    )

    assert done.returncode == 2
    for name in ("META_TLS_CERT_FILE", "META_REQUIRE_AUTHENTICATION", "META_AUDIT_SECS"):
        assert name in done.stderr
    assert "META_DATABASE_URL" not in done.stderr, "the embedded one is a socket"
    assert not settings.data_dir.exists() or not any(settings.data_dir.iterdir())


def test_a_start_names_the_refused_settings_of_all_its_processes(settings: StackSettings) -> None:
    wrong = {"META_THREADS": "many", "GATEWAY_DRAIN_SECS": "long", "NURSERY_DRAIN_SECS": "short"}

    done = _segplane("dev", "--data-dir", str(settings.data_dir), *FREE_PORTS, **wrong)

    assert done.returncode == 2
    assert all(name in done.stderr for name in wrong), done.stderr
    assert not settings.data_dir.exists() or not any(settings.data_dir.iterdir())


@pytest.mark.long
def test_an_unreachable_database_is_reported_in_one_line(settings: StackSettings) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"

    done = _segplane(
        "dev", "--meta-only", *_folder(settings), "--database-url", url, META_DATABASE_WAIT_SECS="0"
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: meta: Postgres at ")


def test_serve_stops_on_ctrl_c_and_leaves_no_process(prepared: StackSettings) -> None:
    with _serving(prepared) as (process, pids):
        process.send_signal(signal.SIGINT)

        assert process.wait(DEADLINE_SECS) == 0
        assert not any(map(is_alive, pids))


@pytest.mark.long
def test_a_killed_serve_leaves_no_process(prepared: StackSettings) -> None:
    with _serving(prepared) as (process, pids):
        process.kill()
        process.wait()

        wait_until(lambda: not any(map(is_alive, pids)), "all processes to end")


@pytest.mark.long
def test_migrate_says_the_revision(settings: StackSettings) -> None:
    done = _segplane("migrate", "--data-dir", str(settings.data_dir))

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("schema is at revision ")


def test_a_data_folder_that_is_a_file_is_refused(settings: StackSettings) -> None:
    settings.data_dir.write_text("")

    with pytest.raises(NotReady, match="choose another data folder"):
        _stack(settings).__enter__()


def _stack(
    settings: StackSettings,
    parts: tuple[str, ...] = (COLLECTOR,),
    report: Callable[[str], None] = print,
) -> Stack:
    return Stack(settings, report, parts=parts)


def _send_log(stack: Stack) -> None:
    """Send one record; raises unless it is acknowledged."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano = time.time_ns()
    headers = {
        "content-type": "application/x-protobuf",
        "authorization": f"Bearer {stack.token}",
    }
    url = f"{stack.settings.otlp_http_url}/v1/logs"
    with urlopen(Request(url, request.SerializeToString(), headers), timeout=30) as reply:
        assert reply.status == 200


def _streams(stack: Stack) -> Sequence[nursery_pb2.IngestStreamInfo]:
    """Streams that have begun."""
    with stack.connect() as client:
        reply = client.nursery.GetIngestStreamsForNursery(nursery_pb2.GetIngestStreamsRequest())
    return [stream for stream in reply.streams if stream.committed_offset >= 0]


def _committed(stack: Stack) -> int:
    return sum(stream.committed_offset + 1 for stream in _streams(stack))


def _folder(settings: StackSettings) -> tuple[str, ...]:
    return ("--data-dir", str(settings.data_dir), "--meta-port", "0")


def _segplane(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "segplane", *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECS,
        env=config.inherited_environment() | environment,
        check=False,
    )


@contextmanager
def _serving(settings: StackSettings) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    """Run a meta alone until it is ready; gives it and the processes that it started."""
    process = subprocess.Popen(
        [sys.executable, "-m", "segplane", "dev", "--meta-only", *_folder(settings)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert any("meta ready" in line for line in process.stdout)
        children = children_of(process.pid)
        assert len(children) == 2
        yield process, children
    finally:
        process.kill()
        process.wait()
