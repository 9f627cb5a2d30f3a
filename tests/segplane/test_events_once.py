"""Each event once: an event that is sent again is never a second row, whatever way it comes in."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from meta.errors import DeduplicationKeysRequired, InvalidArgument, LayoutChanged, StillReferenced
from meta.v1 import common_pb2, ingestion_pb2, nursery_pb2
from meta.v1 import operations_pb2 as pb
from nursery.planning import tasks
from segplane.read import open_dataset
from segplane.read.rows.fresh import MergedRecordsOnly
from segplane.recovery.rebuild import read_plan
from tests.support.command_line import RunCommand
from tests.support.events_once import (
    duplicates,
    identify,
    merge,
    more_streams,
    name_of,
    orders,
    send,
    shard,
)
from tests.support.meta import bindings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import (
    CollectorDriver,
    nursery,
    run_here,
    write_and_fail,
)
from tests.support.schema_violations import QUARANTINE, choose, seen
from tests.support.visible_segments import find, key_of


def test_an_event_that_is_sent_again_is_not_a_second_row(
    run: RunCommand, collector: CollectorDriver
) -> None:
    send(collector, orders("a", "b", "", ""))
    merge(collector)
    send(collector, orders("b", "c", "", text=" again"), orders("d", "c", text=" later"))
    merge(collector)

    assert seen(collector) == ["", "", " again", "a", "b", "c again", "d later"]
    # Acknowledged are nine: rows and duplicates together.
    assert duplicates(collector.client, collector.dataset_id) == 2
    checked = run("fsck")
    assert checked.exit_code == 0, checked.stdout
    assert "2 records were skipped: they are duplicates of rows" in checked.stdout
    assert collector.merged() == {collector.dataset_id: 1}


def test_baby_segments_of_repeats_alone_are_passed(collector: CollectorDriver) -> None:
    send(collector, orders("a", "b"))
    merge(collector)
    send(collector, orders("b", "a", text=" again"))
    merge(collector)

    assert seen(collector) == ["a", "b"]
    assert duplicates(collector.client, collector.dataset_id) == 2
    assert collector.merged() == {collector.dataset_id: 1}


def test_of_equal_events_of_one_job_the_lowest_by_stream_and_offset_is_the_row(
    collector: CollectorDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each baby segment has its own task."""
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 1024 * 1024)
    other = CollectorDriver(collector.client, collector.dataset_id)
    first, second = sorted((collector, other), key=lambda one: one.stream_id)
    filler = [orders(*(f"{n}-{'x' * 200}" for n in range(own, own + 4_000))) for own in (0, 9_000)]
    send(second, orders("a", "b", text=" second"), filler[0])
    send(first, orders("b", "c", text=" first"), filler[1])
    tasks_seen = []

    def run_backwards(tasks: Any, where: Any) -> list[Any]:
        tasks_seen.extend(tasks)
        return run_here(tasks, where)[::-1]

    nursery(collector.client, run_backwards).cycle()

    assert len(tasks_seen) == 2
    rows = [text for text in seen(collector) if "x" not in text]
    assert rows == ["a second", "b first", "c first"]
    assert duplicates(collector.client, collector.dataset_id) == 1


def test_events_that_another_nursery_registers_meanwhile_are_skipped(
    collector: CollectorDriver,
) -> None:
    """The segments are written again, once for all that was claimed."""
    client, own = collector.client, shard(collector)
    other = next(one for one in more_streams(collector) if shard(one) != own)
    send(collector, orders("a", "b", "c", text=" slow"))
    send(other, orders("b", "c", "d", text=" fast"))

    def overtaken(tasks: Any, where: Any) -> list[Any]:
        outcomes = run_here(tasks, where)
        nursery(client, shard=(1 - own, 2)).cycle()
        return outcomes

    with capture_logs() as lines:
        nursery(client, overtaken, shard=(own, 2)).cycle()

    assert seen(collector) == ["a slow", "b fast", "c fast", "d fast"]
    assert duplicates(client, collector.dataset_id) == 2
    assert [(line["duplicates"], line["event"]) for line in lines if "duplicates" in line] == [
        (0, "events_registered"),
        (2, "events_registered"),
    ]
    # A rebuild has the segments of the refused registration too, and leaves them out.
    rebuilt = read_plan(collector.store).segments
    assert {live.key for live in rebuilt} == {key_of(segment) for segment in find(client)}


def test_a_nursery_that_died_before_its_registration_claims_nothing(
    collector: CollectorDriver,
) -> None:
    send(collector, orders("a", "b", "a"))
    nursery(collector.client, write_and_fail).cycle()
    merge(collector)

    assert seen(collector) == ["a", "b"]
    assert duplicates(collector.client, collector.dataset_id) == 1


def test_events_outside_the_window_are_rows(collector: CollectorDriver) -> None:
    send(collector, orders("old", days_ago=9), orders("new", days_ago=2))
    merge(collector)
    send(collector, orders("old", days_ago=9), orders("new", days_ago=2), orders("new"))
    merge(collector)

    assert seen(collector) == ["new", "old", "old"]
    assert duplicates(collector.client, collector.dataset_id) == 2


