"""segplane canary against a real collector, nursery and gateway."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from segplane.__main__ import app
from segplane.stack.config import StackSettings
from segplane.stack.dev import COLLECTOR, GATEWAY, Stack
from tests.support.nursery.merging import merging
from tests.support.waiting import wait_until


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["canary", *arguments])


def arguments_of(stack: Stack) -> list[str]:
    """Options that name a stack and a token for its dataset canary."""
    where = ["--meta-address", stack.settings.meta_address]
    made = run("--create", *where)
    assert made.exit_code == 0, made.output
    endpoint = f"http://127.0.0.1:{stack.settings.otlp_http_port}"
    return [*where, "--endpoint", endpoint, "--token", made.stdout.strip()]


def events(text: str) -> list[dict[str, Any]]:
    """The lines of JSON; the nursery of the test logs to the same output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.long
def test_records_are_followed_directly_and_through_a_gateway(prepared: StackSettings) -> None:
    with Stack(prepared, print, parts=(COLLECTOR, GATEWAY)) as stack:
        where = arguments_of(stack)
        again = run("--create", *where[:2])
        with merging(stack):
            direct = run(*where, "--every", "1", "--count", "3", "--json")
            gateway = ["--gateway", f"http://{stack.settings.gateway_bind}"]
            through = run(*where, *gateway, "--every", "1", "--count", "2", "--json")
            people = run(*where, "--count", "1")
        lost = run(*where, "--count", "1", "--late", "2", "--timeout", "2")

    assert again.exit_code == 1
    assert direct.exit_code == through.exit_code == 0, direct.output + through.output
    begun, *records, summary = events(direct.stdout)
    assert begun["a_day"]["exports"] == 86_400
    assert [record["result"] for record in records] == ["arrived"] * 3
    assert list(summary["percentiles"]) == ["acknowledged", "visible", "merged"]
    assert (summary["ok"], summary["sent"], summary["read_failures"]) == (True, 3, 0)
    summary = events(through.stdout)[-1]
    assert summary["measured"].startswith("visible is merged")
    assert list(summary["percentiles"]) == ["acknowledged", "visible"]
    assert "1 sent: 1 arrived" in people.stdout
    assert lost.exit_code == 1
    assert "lost: record 0 sent at" in lost.stdout
    assert "visible, and not merged within 2 s" in lost.stdout


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "segplane", "canary", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.long
def test_a_killed_canary_is_continued_and_sigterm_ends_it_with_its_summary(
    prepared: StackSettings, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with Stack(prepared, print, parts=(COLLECTOR,)) as stack:
        where = [*arguments_of(stack), "--state", str(state), "--every", "1", "--json"]
        with process(*where):
            wait_until(
                lambda: state.exists() and len(json.loads(state.read_text())["followed"]) > 1,
                "records are followed",
            )
        followed = len(json.loads(state.read_text())["followed"])
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with merging(stack), process(*where, "--metrics-port", str(port)) as canary:
            wait_until(
                lambda: not json.loads(state.read_text())["followed"], "the records are judged"
            )
            with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                exposed = answer.read().decode()
            canary.send_signal(signal.SIGTERM)
            output = canary.communicate()[0]

    _, *records, summary = events(output)
    assert [record["number"] for record in records][:followed] == [*range(followed)]
    assert {record["result"] for record in records} == {"arrived"}
    assert (canary.returncode, summary["ok"]) == (0, True)
    assert 'segplane_canary_records_total{result="arrived"}' in exposed


def test_what_is_missing_or_wrong_is_refused_in_a_line(tmp_path: Path) -> None:
    broken = tmp_path / "state"
    broken.write_text('{"run": 1}')

    assert run().exit_code == 2
    assert run("--token", "x", "--late", "9", "--timeout", "8").exit_code == 2
    assert run("--token", "x", "--every", "0.9").exit_code == 2
    many = run("--token", "x", "--every", "2", "--timeout", "1001")
    assert many.exit_code == 2
    assert "at most 1000, or a longer --every" in many.stderr
    most = run("--token", "x", "--every", "2", "--timeout", "1000", "--state", str(broken))
    assert most.exit_code == 1
    unreadable = run("--token", "x", "--state", str(broken))
    assert unreadable.exit_code == 1
    assert "is not the state of a canary" in unreadable.stderr


def test_a_refused_record_is_named_and_fails_the_run() -> None:
    refused = run("--token", "x", "--count", "1", "--endpoint", "file:///nowhere")

    assert refused.exit_code == 1
    assert "refused: record 0 sent at" in refused.stdout
    assert "is not an http:// or https:// address" in refused.stdout
