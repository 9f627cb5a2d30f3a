"""A stream that waits: its pin is renewed, moves on with the version, and frees what is behind."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql.streaming.query import StreamingQuery

from meta.config import Settings
from meta.v1 import operations_pb2 as pb
from tests.segplane.read.conftest import delete_due
from tests.segplane.read.test_spark_stream import Stream, merge, pins, stream
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

__all__ = ["stream"]  # A fixture.

# Seconds each of waiting for leases.
pytestmark = [pytest.mark.spark, pytest.mark.slow]
LEASE_SECS, AGE_SECS = 4.0, 6.0
DEADLINE_SECS = 60.0


@pytest.fixture
def meta_settings(meta_settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """Leases are short, whatever readers ask for; a deletion grace is over at once."""
    age_secs = getattr(request, "param", meta_settings.pins.age_secs)
    return replace(
        meta_settings,
        lifetimes=replace(meta_settings.lifetimes, tombstone_grace=0.0),
        pins=replace(meta_settings.pins, lease_secs=LEASE_SECS, age_secs=age_secs),
    )


def held(meta_server: MetaServer) -> list[pb.Pin]:
    return [pin for pin in pins(meta_server) if pin.holds_changes]


@contextmanager
def waiting(stream: Stream) -> Iterator[StreamingQuery]:
    """Run a stream until it has read what there is and waits."""
    query = stream.start(is_bounded=False)
    try:
        query.processAllAvailable()
        yield query
    finally:
        query.stop()


def newest(meta_server: MetaServer) -> pb.Pin:
    """The pin that a stream goes on from."""
    wait_until(lambda: bool(held(meta_server)), "a pin", seconds=DEADLINE_SECS)
    return max(held(meta_server), key=lambda pin: pin.version)


def rows_read(query: StreamingQuery) -> int:
    assert query.exception() is None
    return sum(progress.numInputRows for progress in query.recentProgress)


def test_an_idle_stream_renews_its_pin_and_frees_what_was_merged(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream
) -> None:
    for _ in range(4):
        segments.write()

    with waiting(stream) as query:
        before = newest(meta_server).version
        merge(meta_server)

        def has_moved_on() -> bool:
            return {pin.version > before for pin in held(meta_server)} == {True}

        wait_until(has_moved_on, "the pin before the merge is released", seconds=DEADLINE_SECS)
        assert delete_due(meta_server) == 4

        def is_renewed() -> bool:
            nanos = [pin.expires_at_nanos - pin.created_at_nanos for pin in held(meta_server)]
            return max(nanos, default=0) > 1.25 * LEASE_SECS * 10**9

        wait_until(is_renewed, "the lease is longer than it was given", seconds=DEADLINE_SECS)
        segments.write()
        wait_until(lambda: rows_read(query) == 100, "the new rows", seconds=DEADLINE_SECS)

    assert stream.rows() == Counter(segments.rows)


@pytest.mark.parametrize("meta_settings", [AGE_SECS], indirect=True, ids=["short age"])
def test_the_pin_of_an_idle_stream_follows_versions_of_other_datasets(
    meta_server: MetaServer, segments: SegmentWriter, stream: Stream, tmp_path: Path
) -> None:
    other = SegmentWriter(
        meta_server.client, CatalogDriver(meta_server.client).dataset("other"), tmp_path
    )
    segments.write()

    with waiting(stream) as query:
        first = newest(meta_server)
        other.write()

        def has_followed() -> bool:
            return {pin.version > first.version for pin in held(meta_server)} == {True}

        wait_until(has_followed, "no pin of the old version is left", seconds=DEADLINE_SECS)
        # The longest life of the first pin is over: the stream goes on.
        wait_until(
            lambda: any(pin.created_at_nanos > first.ends_at_nanos for pin in held(meta_server)),
            "a pin from after the first one's end",
            seconds=DEADLINE_SECS,
        )
        segments.write()
        wait_until(lambda: rows_read(query) == 40, "the new rows", seconds=DEADLINE_SECS)

    assert stream.rows() == Counter(segments.rows)
