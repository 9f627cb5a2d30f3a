"""The commands against a real meta."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from typer.testing import CliRunner, Result

from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import common_pb2
from meta.v1 import ingestion_pb2 as pb
from segments.keys import new_merged_key, new_uuid7
from segments.store import open_store
from segplane.__main__ import app

Run = Callable[..., Result]


class MetaServer(Protocol):
    """What these tests use of the `meta_server` fixture."""

    settings: Settings


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """Give a function that runs a command against the meta under test."""
    server = request.getfixturevalue("meta_server")
    Path("/", server.settings.location.path).mkdir(exist_ok=True)
    address = server.address

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


def test_fsck_finds_nothing_in_an_empty_meta(run: Run) -> None:
    done = run("fsck", "--deep")

    assert done.exit_code == 0
    assert "0 violations, 0 orphans" in done.stdout


def test_fsck_finds_a_segment_without_its_object(run: Run, meta_client: MetaClient) -> None:
    segment = _save_segment(meta_client, "gone.parquet")

    done = run("fsck", "--json")

    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [(v["invariant"], v["subject"]) for v in report["violations"]] == [("I9", segment)]


def test_fsck_lists_objects_that_no_row_knows(
    run: Run, meta_client: MetaClient, meta_server: MetaServer
) -> None:
    dataset_id = run("datasets", "create", "checkout").stdout.strip()
    store = open_store(meta_server.settings.location)
    key = new_merged_key(dataset_id)
    store.put_if_absent(key, b"nobody's")

    young = json.loads(run("fsck", "--json").stdout)
    old = json.loads(run("fsck", "--orphan-age-secs", "0", "--json").stdout)

    assert (young["orphans"], old["orphans"]) == ([], [key])


def test_found_segments_are_printed_with_their_urls(run: Run, meta_client: MetaClient) -> None:
    segment = _save_segment(meta_client, f"{new_uuid7()}.parquet")

    assert json.loads(run("segments", "get", segment, "--json").stdout)[0]["id"] == segment
    assert run("segments", "find", "--urls").stdout.startswith("/")
    assert segment in run("segments", "find").stdout


def _save_segment(client: MetaClient, name: str) -> str:
    """Register a segment of the default dataset whose object was never written."""
    prefix = client.ingestion.DownloadConfig(pb.DownloadConfigRequest(worker_id="test"))
    segment = common_pb2.CreateSegment(
        dataset_id=prefix.default_dataset.id,
        time_range=common_pb2.TimeRange(start_time=1, end_time=2),
        size_bytes=10,
        compressed_size_bytes=5,
        number_of_events=1,
        cloud_object_key=common_pb2.CloudObjectKey(prefix=prefix.cloud_object_prefix, key=name),
    )
    return client.ingestion.SaveSegments(pb.SaveSegmentsRequest(segments=[segment])).ids[0]
