"""Bounds of pins: leases, age, numbers and bytes held, at the bound and one beyond."""

from dataclasses import replace

import pytest

from meta.config import Settings, load
from meta.errors import QuotaExceeded, VersionExpired
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.store.pins.pins import PinLimits
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

LIMITS = PinLimits(
    lease_secs=100, age_secs=1_000, per_owner=2, total=3, held_bytes_per_owner=12_000
)
SECOND = 1_000_000_000


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Small limits, and a deletion grace of 10 s."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=10.0)
    return replace(meta_settings, lifetimes=lifetimes, pins=LIMITS)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def pins(meta_server: MetaServer) -> PinDriver:
    return PinDriver(meta_server.client)


def execute(meta_server: MetaServer, statement: str) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def test_a_lease_above_the_maximum_counts_as_the_maximum(dataset: str, pins: PinDriver) -> None:
    at_most, above = pins.take(lease_secs=100), pins.take(lease_secs=101)

    for pin in (at_most, above, pins.renew(above, 10**9)):
        assert 98 <= pin.left_secs <= 100
        age_secs = (pin.ends_at_nanos - pin.created_at_nanos) / SECOND
        assert age_secs == pytest.approx(1_000, abs=0.1)


def test_a_renewal_never_shortens_a_lease_nor_moves_it_beyond_its_end(
    meta_server: MetaServer, dataset: str, pins: PinDriver
) -> None:
    pin = pins.take(lease_secs=100)

    shorter = pins.renew(pin, 1)
    execute(meta_server, "UPDATE pins SET ends_at = expires_at + interval '1 s'")
    last = pins.renew(pin, 10**6)
    execute(meta_server, "UPDATE pins SET ends_at = expires_at")
    ended = pins.renew(pin, 10**6)

    assert shorter.expires_at_nanos == pin.expires_at_nanos
    assert last.expires_at_nanos <= pin.expires_at_nanos + SECOND
    assert ended.expires_at_nanos == ended.ends_at_nanos


def test_one_pin_more_than_an_owner_may_have_is_refused(dataset: str, pins: PinDriver) -> None:
    first, _ = pins.take(), pins.take()

    with pytest.raises(QuotaExceeded):
        pins.take()
    pins.release(first)
    assert pins.take()


def test_one_pin_more_than_there_may_be_is_refused(
    meta_server: MetaServer, dataset: str, pins: PinDriver
) -> None:
    other = PinDriver(pins.client, "other")
    pins.take(), pins.take(), other.take()

    with pytest.raises(QuotaExceeded):
        other.take()
    # What has expired counts no more.
    execute(meta_server, "UPDATE pins SET expires_at = now() - interval '1 s'")
    assert other.take()


@pytest.mark.parametrize("more_bytes", [0, 1])
def test_an_owner_whose_pins_hold_too_many_bytes_can_neither_take_nor_renew(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver, more_bytes: int
) -> None:
    writer.save_many(dataset, 4)
    pin = pins.take()
    worker.plan()
    worker.merge_all()
    held = pins.renew(pin)
    sizes = (1_000, 1_000, 2_000 + more_bytes)
    writer.save(*(segment_of(dataset, compressed=size) for size in sizes))
    newer = pins.take()
    worker.plan()
    worker.merge_all()
    assert held.held_bytes == 4_000

    if more_bytes == 0:
        assert pins.renew(newer).held_bytes == 8_000
        return
    with pytest.raises(QuotaExceeded):
        pins.renew(newer)
    pins.release(newer)
    with pytest.raises(QuotaExceeded):
        pins.take(version=newer.version)
    # Another owner has its own bytes.
    assert PinDriver(pins.client, "other").take(version=newer.version).held_bytes == 8_001


def test_pins_taken_in_turn_hold_a_segment_no_longer_than_one(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    writer.save_many(dataset, 4)
    pin = pins.take()
    worker.plan()
    worker.merge_all()
    execute(meta_server, "UPDATE segments SET tombstone_at = tombstone_at - interval '1005 s'")

    # Tombstoned 1,005 s ago, grace 10 s, age 1,000 s: 5 s are left.
    next_pin = pins.take(version=pin.version)

    left = (next_pin.ends_at_nanos - next_pin.created_at_nanos) / SECOND
    assert 0 < left <= 5
    assert next_pin.expires_at_nanos == next_pin.ends_at_nanos
    pins.release(next_pin)
    execute(meta_server, "UPDATE segments SET tombstone_at = tombstone_at - interval '6 s'")
    with pytest.raises(VersionExpired):
        pins.take(version=pin.version)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("META_PIN_AGE_SECS_MAX", "0"),
        ("META_PIN_BYTES_MAX", "-1"),
    ],
)
def test_settings_out_of_their_bounds_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        load(Environment("META_", {"META_DATABASE_URL": "postgresql://h/n", name: value}))
