"""A stream waits at a baby segment that is missing; no other stream waits with it."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from structlog.testing import capture_logs

from dataplane.clocks import Clock
from meta.metrics import NURSERY
from meta.v1 import operations_pb2 as pb
from nursery.lifecycle.parked import ParkedStreams
from nursery.loop import Nursery
from nursery.results import unreadable_baby
from segments.errors import ObjectMissing, SegmentsError, StoreUnavailable
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.store.folder import FolderStore
from segplane.__main__ import app
from tests.support.clock import SettableClock
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery, texts


@pytest.fixture
def other(collector: CollectorDriver) -> CollectorDriver:
    """Give a second stream of the same dataset."""
    return CollectorDriver(collector.client, collector.dataset_id)


def lose(collector: CollectorDriver, offset: int) -> bytes:
    """Remove a baby's object; returns its bytes."""
    key = baby_key(collector.stream_id, offset)
    body = collector.store.get(key)
    collector.store.delete([key])
    return body


def restore(collector: CollectorDriver, offset: int, body: bytes) -> None:
    collector.store.put_if_absent(baby_key(collector.stream_id, offset), body)


def run_until_parked(collector: CollectorDriver, driver: Nursery) -> None:
    for _ in range(4):
        driver.cycle()
    listed = collector.client.operations.ListParkedStreams(pb.ListParkedStreamsRequest())
    assert [s.stream_id for s in listed.streams] == [collector.stream_id]


def segplane(meta_server: MetaServer, *arguments: str) -> Result:
    environment = {"SEGPLANE_META_ADDRESS": meta_server.address}
    return CliRunner().invoke(app, arguments, env=environment)


def test_a_missing_baby_parks_its_stream_and_no_other(
    meta_server: MetaServer, collector: CollectorDriver, other: CollectorDriver
) -> None:
    for text in ("a", "b", "c"):
        collector.send(text)
        other.send(f"other {text}")
    lose(collector, 1)

    with capture_logs() as events:
        run_until_parked(collector, nursery(collector.client))

    assert texts(collector) == ["a", "other a", "other b", "other c"]
    assert NURSERY.get_sample_value("segplane_nursery_parked_streams") == 1
    (parked,) = [e for e in events if e["event"] == "baby_unreadable"]
    assert (parked["offset"], parked["retry_secs"]) == (1, 10)
    listed = segplane(meta_server, "streams", "list").stdout
    assert f"parked: {collector.stream_id} at offset 1 since" in listed
    assert "ObjectMissing" in segplane(meta_server, "streams", "show", collector.stream_id).stdout


def test_a_missing_stop_message_parks_nothing(collector: CollectorDriver) -> None:
    """It was reaped after the backup that the database went back to."""
    collector.send("before")
    collector.stop()
    lose(collector, 1)

    driver = nursery(collector.client)
    for _ in range(3):
        driver.cycle()

    assert texts(collector) == ["before"]
    listed = collector.client.operations.ListParkedStreams(pb.ListParkedStreamsRequest())
    assert list(listed.streams) == []
    assert set(collector.merged().values()) <= {1}


def test_a_parked_stream_goes_on_by_itself_once_its_baby_is_back(
    collector: CollectorDriver, other: CollectorDriver
) -> None:
    for text in ("a", "b"):
        collector.send(text)
    body = lose(collector, 0)
    clock = SettableClock()
    driver = nursery(collector.client, clock=Clock(monotonic=clock))
    run_until_parked(collector, driver)

    restore(collector, 0, body)
    driver.cycle()
    assert texts(collector) == []
    # No cycle comes at the very moment.
    clock.now += 10.5
    for _ in range(2):
        driver.cycle()

    assert texts(collector) == ["a", "b"]
    listed = collector.client.operations.ListParkedStreams(pb.ListParkedStreamsRequest())
    assert not listed.streams
    assert NURSERY.get_sample_value("segplane_nursery_parked_streams") == 0


def test_another_attempt_costs_the_other_streams_nothing(
    collector: CollectorDriver, other: CollectorDriver
) -> None:
    collector.send("a")
    lose(collector, 0)
    clock = SettableClock()
    driver = nursery(collector.client, clock=Clock(monotonic=clock))
    run_until_parked(collector, driver)

    for number in range(3):
        clock.now += 600.0
        other.send(f"other {number}")
        driver.cycle()

        assert len(texts(collector)) == number + 1


