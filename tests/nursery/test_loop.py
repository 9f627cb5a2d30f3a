"""The cycle against a real meta: merged once, reaped, retired, whatever happens in between."""

from collections.abc import Sequence
from typing import Any

import pytest

from meta import metrics
from meta.client import MetaClient
from meta.v1 import nursery_pb2, segment_lookup_pb2
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.baby import crc32c
from segments.errors import ObjectMissing
from segments.keys import baby_key, join_key, quarantine_key
from segments.location import Stores
from tests.support.nursery.drivers import (
    CollectorDriver,
    dataset,
    fail_all,
    nursery,
    run_here,
    texts,
)
from tests.support.nursery.passing_time import let_pass


def test_committed_babies_become_visible_and_no_other(collector: CollectorDriver) -> None:
    collector.send("a", "b")
    collector.send("c")
    collector.put("not committed")

    nursery(collector.client).cycle()

    assert texts(collector) == ["a", "b", "c"]
    assert collector.merged() == {collector.dataset_id: 1}


def test_meta_knows_the_checksum_of_every_segment(collector: CollectorDriver) -> None:
    collector.send("a", "b")

    nursery(collector.client).cycle()

    lookup = collector.client.segment_lookup
    (segment,) = lookup.FindSegments(segment_lookup_pb2.FindSegmentsRequest()).segments
    key = join_key(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key)
    assert segment.crc32c == crc32c(collector.store.get(key))


def test_a_second_cycle_finds_nothing_to_do(collector: CollectorDriver) -> None:
    collector.send("a")
    driver = nursery(collector.client)

    assert not driver.cycle()
    assert not driver.cycle()

    assert texts(collector) == ["a"]


def test_the_lag_is_the_age_of_the_oldest_baby_that_waits(
    collector: CollectorDriver, database_url: str
) -> None:
    def lag_secs() -> float:
        driver.cycle()
        return metrics.NURSERY.get_sample_value("segplane_nursery_lag_seconds") or 0.0

    collector.send("a")
    let_pass(collector, database_url, 100.0)
    driver = nursery(collector.client)

    assert 99.0 < lag_secs() < 110.0
    assert lag_secs() == 0.0


class LaggingMeta:
    """A client that may be answered by a meta that lags: with the reply to an earlier poll."""

    def __init__(self, client: MetaClient) -> None:
        self.lags = False
        self._client = client
        self._earlier: nursery_pb2.GetIngestStreamsResponse | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "GetIngestStreamsForNursery":
            return self._poll
        stub = self._client.nursery
        return self if name == "nursery" else getattr(stub, name, getattr(self._client, name, None))

    def _poll(
        self, request: nursery_pb2.GetIngestStreamsRequest
    ) -> nursery_pb2.GetIngestStreamsResponse:
        """Ask meta, or repeat its first reply."""
        if self.lags and self._earlier is not None:
            return self._earlier
        reply = self._client.nursery.GetIngestStreamsForNursery(request)
        self._earlier = self._earlier or reply
        return reply


def test_a_reply_older_than_one_before_is_dropped(collector: CollectorDriver) -> None:
    collector.send("a")
    meta = LaggingMeta(collector.client)
    driver = nursery(meta)  # type: ignore[arg-type]
    driver.cycle()
    objects = sorted(listed.key for listed in collector.store.list(""))
    races_lost = metrics.NURSERY.get_sample_value("segplane_nursery_races_lost_total")

    meta.lags = True
    driver.cycle()

    # What the older reply shows as not merged is neither written nor registered again.
    assert sorted(listed.key for listed in collector.store.list("")) == objects
    assert metrics.NURSERY.get_sample_value("segplane_nursery_races_lost_total") == races_lost
    assert texts(collector) == ["a"]


def test_polls_between_two_rounds_of_tending_find_what_is_new(collector: CollectorDriver) -> None:
    driver = nursery(collector.client, reap_interval_secs=3_600.0)
    driver.cycle()
    for index in range(3):
        collector.send(f"baby {index}")
        driver.cycle()

    assert texts(collector) == ["baby 0", "baby 1", "baby 2"]
    info = collector.info()
    assert info is not None
    assert info.deleted_offset == -1


