"""A reader survives merges and the deletion of all that it reads, as long as its pin does."""

import gc
from dataclasses import replace
from pathlib import Path

import pytest

from janitor.config import Settings
from janitor.jobs import Tools, delete_tombstoned
from meta import config
from meta.process.shutdown import Shutdown
from segments.location import Stores
from segments.store.open import open_store
from segplane.read import PinLost, open_dataset
from tests.segplane.read.conftest import Open
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until


@pytest.fixture
def lease_secs() -> float:
    """The longest lease; a test makes it shorter by a parameter of this name."""
    return 3_600.0


@pytest.fixture
def meta_settings(meta_settings: config.Settings, lease_secs: float) -> config.Settings:
    """Let tombstoned segments go at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    pins = replace(meta_settings.pins, lease_secs=lease_secs)
    return replace(meta_settings, lifetimes=lifetimes, pins=pins)


@pytest.fixture
def pins(meta_server: MetaServer) -> PinDriver:
    return PinDriver(meta_server.client)


def replace_and_delete_all(server: MetaServer) -> None:
    """Merge every segment, and delete what no pin holds."""
    worker = WorkerDriver(server.client)
    worker.plan()
    worker.merge_all()
    location = server.settings.location
    tools = Tools(
        server.client, open_store(location), Stores(location), Settings(), Shutdown(), "janitor"
    )
    delete_tombstoned(tools)


def objects(server: MetaServer) -> list[Path]:
    return list(Path("/", server.settings.location.path).rglob("*.parquet"))


def test_a_reader_survives_the_deletion_of_everything_it_reads(
    segments: SegmentWriter, opened: Open, meta_server: MetaServer, pins: PinDriver
) -> None:
    for _ in range(5):
        segments.write()
    web = opened()
    # The first file has been read when the others would go.
    reader = web.to_reader()
    first = reader.read_next_batch()

    replace_and_delete_all(meta_server)

    assert first.num_rows + reader.read_all().num_rows == 100
    assert web.to_table().num_rows == 100
    web.close()
    assert pins.list() == []
    replace_and_delete_all(meta_server)
    assert objects(meta_server) == []


@pytest.mark.long
@pytest.mark.parametrize("lease_secs", [4.0])
def test_a_reader_outlasts_the_leases_of_its_pin(
    segments: SegmentWriter,
    opened: Open,
    meta_server: MetaServer,
    pins: PinDriver,
    lease_secs: float,
) -> None:
    # An hour is twelve leases of five minutes; here a lease is seconds.
    for _ in range(5):
        segments.write()
    web = opened()
    reader = web.to_reader()
    first = reader.read_next_batch()
    (taken,) = pins.list()
    replace_and_delete_all(meta_server)

    def has_outlasted() -> bool:
        (pin,) = pins.list()
        return pin.expires_at_nanos > taken.expires_at_nanos + lease_secs * 10**9

    wait_until(has_outlasted, "the first lease has passed, and the pin is there")
    replace_and_delete_all(meta_server)

    assert first.num_rows + reader.read_all().num_rows == 100
    assert web.to_table().num_rows == 100


def test_a_reader_says_that_its_pin_was_released(
    segments: SegmentWriter, opened: Open, meta_server: MetaServer, pins: PinDriver
) -> None:
    for _ in range(5):
        segments.write()
    web = opened()
    source = web.source()
    (pin,) = pins.list()
    pins.release(pin, by_operator=True)
    replace_and_delete_all(meta_server)
    assert objects(meta_server) == []

    with pytest.raises(PinLost) as lost:
        web.to_table()

    assert str(lost.value) == (
        f"dataset 'web' is no longer kept at version {web.version} (its pin was released or has"
        " expired), so its files may be deleted: open it again"
    )
    # From now on it is known.
    for read in (web.polars, web.to_arrow, source.scanner):
        with pytest.raises(PinLost):
            read()


def test_a_closed_dataset_is_not_read(segments: SegmentWriter, opened: Open) -> None:
    segments.write()
    with opened() as web:
        source = web.source()

    for read in (web.to_table, source.to_table):
        with pytest.raises(PinLost, match="it was closed"):
            read()


@pytest.mark.long
def test_a_dataset_that_nobody_holds_is_released(
    segments: SegmentWriter, meta_server: MetaServer, pins: PinDriver
) -> None:
    segments.write()

    assert open_dataset("web", meta_address=meta_server.address).pandas().shape[0] == 20
    gc.collect()

    wait_until(lambda: not pins.list(), "the pin is released")


@pytest.mark.long
def test_what_reads_lazily_keeps_the_pin(
    segments: SegmentWriter, meta_server: MetaServer, pins: PinDriver
) -> None:
    for _ in range(5):
        segments.write()
    frame = open_dataset("web", meta_address=meta_server.address).polars()
    gc.collect()

    replace_and_delete_all(meta_server)

    assert frame.collect().height == 100
    (pin,) = pins.list()
    assert pin.dataset_name == "web"
    assert "@" in pin.owner
