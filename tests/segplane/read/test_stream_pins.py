"""Pins of a stream while nothing is added: renewed within what meta gives, and no more than one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from meta.config import Settings
from segplane.read.spark.options import SourceOptions
from segplane.read.spark.source import SegplaneSource
from segplane.read.spark.stream import SegplaneStreamReader
from segplane.read.spark.stream_pins import StreamPins
from tests.segplane.read.conftest import delete_due
from tests.segplane.read.test_spark_stream import merge, pins
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

LEASE_SECS = 3.0


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Leases are short, whatever readers ask for; a deletion grace is over at once."""
    return replace(
        meta_settings,
        lifetimes=replace(meta_settings.lifetimes, tombstone_grace=0.0),
        pins=replace(meta_settings.pins, lease_secs=LEASE_SECS),
    )


@contextmanager
def reading(meta_server: MetaServer) -> Iterator[SegplaneStreamReader]:
    """Give what plans the batches of a stream."""
    source = SegplaneSource({"dataset": "web", "metaAddress": meta_server.address})
    reader = source.streamReader(source.schema())
    assert isinstance(reader, SegplaneStreamReader)
    try:
        yield reader
    finally:
        reader.stop()


def test_a_pin_is_renewed_within_the_lease_that_meta_gives(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    held = StreamPins(
        meta_server.client, SourceOptions(dataset="web", meta_address=meta_server.address)
    )
    try:
        pin = held.take(None)

        def is_renewed() -> bool:
            (now,) = pins(meta_server)
            assert now.id == pin.id
            return now.expires_at_nanos > pin.expires_at_nanos

        wait_until(is_renewed, "the pin is renewed", seconds=2 * LEASE_SECS)
    finally:
        held.close()


def test_a_stream_without_news_keeps_no_batch_that_is_done(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    for _ in range(4):
        segments.write()
    with reading(meta_server) as reader:
        limit = reader.getDefaultReadLimit()
        first = reader.latestOffset(reader.initialOffset(), limit)
        merge(meta_server)
        second = reader.latestOffset(first, limit)
        assert reader.partitions(first, second) == []
        assert delete_due(meta_server) == 0

        assert reader.latestOffset(second, limit) == second

        assert [pin.version for pin in pins(meta_server)] == [second["version"]]
        assert delete_due(meta_server) == 4
