"""Pins: a pinned version stays readable, whole, until its lease expires or it is released."""

from dataclasses import replace
from uuid import uuid4

import pytest

from meta import metrics
from meta.config import Settings
from meta.errors import InvalidArgument, NameTaken, NotFound, VersionExpired
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.background import rounds_on
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def pins(meta_server: MetaServer) -> PinDriver:
    return PinDriver(meta_server.client)


def execute(meta_server: MetaServer, statement: str) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def expire(meta_server: MetaServer) -> None:
    """Let the lease of every pin pass."""
    execute(meta_server, "UPDATE pins SET expires_at = now() - interval '1 s'")


def merge(writer: Writer, worker: WorkerDriver, dataset: str) -> list[str]:
    """Save segments and merge all there are; returns the saved ones."""
    ids = writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()
    return ids


def delete_due(writer: Writer) -> set[str]:
    """Delete what is due, as the janitor does."""
    due = {one.segment_id for one in writer.due()}
    assert writer.confirm(*due).HasField("success")
    return due


def pin_replaced(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> tuple[pb.Pin, list[str]]:
    """Pin a version, then merge what it shows and more; returns the pin and what it shows."""
    writer.save_many(dataset, 4)
    pin = pins.take()
    shown = writer.find_ids("web")
    worker.plan()
    worker.merge_all()
    merge(writer, worker, dataset)
    return pin, shown


def test_a_pinned_version_is_read_whole_below_the_horizon(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    older = merge(writer, worker, dataset)
    pin, shown = pin_replaced(writer, worker, dataset, pins)

    deleted = delete_due(writer)

    assert set(older) < deleted
    assert not deleted & set(shown)
    assert writer.find_ids("web", as_of_version=pin.version) == shown
    assert writer.find_ids("web", as_of_version=pin.version, limit=1) == shown
    for version in (pin.version - 1, pin.version + 1):
        with pytest.raises(VersionExpired):
            writer.find("web", as_of_version=version)


def test_a_held_segment_cannot_be_confirmed(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    pin, (held, *others) = pin_replaced(writer, worker, dataset, pins)
    delete_due(writer)

    refused = writer.confirm(held)
    pins.release(pin)

    assert refused.error.reason == "GRACE_NOT_OVER"
    assert delete_due(writer) == {held, *others}


@pytest.mark.parametrize("end", ["expires", "is released", "is released by an operator"])
def test_a_version_whose_pin_ends_has_expired_and_is_deleted(
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    pins: PinDriver,
    end: str,
) -> None:
    pin, shown = pin_replaced(writer, worker, dataset, pins)
    delete_due(writer)

    if end == "expires":
        expire(meta_server)
    else:
        assert pins.release(pin, by_operator=end.endswith("operator"))

    with pytest.raises(VersionExpired):
        writer.find("web", as_of_version=pin.version)
    with pytest.raises(VersionExpired):
        pins.take(version=pin.version)
    with pytest.raises(NotFound):
        pins.renew(pin)
    assert delete_due(writer) == set(shown)
    assert not pins.release(pin)
    assert pins.list() == []


def test_a_repeated_call_returns_the_first_pin(
    writer: Writer, dataset: str, pins: PinDriver
) -> None:
    pin = pins.take()
    writer.save_many(dataset, 1)

    again = pins.take(pin_id=pin.id, lease_secs=600)

    assert (again.version, again.expires_at_nanos) == (pin.version, pin.expires_at_nanos)
    assert len(pins.list()) == 1
    with pytest.raises(NameTaken):
        pins.take(pin_id=pin.id, version=pin.version + 1)
    with pytest.raises(NameTaken):
        PinDriver(pins.client, "another").take(pin_id=pin.id)


def test_a_pin_of_another_dataset_holds_nothing(
    catalog: CatalogDriver, writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    merge(writer, worker, dataset)
    catalog.dataset("other")
    pin = pins.take("other")
    merge(writer, worker, dataset)
    delete_due(writer)

    assert writer.find("other", as_of_version=pin.version).snapshot_version == pin.version
    with pytest.raises(VersionExpired):
        writer.find("web", "other", as_of_version=pin.version)


def test_a_pin_outlasts_retention_and_the_deletion_of_its_dataset(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    dataset: str,
    pins: PinDriver,
) -> None:
    ids = writer.save_many(dataset, 2)
    pin = pins.take()
    version = "(SELECT version FROM meta_state)"
    execute(meta_server, "UPDATE meta_state SET version = version + 1")
    execute(
        meta_server,
        f"UPDATE segments SET tombstone_version = {version}, tombstone_at = now()"  # noqa: S608
        f" WHERE id = '{ids[0]}'",
    )
    catalog.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=dataset))
    execute(meta_server, "UPDATE meta_state SET version = version + 1")
    execute(
        meta_server,
        f"UPDATE segments SET tombstone_version = {version}, tombstone_at = now()"  # noqa: S608
        f" WHERE id = '{ids[1]}'",
    )

    assert writer.due() == []
    assert writer.find_ids("web", as_of_version=pin.version) == ids
    pins.release(pin)
    assert delete_due(writer) == set(ids)


def test_what_a_server_without_pins_hands_out_voids_the_pins_below(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    pin, _ = pin_replaced(writer, worker, dataset, pins)
    # A server of 0.1.0 beside this one raises its own column only.
    execute(
        meta_server,
        "UPDATE datasets SET deletion_horizon = (SELECT version FROM meta_state)"
        " WHERE name = 'web'",
    )

    with pytest.raises(VersionExpired):
        writer.find("web", as_of_version=pin.version)
    current = pins.take()
    with pytest.raises(NotFound):
        pins.renew(pin)
    assert writer.find("web", as_of_version=current.version).segments


@pytest.mark.parametrize(
    "request_fields",
    [
        {"pin_id": "x"},
        {"version": -1},
        {"version": 10**12},
        {"lease_secs": -1},
        {"dataset_name": "\n"},
    ],
    ids=str,
)
def test_malformed_requests_are_refused(
    dataset: str, pins: PinDriver, request_fields: dict[str, object]
) -> None:
    fields: dict[str, object] = {"pin_id": str(uuid4()), "dataset_name": "web"} | request_fields

    with pytest.raises(InvalidArgument) as refused:
        pins.take(**fields)  # type: ignore[arg-type]

    assert refused.value.field in request_fields


def test_a_pin_of_an_unknown_dataset_is_not_found(pins: PinDriver) -> None:
    with pytest.raises(NotFound):
        pins.take("nobody")


def test_gauges_follow_the_pins(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    watch = rounds_on(meta_server.running.database)
    pin, _ = pin_replaced(writer, worker, dataset, pins)
    renewed = pins.renew(pin)
    watch.count_pins()

    assert renewed.held_bytes > 0
    assert metrics.PINS._value.get() == 1
    assert metrics.PIN_HELD_BYTES._value.get() == renewed.held_bytes
    expire(meta_server)
    watch.count_pins()
    assert metrics.PINS._value.get() == metrics.PIN_HELD_BYTES._value.get() == 0
