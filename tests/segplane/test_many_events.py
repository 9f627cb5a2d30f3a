"""More events in one baby segment than a message holds deduplication keys of, each of them once."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData, ResourceLogs, ScopeLogs
from sqlalchemy import create_engine, text

from nursery.parts import deduplication
from tests.support.command_line import RunCommand
from tests.support.events_once import duplicates, more_streams, orders, send, shard
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here
from tests.support.schema_violations import QUARANTINE, choose
from tests.support.visible_segments import find, texts


@pytest.fixture
def few_in_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplication, "DEDUPLICATION_KEYS_MAX", 2)


@pytest.mark.usefixtures("few_in_a_message")
def test_events_in_several_parts_are_claimed_with_one_registration(
    collector: CollectorDriver,
) -> None:
    """Another nursery registers events of each part meanwhile."""
    client, own = collector.client, shard(collector)
    other = next(one for one in more_streams(collector) if shard(one) != own)
    send(collector, orders(*"abcde"), orders("f", days_ago=1), orders("a", text=" again"))
    send(other, orders("a", "e", "f", "g", text=" fast"))

    def overtaken(tasks: Any, where: Any) -> list[Any]:
        outcomes = run_here(tasks, where)
        nursery(client, shard=(1 - own, 2)).cycle()
        return outcomes

    nursery(client, overtaken, shard=(own, 2)).cycle()

    assert texts(client, collector.store) == ["a fast", "b", "c", "d", "e fast", "f fast", "g fast"]
    assert duplicates(client, collector.dataset_id) == 4
    send(collector, orders(*"bcd", "h", text=" later"))
    nursery(client).cycle()
    assert duplicates(client, collector.dataset_id) == 7
    assert texts(client, collector.store)[-1] == "h later"


@pytest.mark.usefixtures("few_in_a_message")
def test_parts_of_a_refused_registration_do_not_wait(
    collector: CollectorDriver, database_url: str
) -> None:
    """Otherwise a nursery that is refused again and again uses up what all may store."""
    send(collector, orders(*"abc"))
    nursery(collector.client).cycle()
    send(collector, orders(*"cdef"))
    nursery(collector.client).cycle()

    assert duplicates(collector.client, collector.dataset_id) == 1
    with create_engine(database_url).connect() as connection:
        parts = connection.execute(
            text("SELECT staged_id, part FROM staged_deduplication_keys")
        ).all()
    assert parts == []


@pytest.mark.usefixtures("few_in_a_message")
def test_a_replay_claims_its_events_in_several_parts(
    run: RunCommand, collector: CollectorDriver
) -> None:
    choose(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, orders(*"abcdec", price="high"))
    nursery(collector.client).cycle()
    send(collector, orders("e", text=" first"))
    nursery(collector.client).cycle()
    (item,) = json.loads(run("quarantine", "list", "--json").stdout)

    done = run("quarantine", "replay", item["key"], "--as-is")

    assert done.exit_code == 0, done.stderr
    assert texts(collector.client, collector.store) == ["a", "b", "c", "d", "e first"]
    assert duplicates(collector.client, collector.dataset_id) == 2


def test_two_nurseries_with_half_repeats_do_not_starve_each_other(
    collector: CollectorDriver,
) -> None:
    """Both register in every cycle, whichever claims the shared events first."""
    client, own = collector.client, shard(collector)
    other = next(one for one in more_streams(collector) if shard(one) != own)
    nurseries = [nursery(client, shard=(index, 2)) for index in (own, 1 - own)]
    for number in range(3):
        shared = [f"{number}-{n}" for n in range(20)]
        for stream in (collector, other):
            events = [f"{number}-{stream.stream_id}-{n}" for n in range(20)]
            send(stream, orders(*events, *shared))
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda each: each.cycle(), nurseries))
        merged = [stream.merged() for stream in (collector, other)]
        assert merged == [{collector.dataset_id: number}] * 2

    assert len(texts(client, collector.store)) == 3 * 60
    assert duplicates(client, collector.dataset_id) == 3 * 20


@pytest.mark.slow
def test_one_export_of_many_tiny_events_is_registered(
    run: RunCommand, collector: CollectorDriver
) -> None:
    """It passes a message's keys, 250,000; half of them are sent again in the next one."""
    number = 260_000
    send(collector, tiny_events(0, number))
    nursery(collector.client).cycle()
    send(collector, tiny_events(number // 2, number + number // 2))
    nursery(collector.client).cycle()

    rows = sum(segment.number_of_events for segment in find(collector.client))
    assert rows == number + number // 2
    assert duplicates(collector.client, collector.dataset_id) == number // 2
    assert collector.merged() == {collector.dataset_id: 1}
    checked = run("fsck")
    assert checked.exit_code == 0, checked.stdout


def tiny_events(first: int, end: int) -> bytes:
    """Make a payload of records with an order_id alone."""
    now = time.time_ns()
    scope = ScopeLogs()
    for number in range(first, end):
        record = scope.log_records.add(time_unix_nano=now)
        record.attributes.add(key="order_id").value.string_value = str(number)
    return LogsData(resource_logs=[ResourceLogs(scope_logs=[scope])]).SerializeToString()
