"""Streams whose collector is silent: stopped after a timeout, and lost to nobody who is back."""

import pytest

from meta.errors import StreamStopped
from meta.v1 import nursery_pb2, operations_pb2
from nursery.lifecycle import reaper
from nursery.planning.snapshot import StreamInfo, read_snapshot
from segments.baby import Baby, BabyKind, TokenPart, encode_baby
from segments.keys import baby_key
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, logs, nursery, texts
from tests.support.nursery.passing_time import let_pass

TIMEOUT_SECS = 3_600.0


def as_seen_now(collector: CollectorDriver) -> StreamInfo:
    """The stream as known to a nursery that polls now and acts later."""
    request = nursery_pb2.GetIngestStreamsRequest()
    snapshot = read_snapshot(collector.client.nursery.GetIngestStreamsForNursery(request))
    return next(info for info in snapshot.streams if info.stream_id == collector.stream_id)


def is_stopped(collector: CollectorDriver) -> bool:
    info = collector.info()
    return info is None or info.HasField("stopped_offset")


@pytest.mark.parametrize(
    ("timeout_secs", "silent_secs", "expected"),
    [
        (TIMEOUT_SECS, TIMEOUT_SECS - 60, False),
        (TIMEOUT_SECS, TIMEOUT_SECS + 60, True),
        (10.0, 70.0, True),
        (0.0, 10 * TIMEOUT_SECS, False),
    ],
    ids=["before", "after", "a short one", "never"],
)
def test_a_stream_is_stopped_once_it_was_silent_for_the_timeout(
    collector: CollectorDriver,
    database_url: str,
    timeout_secs: float,
    silent_secs: float,
    expected: bool,
) -> None:
    collector.send("a")
    let_pass(collector, database_url, silent_secs)
    driver = nursery(collector.client, stream_timeout_secs=timeout_secs)

    driver.cycle()

    assert is_stopped(collector) == expected
    assert texts(collector) == ["a"]


def test_a_tail_that_is_being_written_keeps_its_stream_though_meta_heard_nothing(
    collector: CollectorDriver, database_url: str
) -> None:
    collector.send("a")
    old = collector.put("old")
    let_pass(collector, database_url, 2 * TIMEOUT_SECS)
    babies = [old, collector.put("young")]
    driver = nursery(collector.client, stream_timeout_secs=TIMEOUT_SECS)

    driver.cycle()

    assert not is_stopped(collector)
    assert texts(collector) == ["a"]
    collector.next_offset = 1
    for baby in babies:
        collector.next_offset += 1
        collector.commit(baby)
    driver.cycle()
    assert texts(collector) == ["a", "old", "young"]


def test_a_collector_that_commits_before_its_stream_is_stopped_keeps_it(
    collector: CollectorDriver,
) -> None:
    collector.send("a")
    stale = as_seen_now(collector)
    collector.send("back")

    reaper.stop_dead(collector.client, collector.store, stale, timeout_nanos=10**9)

    assert not is_stopped(collector)
    collector.send("and on")
    nursery(collector.client).cycle()
    assert texts(collector) == ["a", "and on", "back"]


def test_a_baby_that_is_committed_while_it_is_adopted_is_there_once(
    collector: CollectorDriver,
) -> None:
    collector.send("a")
    stale = as_seen_now(collector)
    collector.send("by its collector")

    reaper.stop_dead(collector.client, collector.store, stale, timeout_nanos=0)

    assert is_stopped(collector)
    for _ in range(4):
        nursery(collector.client).cycle()
    assert texts(collector) == ["a", "by its collector"]


def test_a_collector_that_comes_back_after_the_stop_acknowledges_nothing_on_the_old_stream(
    collector: CollectorDriver,
) -> None:
    collector.send("a")
    adopted = collector.put("adopted")
    reaper.stop_dead(collector.client, collector.store, as_seen_now(collector), timeout_nanos=0)

    collector.commit(adopted)
    with pytest.raises(StreamStopped):
        collector.send("too late")
    again = CollectorDriver(collector.client, collector.dataset_id, collector.collector_id)
    assert again.stream_id != collector.stream_id
    again.send("elsewhere")

    for _ in range(4):
        nursery(collector.client).cycle()
    assert texts(collector) == ["a", "adopted", "elsewhere"]
    assert collector.info() is None


def test_the_records_of_an_adopted_tail_count_for_their_own_datasets(
    collector: CollectorDriver,
) -> None:
    other = CollectorDriver(collector.client, dataset(collector.client), collector.collector_id)
    parts = [
        TokenPart(one.token_id, "logs", (logs("x"),) * count, one.dataset_id, count, NOW, NOW)
        for one, count in ((collector, 3), (other, 1))
    ]
    baby = Baby(tuple(parts), BabyKind.DATA, b"f" * 16, NOW)
    collector.store.put_if_absent(baby_key(collector.stream_id, 0), encode_baby(baby))

    reaper.stop_dead(collector.client, collector.store, as_seen_now(collector), timeout_nanos=0)

    ids = [collector.dataset_id, other.dataset_id]
    request = operations_pb2.GetUsageRequest(dataset_ids=ids)
    usage = collector.client.operations.GetUsage(request).usage
    assert {one.dataset_id: one.records for one in usage} == dict(zip(ids, (3, 1), strict=True))
