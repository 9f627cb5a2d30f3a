"""The commands against a real meta."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from segplane.__main__ import app

Run = Callable[..., Result]


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """Give a function that runs a command against the meta under test."""
    address = request.getfixturevalue("meta_server").address

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments, env={"SEGPLANE_META_ADDRESS": address})

    return invoke


def test_help_names_every_command() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout

    nouns = ("datasets", "tokens", "streams", "segments", "tasks", "stats")
    for command in ("dev", "demo", "serve", "migrate", "version", *nouns):
        assert f"\n  {command} " in text


def test_an_unreachable_meta_is_one_line_and_exit_code_3() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "segplane", "datasets", "list", "--meta-address", "127.0.0.1:1"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert done.stderr.startswith("error: meta does not answer at 127.0.0.1:1")
    assert done.stderr.count("\n") == 1


def test_a_created_dataset_is_listed(run: Run) -> None:
    dataset_id = run("datasets", "create", "checkout").stdout.strip()

    listed = json.loads(run("datasets", "list", "--json").stdout)

    assert {"id": dataset_id, "name": "checkout"} in listed
    assert dataset_id in run("datasets", "list").stdout
    assert json.loads(run("datasets", "show", "checkout", "--json").stdout)["id"] == dataset_id


def test_a_refusal_is_one_line_with_its_reason(run: Run) -> None:
    done = run("datasets", "show", "missing")

    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith("(NOT_FOUND)\n")
    assert done.stderr.count("\n") == 1


def test_a_token_is_shown_once(run: Run) -> None:
    run("datasets", "create", "checkout")

    created = run("tokens", "create", "web", "--dataset", "checkout")

    assert created.stdout.startswith("it_")
    assert created.stdout.count("\n") == 1
    assert run("tokens", "create", "web2", "--dataset", "missing").exit_code == 1


def test_segments_and_streams_of_an_empty_meta_are_empty(run: Run) -> None:
    assert json.loads(run("segments", "find", "--json").stdout) == []
    assert json.loads(run("streams", "list", "--json").stdout) == []
    assert run("segments", "find", "--start", "1h", "--end", "2h").exit_code == 1
    assert run("segments", "find", "--start", "yesterday").exit_code == 2


def test_stats_count_segments(run: Run) -> None:
    assert json.loads(run("stats", "--json").stdout)["segment_count"] == "0"
