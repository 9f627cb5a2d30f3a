"""The commands against a real meta."""

import json
import subprocess
import sys

from click.testing import CliRunner

from dataplane.object_checks import list_stored
from meta.client import MetaClient
from meta.v1 import common_pb2, merge_task_pb2, operations_pb2
from meta.v1 import ingestion_pb2 as pb
from segments.ids import new_uuid7
from segments.keys import new_merged_key
from segments.store.open import open_store
from segplane.__main__ import app
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer


def test_help_names_every_command() -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout

    nouns = ("datasets", "tokens", "streams", "segments", "tasks", "deletion", "stats")
    for command in ("dev", "demo", "migrate", *nouns):
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


def test_a_created_dataset_is_listed(run: RunCommand) -> None:
    dataset_id = run("datasets", "create", "checkout").stdout.strip()

    listed = json.loads(run("datasets", "list", "--json").stdout)

    assert (dataset_id, "checkout") in [(one["id"], one["name"]) for one in listed]
    assert dataset_id in run("datasets", "list").stdout
    assert json.loads(run("datasets", "show", "checkout", "--json").stdout)["id"] == dataset_id


def test_a_refusal_is_one_line_with_its_reason(run: RunCommand) -> None:
    done = run("datasets", "show", "missing")

    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith("(NOT_FOUND)\n")
    assert done.stderr.count("\n") == 1


def test_a_token_is_shown_once(run: RunCommand) -> None:
    run("datasets", "create", "checkout")

    created = run("tokens", "create", "web", "--dataset", "checkout")

    assert created.stdout.startswith("it_")
    assert created.stdout.count("\n") == 1
    assert run("tokens", "create", "web2", "--dataset", "missing").exit_code == 1


def test_segments_and_streams_of_an_empty_meta_are_empty(run: RunCommand) -> None:
    assert json.loads(run("segments", "find", "--json").stdout) == []
    assert json.loads(run("streams", "list", "--json").stdout) == []
    assert run("segments", "find", "--start", "1h", "--end", "2h").exit_code == 1
    assert run("segments", "find", "--start", "yesterday").exit_code == 2
    assert json.loads(run("segments", "find", "--signal", "logs", "--json").stdout) == []
    assert run("segments", "find", "--signal", "profiles").exit_code == 2


def test_stats_count_segments(run: RunCommand) -> None:
    assert json.loads(run("stats", "--json").stdout)["segment_count"] == "0"


def test_fsck_finds_nothing_in_an_empty_meta(run: RunCommand) -> None:
    done = run("fsck", "--deep")

    assert done.exit_code == 0
    assert "0 violations, 0 orphans" in done.stdout


def test_fsck_finds_a_segment_without_its_object(run: RunCommand, meta_client: MetaClient) -> None:
    segment = _save_segment(meta_client, "gone.parquet")

    done = run("fsck", "--json")

    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [(v["invariant"], v["subject"]) for v in report["violations"]] == [("I9", segment)]


def test_fsck_lists_objects_that_no_row_knows(
    run: RunCommand, meta_client: MetaClient, meta_server: MetaServer
) -> None:
    dataset_id = run("datasets", "create", "checkout").stdout.strip()
    store = open_store(meta_server.settings.location)
    key = new_merged_key(dataset_id)
    store.put_if_absent(key, b"nobody's")

    checks = [run("fsck", "--json", *age) for age in ((), ("--orphan-age-secs", "0"))]

    assert [checked.exit_code for checked in checks] == [1, 1]
    reports = [json.loads(checked.stdout) for checked in checks]
    # Nothing proves that its records are elsewhere: it is not an orphan at any age.
    assert [report["orphans"] for report in reports] == [[], []]
    assert [report["not_known"]["segments"] for report in reports] == [1, 1]


def test_found_segments_are_printed_with_their_urls(
    run: RunCommand, meta_client: MetaClient
) -> None:
    segment = _save_segment(meta_client, f"{new_uuid7()}.parquet")

    assert json.loads(run("segments", "show", segment, "--json").stdout)[0]["id"] == segment
    assert run("segments", "find", "--urls").stdout.startswith("/")
    assert segment in run("segments", "find").stdout


def test_sharding_fields_are_replaced_and_taken_away(run: RunCommand) -> None:
    set_ = run("datasets", "shard", "default", "service_name=2", "severity_number", "--json")
    kept = json.loads(run("datasets", "shard", "default", "--json").stdout)
    gone = json.loads(run("datasets", "shard", "default", "--none", "--json").stdout)

    assert json.loads(set_.stdout) == kept
    assert [(f["field_name"], f["weight"]) for f in kept] == [
        ("service_name", 2.0),
        ("severity_number", 1.0),
    ]
    assert gone == []
    assert run("datasets", "shard", "default", "a=heavy").exit_code == 2