def test_a_race_between_two_nurseries_is_lost_by_one(collector: CollectorDriver) -> None:
    collector.send("a")
    first = nursery(collector.client)

    def overtaken(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        results = run_here(tasks, where)
        if tasks:
            first.cycle()
        return results

    nursery(collector.client, overtaken).cycle()

    assert texts(collector) == ["a"]
    assert collector.merged() == {collector.dataset_id: 0}


def test_merged_babies_are_deleted(collector: CollectorDriver) -> None:
    collector.send("a")
    collector.send("b")
    driver = nursery(collector.client)

    driver.cycle()
    driver.cycle()

    info = collector.info()
    assert info is not None
    assert info.deleted_offset == 1
    for offset in range(2):
        with pytest.raises(ObjectMissing):
            collector.store.get(baby_key(collector.stream_id, offset))


def test_a_stopped_stream_retires_once_it_is_drained(collector: CollectorDriver) -> None:
    collector.send("a")
    collector.stop()
    driver = nursery(collector.client)

    for _ in range(4):
        driver.cycle()

    assert collector.info() is None
    assert texts(collector) == ["a"]


def test_a_routing_change_splits_a_stream_without_loss(collector: CollectorDriver) -> None:
    old = collector.dataset_id
    collector.send("before")
    collector.route(dataset(collector.client))
    collector.send("after")
    driver = nursery(collector.client)

    for _ in range(3):
        driver.cycle()

    assert texts(collector, old) == ["before"]
    assert texts(collector) == ["after"]


def test_unstamped_babies_follow_the_routing_of_their_offset(collector: CollectorDriver) -> None:
    old = collector.dataset_id
    collector.send("before", is_stamped=False)
    collector.route(dataset(collector.client))
    collector.send("after", is_stamped=False)
    driver = nursery(collector.client)

    for _ in range(3):
        driver.cycle()

    assert texts(collector, old) == ["before"]
    assert texts(collector) == ["after"]


def test_a_payload_that_will_not_decode_is_put_aside(collector: CollectorDriver) -> None:
    broken = b"\x0a\x05ab"
    collector.commit(collector.put("good", payloads=[broken]))

    nursery(collector.client).cycle()

    assert texts(collector) == ["good"]
    key = quarantine_key(collector.stream_id, 0, collector.token_id, "logs", 1)
    assert collector.store.get(key) == broken
    assert collector.merged() == {collector.dataset_id: 0}


def test_a_baby_that_is_gone_stops_its_stream_alone(collector: CollectorDriver) -> None:
    other = CollectorDriver(collector.client, collector.dataset_id)
    collector.send("here")
    other.send("gone")
    other.store.delete([baby_key(other.stream_id, 0)])
    driver = nursery(collector.client)

    driver.cycle()
    driver.cycle()

    assert texts(collector) == ["here"]
    assert other.merged() == {collector.dataset_id: -1}


def test_a_failed_job_is_tried_again_with_half_the_babies(collector: CollectorDriver) -> None:
    for index in range(4):
        collector.send(f"baby {index}")
    sizes: list[int] = []

    def failing_above_one(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
        sizes.append(len({(r.stream_id, r.offset) for t in tasks for r in t.reads}))
        if sizes[-1] > 1:
            return fail_all(tasks, "out of memory")
        return run_here(tasks, where)

    driver = nursery(collector.client, failing_above_one)
    for _ in range(12):
        driver.cycle()

    assert sizes[:3] == [4, 2, 1]
    assert texts(collector) == [f"baby {i}" for i in range(4)]


def test_a_dead_stream_is_stopped_with_its_tail(
    collector: CollectorDriver, database_url: str
) -> None:
    collector.send("a")
    collector.put("tail")
    collector.next_offset += 1
    collector.put("beyond a hole")
    let_pass(collector, database_url, 7_200.0)
    driver = nursery(collector.client, stream_timeout_secs=3_600.0)

    driver.cycle()
    info = collector.info()
    assert info is not None
    assert info.stopped_offset == 1
    for _ in range(4):
        driver.cycle()

    assert texts(collector) == ["a", "tail"]
    assert collector.info() is None


def test_the_tail_of_a_dead_stream_without_stamps_is_routed(
    collector: CollectorDriver, database_url: str
) -> None:
    collector.put("tail", is_stamped=False)
    let_pass(collector, database_url, 7_200.0)
    driver = nursery(collector.client, stream_timeout_secs=3_600.0)

    for _ in range(4):
        driver.cycle()

    assert texts(collector) == ["tail"]


def test_datasets_that_got_nothing_do_not_hold_babies_back(collector: CollectorDriver) -> None:
    other_dataset = dataset(collector.client)
    idle = CollectorDriver(collector.client, other_dataset, collector_id=collector.collector_id)
    assert idle.stream_id == collector.stream_id
    collector.send("a")
    driver = nursery(collector.client)

    driver.cycle()
    driver.cycle()

    info = collector.info()
    assert info is not None
    assert collector.merged() == {collector.dataset_id: 0, other_dataset: 0}
    assert info.deleted_offset == 0
