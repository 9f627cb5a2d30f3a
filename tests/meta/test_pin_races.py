"""Pins that are taken at the same time: limits hold, and no dataset waits for another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from meta.config import Settings
from meta.errors import NameTaken, QuotaExceeded
from meta.store.deletion import tombstones
from meta.store.deletion.tombstones import Tombstoned
from meta.store.pins.pins import LOCK_KEY, NewPin, PinLimits, take
from tests.support.meta.busy_database import waiting_backends
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

LIMITS = PinLimits(per_owner=3, total=8, held_bytes_per_owner=12_000)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Small limits."""
    return replace(meta_settings, pins=LIMITS)


@pytest.fixture
def datasets(catalog: CatalogDriver) -> tuple[str, str]:
    return catalog.dataset("web"), catalog.dataset("other")


def taken(calls: list[Callable[[], object]]) -> int:
    """Make calls at once; returns how many were not refused for a limit."""

    def attempt(call: Callable[[], object]) -> bool:
        try:
            call()
        except QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(len(calls)) as pool:
        return sum(pool.map(attempt, calls))


def turns_taken(database_url: str) -> int:
    """Count the sessions that take or have the turn of pins."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
            " WHERE d.datname = current_database() AND locktype = 'advisory'"
            " AND (classid::bigint << 32) + objid::bigint = %s",
            (LOCK_KEY,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_pin_waits_for_no_pin_of_another_dataset(
    meta_server: MetaServer, database_url: str, datasets: tuple[str, str]
) -> None:
    pins = PinDriver(meta_server.client)
    with ThreadPoolExecutor(2) as pool:
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql("SELECT FROM datasets WHERE name = 'web' FOR UPDATE")
            waiting = pool.submit(pins.take, "web")
            wait_until(lambda: waiting_backends(database_url) == 1, "a pin waits")

            turns = turns_taken(database_url)
            other = pool.submit(pins.take, "other").result(timeout=10)

            assert not waiting.done()
        # Not only between two attempts of the waiting one, which gives up its locks for a moment.
        assert turns == 0
        assert other.dataset_id == datasets[1]
        assert waiting.result().dataset_id == datasets[0]


@pytest.mark.parametrize("repetition", range(3))
def test_pins_at_once_are_at_most_the_limit_of_their_owner_and_of_all(
    meta_server: MetaServer, datasets: tuple[str, str], repetition: int
) -> None:
    owners = [PinDriver(meta_server.client, name) for name in ("a", "b", "c")]

    def call(owner: PinDriver, name: str) -> Callable[[], object]:
        return lambda: owner.take(name)

    of_one = [call(owners[0], name) for name in ("web", "other") * 4]
    assert taken(of_one) == 3
    of_all = [call(owner, name) for owner in owners for name in ("web", "other") * 2]
    assert taken(of_all) == 8 - 3
    with pytest.raises(QuotaExceeded):
        PinDriver(meta_server.client, "d").take("web")


def test_pins_at_once_hold_at_most_the_bytes_of_their_owner(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, datasets: tuple[str, str]
) -> None:
    versions = {}
    for name, dataset_id in zip(("web", "other"), datasets, strict=True):
        writer.save_many(dataset_id, 6)
        versions[name] = PinDriver(meta_server.client, "before").take(name).version
    worker.plan()
    worker.merge_all()
    pins = PinDriver(meta_server.client)

    def call(name: str) -> Callable[[], object]:
        return lambda: pins.take(name, version=versions[name])

    # Each holds 6,000 bytes, of 12,000.
    assert taken([call(name) for name in ("web", "other") * 3]) == 2


def test_a_pin_that_is_taken_while_a_hand_out_waits_holds_its_segments(
    meta_server: MetaServer,
    database_url: str,
    writer: Writer,
    worker: WorkerDriver,
    datasets: tuple[str, str],
) -> None:
    writer.save_many(datasets[0], 6)
    shown = writer.find_ids("web")
    version = writer.find("web").snapshot_version
    worker.plan()
    worker.merge_all()
    database = meta_server.running.database
    new = NewPin(uuid4(), "reader", "web", version, lease_secs=60)

    def hand_out() -> list[Tombstoned]:
        with database.write() as tx:
            return tombstones.hand_out(tx, grace_secs=0.0, most=10)

    with ThreadPoolExecutor(1) as pool, database.write() as tx:
        take(tx, new, LIMITS, grace_secs=60.0)
        due = pool.submit(hand_out)
        wait_until(lambda: waiting_backends(database_url) == 1, "the hand-out waits")

    assert due.result() == []
    assert writer.find_ids("web", as_of_version=version) == shown


def test_one_pin_that_is_taken_by_two_calls_at_once_is_one(
    meta_server: MetaServer, datasets: tuple[str, str]
) -> None:
    pins, pin_id = PinDriver(meta_server.client), str(uuid4())

    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: pins.take("web", pin_id=pin_id), range(8)))

    assert {pin.id for pin in same} == {pin_id}
    assert len(pins.list()) == 1
    with pytest.raises(NameTaken):
        pins.take("other", pin_id=pin_id)