def test_usage_and_its_limit_are_shown(run: RunCommand) -> None:
    run("datasets", "limits", "default", "--records-per-month", "5")

    (usage,) = json.loads(run("datasets", "usage", "default", "--json").stdout)

    assert (usage["records"], usage["limit"]) == ("0", "5")
    assert run("datasets", "usage", "missing").exit_code == 1


def test_merges_are_explained_and_rewrites_planned(
    run: RunCommand, meta_client: MetaClient
) -> None:
    segment = _save_segment(meta_client, f"{new_uuid7()}.parquet")

    (before,) = json.loads(run("tasks", "explain", "--json").stdout)
    planned = run("tasks", "rewrite").stdout
    (after,) = json.loads(run("tasks", "explain", "--dataset", "default", "--json").stdout)

    assert before["segment"]["id"] == segment
    assert planned == "1 segments, a task each\n"
    assert after["eligibility"] == "MERGE_ELIGIBILITY_IN_TASK"
    assert "in_task" in run("tasks", "explain").stdout


def test_only_an_excluded_segment_is_released(run: RunCommand, meta_client: MetaClient) -> None:
    segment = _save_segment(meta_client, f"{new_uuid7()}.parquet")

    done = run("segments", "release", segment)

    assert (done.exit_code, done.stderr) == (
        1,
        f"error: segment {segment} is not excluded from merging\n",
    )


def test_an_excluded_segment_is_shown_and_released(
    run: RunCommand, meta_client: MetaClient
) -> None:
    segment = _save_segment(meta_client, f"{new_uuid7()}.parquet")
    run("tasks", "rewrite")
    poll = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="one")
    task = meta_client.merge_task.PollForSegmentMergeTask(poll).task
    meta_client.merge_task.FailSegmentMergeTask(
        merge_task_pb2.FailSegmentMergeTaskRequest(
            task_id=task.task_id,
            attempt=task.attempt,
            error_message="two reads failed",
            failed_segment_id=segment,
            is_proven=True,
        )
    )

    explained = run("tasks", "explain")
    released = run("segments", "release", segment)

    assert f"{segment}  " in explained.stdout
    assert "  excluded  " in explained.stdout
    assert released.exit_code == 0
    assert "excluded" not in run("tasks", "explain").stdout


def test_a_baby_segment_is_located(run: RunCommand, meta_client: MetaClient) -> None:
    token = run("tokens", "create", "web", "--dataset", "default").stdout.splitlines()[0]
    register = pb.RegisterForStreamRequest(
        collector_id="one", collector_string="a test", ingest_token=token
    )
    stream = meta_client.ingestion.RegisterForStream(register).stream_id
    meta_client.ingestion.CommitOffset(
        pb.CommitOffsetRequest(stream_id=stream, committed_offset=0, num_records=1)
    )

    committed = run("streams", "show", stream, "0").stdout
    beyond = json.loads(run("streams", "show", stream, "1", "--json").stdout)

    assert committed.startswith("baby segment 0: committed\n")
    assert "waiting" in committed
    assert beyond["committed"] is False


def test_deletion_that_is_not_held_is_not_released(run: RunCommand) -> None:
    state = json.loads(run("deletion", "--json").stdout)
    done = run("deletion", "--release")

    assert state["deletion_held"] is False
    assert "deletion" in run("deletion").stdout
    assert (done.exit_code, done.stdout) == (0, "deletion was not held\n")


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


def test_proven_damage_is_shown_beside_the_segment(
    run: RunCommand, meta_client: MetaClient
) -> None:
    damaged = _save_segment(meta_client, f"{new_uuid7()}.parquet")
    sound = _save_segment(meta_client, f"{new_uuid7()}.parquet")
    keys = {o.segment_id: o.object_key for o in list_stored(meta_client, "", limit=9).objects}
    check = operations_pb2.ObjectCheck(object_key=keys[damaged], damage="a flipped bit")
    request = operations_pb2.ReportObjectChecksRequest(checks=[check])
    meta_client.operations.ReportObjectChecks(request)

    for lines in (run("segments", "find"), run("segments", "show", damaged, sound)):
        shown = [line for line in lines.stdout.splitlines() if "a flipped bit" in line]
        assert [damaged in line for line in shown] == [True]
