"""Nurseries and stores whose clocks are hours off: ages are the database's."""

import time

import pytest

from dataplane.clocks import Clock
from meta import metrics
from meta.v1 import nursery_pb2
from nursery.lifecycle import reaper
from nursery.planning.snapshot import StreamInfo, read_snapshot
from tests.support.nursery.drivers import CollectorDriver, nursery, texts
from tests.support.nursery.passing_time import let_pass
from tests.support.object_store.skewed_clock import SkewedStore

TWO_HOURS = 7_200.0
OFF = pytest.mark.parametrize(
    "skew_secs", [TWO_HOURS, -TWO_HOURS], ids=["two hours ahead", "two hours behind"]
)


def wrong_clock(skew_secs: float) -> Clock:
    return Clock(now_nanos=lambda: time.time_ns() + int(skew_secs * 1e9))


def value(name: str) -> float:
    sample = metrics.NURSERY.get_sample_value(name)
    assert sample is not None
    return sample


def polled(collector: CollectorDriver) -> StreamInfo:
    request = nursery_pb2.GetIngestStreamsRequest()
    snapshot = read_snapshot(collector.client.nursery.GetIngestStreamsForNursery(request))
    return next(info for info in snapshot.streams if info.stream_id == collector.stream_id)


@OFF
def test_a_nursery_with_a_wrong_clock_merges_what_is_due_and_stops_no_busy_stream(
    collector: CollectorDriver, database_url: str, skew_secs: float
) -> None:
    collector.send("due")
    let_pass(collector, database_url, 100.0)
    driver = nursery(
        collector.client,
        clock=wrong_clock(skew_secs),
        wait_secs=50.0,
        stream_timeout_secs=3_600.0,
    )

    driver.cycle()

    assert texts(collector) == ["due"]
    assert polled(collector).stopped_offset is None
    assert 99.0 < value("segplane_nursery_lag_seconds") < 130.0
    assert value("segplane_clock_skew_seconds") == pytest.approx(skew_secs, abs=5.0)
    collector.send("young")
    driver.cycle()
    assert texts(collector) == ["due"]


@OFF
def test_a_nursery_with_a_wrong_clock_stops_a_dead_stream(
    collector: CollectorDriver, database_url: str, skew_secs: float
) -> None:
    collector.send("a")
    let_pass(collector, database_url, 4_000.0)
    driver = nursery(collector.client, clock=wrong_clock(skew_secs), stream_timeout_secs=3_600.0)

    driver.cycle()

    info = collector.info()
    assert info is None or info.HasField("stopped_offset")


@OFF
def test_the_tail_of_a_silent_stream_is_as_old_as_the_store_with_a_wrong_clock_says(
    collector: CollectorDriver, database_url: str, skew_secs: float
) -> None:
    collector.put("tail")
    let_pass(collector, database_url, 4_000.0)
    store = SkewedStore(collector.store, int(skew_secs * 1e9))
    client, silent = collector.client, polled(collector)

    reaper.stop_dead(client, store, silent, timeout_nanos=4_500 * 10**9)
    assert polled(collector).stopped_offset is None

    reaper.stop_dead(client, store, silent, timeout_nanos=3_600 * 10**9)
    assert polled(collector).stopped_offset == 0