def test_a_replay_of_the_quarantine_skips_events_that_are_rows(
    run: RunCommand, collector: CollectorDriver
) -> None:
    choose(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, orders("a", "b", "c", "c", text=" replayed", price="high"))
    merge(collector)
    send(collector, orders("b"))
    merge(collector)
    (item,) = json.loads(run("quarantine", "list", "--json").stdout)

    done = run("quarantine", "replay", item["key"], "--as-is")
    again = run("quarantine", "replay", item["key"], "--as-is")

    assert done.exit_code == 0, done.stderr
    assert again.exit_code == 1
    assert seen(collector) == ["a replayed", "b", "c replayed"]
    assert duplicates(collector.client, collector.dataset_id) == 2
    send(collector, orders("a", "c"))
    merge(collector)
    assert duplicates(collector.client, collector.dataset_id) == 4


def test_rows_from_before_the_setting_get_their_identities(
    run: RunCommand, collector: CollectorDriver
) -> None:
    client, dataset_id = collector.client, collector.dataset_id
    identify(client, dataset_id, "")
    send(collector, orders("a", "b", "b", ""), orders("old", days_ago=9))
    merge(collector)
    name = name_of(collector)
    refused = run("datasets", "deduplication", "--claim-keys", name)
    command = ("datasets", "deduplication", name)
    run(*command, "--deduplicate-by", "order_id", "--deduplicate-days", "3")
    send(collector, orders("a", text=" again"))

    done = run("datasets", "deduplication", "--claim-keys", name)
    again = run("datasets", "deduplication", "--claim-keys", name)
    merge(collector)

    shown = run(*command).stdout
    assert ("order_id, for 3 days" in shown, "duplicates" in shown) == (True, True)
    ended = run(*command, "--deduplicate-by", "none", "--json").stdout
    assert "deduplication" not in json.loads(ended)
    assert refused.exit_code == 1
    assert done.stdout == "stored the keys of 2 of 3 rows\n", done.stderr
    assert again.stdout == "stored the keys of 0 of 3 rows\n"
    assert seen(collector) == ["", "a", "b", "b", "old"]
    assert duplicates(client, dataset_id) == 1


def test_ways_in_that_name_no_identities_are_refused(
    run: RunCommand, collector: CollectorDriver
) -> None:
    client = collector.client
    send(collector, orders("a"), b"\xff")
    merge(collector)
    (segment,) = find(client)
    new = common_pb2.CreateSegment(
        dataset_id=segment.dataset_id,
        time_range=segment.time_range,
        number_of_events=1,
        cloud_object_key=segment.cloud_object_key,
    )
    new.cloud_object_key.key = "another.parquet"
    with pytest.raises(DeduplicationKeysRequired):
        client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=[new]))
    move = nursery_pb2.StreamOffsetInfo(
        stream_id=collector.stream_id,
        dataset_id=collector.dataset_id,
        start_merged_offset=0,
        new_merged_offset=1,
    )
    send(collector, orders("b"))
    with pytest.raises(LayoutChanged, match="names no deduplication keys"):
        client.nursery.RegisterMergedSegment(
            nursery_pb2.RegisterMergedSegmentRequest(segment=new, stream_offsets=[move])
        )

    assert seen(collector) == ["a"]


def test_fresh_records_are_not_read_ahead_of_their_merge(
    collector: CollectorDriver, meta_server: MetaServer
) -> None:
    send(collector, orders("a"))
    merge(collector)
    send(collector, orders("a", "b"))
    reply = collector.client.operations.ListUnmergedBabies(
        pb.ListUnmergedBabiesRequest(dataset_id=collector.dataset_id)
    )

    assert (reply.merged_only, len(reply.streams)) == (True, 0)
    name = name_of(collector)
    with (
        pytest.warns(MergedRecordsOnly, match="deduplicated"),
        open_dataset(name, "logs", fresh=True, meta_address=meta_server.address) as opened,
    ):
        assert opened.to_table()["body"].to_pylist() == ["a"]


def test_the_column_of_the_identity_stays_while_it_is_one(collector: CollectorDriver) -> None:
    client, dataset_id = collector.client, collector.dataset_id
    with pytest.raises(StillReferenced, match="order_id is the deduplication key"):
        bindings.unbind(client, dataset_id)
    with pytest.raises(InvalidArgument, match="not a column of a schema"):
        identify(client, dataset_id, "body")
    identify(client, dataset_id, "order_id", 30)
    with pytest.raises(InvalidArgument, match="window_days"):
        identify(client, dataset_id, "order_id", 31)
    before = identify(client, dataset_id, "order_id", 5).deduplication
    send(collector, orders("a"))
    merge(collector)
    assert identify(client, dataset_id, "order_id", 5).deduplication == before
    other = identify(client, dataset_id, "price").deduplication
    assert (other.column, other.window_days, other.rule > before.rule) == ("price", 7, True)

    ended = identify(client, dataset_id, "")

    assert not ended.HasField("deduplication")
    send(collector, orders("a"))
    merge(collector)
    assert seen(collector) == ["a", "a"]
    bindings.unbind(client, dataset_id)