@dataclass(frozen=True)
class _FailingStore(FolderStore):
    """A folder whose reads fail with an error, and are noted."""

    error: SegmentsError = field(kw_only=True)
    reads: list[str] = field(default_factory=list, kw_only=True)

    def get(self, key: str) -> bytes:
        self.reads.append(key)
        raise self.error


@pytest.mark.parametrize(
    ("error", "reads"), [(StoreUnavailable("no answer"), 1), (ObjectMissing("gone"), 2)]
)
def test_a_store_without_an_answer_is_asked_once_before_a_plan(
    collector: CollectorDriver,
    other: CollectorDriver,
    tmp_path: Path,
    error: SegmentsError,
    reads: int,
) -> None:
    """Each further baby would wait for the store's timeout; missing ones are answered at once."""
    clock = SettableClock()
    store = _FailingStore(StoreLocation.from_url(tmp_path.as_uri()), error=error)
    parked = ParkedStreams(collector.client, clock)
    for driver in (collector, other):
        driver.send("a")
        parked.park(unreadable_baby(driver.stream_id, 0, error))
    clock.now += 3_600.0

    parked.retry(store)

    assert len(store.reads) == reads
    assert len(parked.offsets()) == 2


@pytest.mark.parametrize(
    ("error", "reads"), [(StoreUnavailable("no answer"), [1, 2]), (ObjectMissing("gone"), [0, 1])]
)
def test_a_store_without_an_answer_is_asked_at_a_steady_pace(
    collector: CollectorDriver,
    database_url: str,
    tmp_path: Path,
    error: SegmentsError,
    reads: list[int],
) -> None:
    """A missing baby is looked for ever more rarely; an outage may be over at any time."""
    clock = SettableClock()
    store = _FailingStore(StoreLocation.from_url(tmp_path.as_uri()), error=error)
    parked = ParkedStreams(collector.client, clock)
    collector.send("a")
    baby = unreadable_baby(collector.stream_id, 0, error)
    parked.park(baby)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE parked_streams SET parked_at = parked_at - interval '100 s'")
    parked.park(baby)

    for number in reads:
        clock.now += 60.0
        parked.retry(store)
        assert len(store.reads) == number


def test_a_skipped_baby_is_never_merged_even_if_it_comes_back(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    for text in ("a", "b", "c"):
        collector.send(text)
    body = lose(collector, 1)
    driver = nursery(collector.client)
    run_until_parked(collector, driver)

    refused = segplane(meta_server, "streams", "skip", collector.stream_id, "1")
    skip = ("streams", "skip", collector.stream_id, "1", "--accept-loss", "--reason", "disk")
    done = segplane(meta_server, *skip)
    restore(collector, 1, body)
    for fresh in (driver, nursery(collector.client)):
        for _ in range(3):
            fresh.cycle()

    assert refused.exit_code == 2
    assert done.exit_code == 0
    assert texts(collector) == ["a", "c"]
    (loss,) = json.loads(segplane(meta_server, "losses", "--json").stdout)
    assert (loss["offset"], loss["records"], loss["reason"]) == ("1", "1", "disk")
    checked = segplane(meta_server, "fsck", "--deep")
    assert checked.exit_code == 0
    assert f"accepted loss: baby segment {collector.stream_id}/1" in checked.stdout


def test_a_damaged_stream_without_datasets_ends_after_a_skip(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    foreign = "00000000-0000-7000-8000-000000000000"
    collector.dataset_id, own = foreign, collector.dataset_id
    for text in ("a", "b"):
        collector.send(text)
    collector.dataset_id = own
    lose(collector, 0)
    clock = SettableClock()
    driver = nursery(collector.client, clock=Clock(monotonic=clock))
    run_until_parked(collector, driver)

    done = segplane(meta_server, "streams", "skip", collector.stream_id, "0", "--accept-loss")
    clock.now += 10.0
    for _ in range(3):
        driver.cycle()

    assert done.exit_code == 0, done.stderr
    info = collector.info()
    assert info is not None
    assert info.deleted_offset == 1
    assert len(list(collector.store.list("quarantine/"))) == 2
