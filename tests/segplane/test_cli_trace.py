"""segplane trace: committed, merged, compacted, visible; and the search of a record."""

import json
from uuid import uuid4

import pytest

from meta.v1 import janitor_pb2
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Give a collector of the dataset web with two committed baby segments."""
    dataset = CatalogDriver(meta_server.client).dataset("web")
    collector = CollectorDriver(meta_server.client, dataset)
    for text in ("first", "second"):
        collector.send(text)
    return collector


def steps(text: str) -> list[str]:
    """The words for steps, from a table."""
    _, table = text.split("\n\n")
    start = table.index("STEP")
    return [line[start:].split("  ")[0] for line in table.splitlines()[1:]]


def test_records_are_followed_from_their_commit_to_readers(
    run: RunCommand, collector: CollectorDriver
) -> None:
    waiting = run("trace", collector.stream_id, "1")
    merges = nursery(collector.client)
    merges.cycle()
    for text in ("third", "fourth", "fifth"):
        collector.send(text)
        merges.cycle()
    merged = run("trace", collector.stream_id, "1")
    worker = WorkerDriver(collector.client, "worker-7")
    worker.plan()
    assert worker.merge_all() == 1
    compacted = run("trace", collector.stream_id, "1")
    data = json.loads(run("trace", collector.stream_id, "1", "--json").stdout)

    assert waiting.exit_code == merged.exit_code == compacted.exit_code == 0, compacted.output
    assert steps(waiting.stdout) == ["committed", "waiting"]
    assert waiting.stdout.splitlines()[0].endswith("waits to be merged")
    assert steps(merged.stdout) == ["committed", "merged", "visible"]
    assert f"offsets 0 to 1 of {collector.stream_id}" in merged.stdout
    assert steps(compacted.stdout) == ["committed", "merged", "compacted", "visible"]
    compaction = data["steps"][2]
    assert (compaction["worker"], compaction["attempt"]) == ("worker-7", 1)
    assert compaction["inputs"] == [data["steps"][1]["segment"]]
    assert {step["dataset"] for step in data["steps"][1:]} == {"web"}
    assert [int(step["version"]) for step in data["steps"]] == sorted(
        int(step["version"]) for step in data["steps"]
    )
    task = collector.client.janitor.GetMergeTask(
        janitor_pb2.GetMergeTaskRequest(task_id=compaction["task"])
    )
    assert task.output_segment_id == data["steps"][3]["segment"]


def test_a_record_is_found_by_a_condition_before_and_after_its_merge(
    run: RunCommand, collector: CollectorDriver
) -> None:
    fresh = run("trace", "web", "--where", 'body == "second"')
    merges = nursery(collector.client)
    merges.cycle()
    collector.send("third")
    merges.cycle()
    merged = run("trace", "web", "--where", 'body == "second"')
    both = json.loads(run("trace", "web", "--where", 'body != "third"', "--json").stdout)
    last = json.loads(run("trace", "web", "--where", 'body == "third"', "--json").stdout)

    assert fresh.stdout.splitlines()[0] == "1 record matches; one of them is traced"
    assert f"offset 1 of stream {collector.stream_id}" in fresh.stdout
    assert steps(fresh.stdout) == ["committed", "waiting"]
    assert steps(merged.stdout) == ["merged", "visible"]
    assert f"offsets 0 to 1 of {collector.stream_id}" in merged.stdout
    assert (both["matches"], last["matches"]) == (2, 1)
    assert both["subject"] != last["subject"]
    assert f"offsets 2 to 2 of {collector.stream_id}" in last["steps"][0]["detail"]


def test_a_condition_with_a_comment_keeps_the_bounds_of_the_search(
    run: RunCommand, collector: CollectorDriver
) -> None:
    found = run("trace", "web", "--where", 'body == "second" or\nbody == "first" // both')

    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[0] == "2 records match; one of them is traced"
    assert f"offset 1 of stream {collector.stream_id}" in found.stdout


def test_a_list_that_is_cut_says_so_and_calls_nothing_expired(
    run: RunCommand, collector: CollectorDriver
) -> None:
    merges = nursery(collector.client)
    merges.cycle()
    for text in ("third", "fourth", "fifth"):
        collector.send(text)
        merges.cycle()
    worker = WorkerDriver(collector.client, "worker-7")
    worker.plan()
    assert worker.merge_all() == 1

    cut = run("trace", collector.stream_id, "1", "--limit", "1")
    whole = run("trace", collector.stream_id, "1")

    assert cut.stdout.splitlines()[0].startswith(
        f"offset 1 of stream {collector.stream_id}: not all is listed, --limit shows more at"
    )
    assert "expired" not in steps(cut.stdout)
    assert ": visible in 1 segment at" in whole.stdout


def test_what_is_not_there_is_refused_in_a_line(
    run: RunCommand, collector: CollectorDriver
) -> None:
    missing = run("trace", "web", "--where", 'body == "other"')
    malformed = run("trace", "web", "--where", "body ==")
    unknown = run("trace", str(uuid4()))
    both = run("trace", "web", "3", "--where", "true")
    bounds = run("trace", str(uuid4()), "--start", "1h")

    assert missing.exit_code == malformed.exit_code == unknown.exit_code == 1
    assert missing.stderr.splitlines() == ["error: no record of 'web' meets 'body == \"other\"'"]
    assert "there is no such segment" in unknown.stderr
    assert both.exit_code == bounds.exit_code == 2
