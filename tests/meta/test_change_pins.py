"""Pins of changes: what later versions did can be read for as long as the pin lasts."""

from dataclasses import replace

import pytest

from meta.config import Settings
from meta.errors import NameTaken, NotFound, VersionExpired
from meta.store.pins.pins import Pinned
from meta.v1 import operations_pb2 as pb
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


def merge(writer: Writer, worker: WorkerDriver, dataset: str) -> set[str]:
    """Save segments and merge all there are; returns the saved ones."""
    ids = writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()
    return set(ids)


def delete_due(writer: Writer) -> set[str]:
    """Delete what is due, as the janitor does."""
    due = {segment.segment_id for segment in writer.due()}
    assert writer.confirm(*due).HasField("success")
    return due


def changes(pins: PinDriver, since: int) -> list[pb.DatasetChange]:
    request = pb.ListDatasetChangesRequest(dataset_name="web", since_version=since)
    return list(pins.client.operations.ListDatasetChanges(request).changes)


def test_changes_since_a_pin_of_changes_are_answered_and_kept(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    before = merge(writer, worker, dataset)
    pin = pins.take(holds_changes=True)

    added = merge(writer, worker, dataset)
    deleted = delete_due(writer)

    assert before <= deleted
    assert not added & deleted
    seen = changes(pins, pin.version)
    assert {c.segment.id for c in seen if not c.is_removed and not c.is_merge} == added
    refused = writer.confirm(*added)
    assert refused.error.reason == "GRACE_NOT_OVER"
    renewed = pins.renew(pin)
    assert renewed.holds_changes
    assert renewed.held_segments >= len(added)
    assert renewed.held_bytes > 0


def test_a_pin_of_a_version_alone_does_not_keep_its_changes(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    writer.save_many(dataset, 1)
    pin = pins.take()

    added = merge(writer, worker, dataset)

    assert added <= delete_due(writer)
    with pytest.raises(VersionExpired):
        changes(pins, pin.version)


def test_changes_since_the_oldest_version_that_is_left_can_be_pinned(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    merge(writer, worker, dataset)
    oldest = max(writer.find("web").snapshot_version, 1)
    delete_due(writer)

    pin = pins.take(version=oldest, holds_changes=True)
    added = merge(writer, worker, dataset)

    assert pin.version == oldest
    assert not added & delete_due(writer)


def test_a_pin_of_changes_holds_what_came_and_went_since() -> None:
    version_alone, changes_too = Pinned((5,), None), Pinned((5,), 5)

    # Created and tombstoned at these versions.
    assert version_alone.holds(5, 6)
    assert not version_alone.holds(6, 7)
    assert changes_too.holds(6, 7)
    assert not changes_too.holds(4, 5)


def test_changes_are_forgotten_once_the_pin_is_released(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    pin = pins.take(holds_changes=True)
    added = merge(writer, worker, dataset)
    assert not delete_due(writer)

    pins.release(pin)

    assert added <= delete_due(writer)
    with pytest.raises(VersionExpired):
        changes(pins, pin.version)
    with pytest.raises(VersionExpired):
        pins.take(version=pin.version, pin_id=pin.id, holds_changes=True)
    with pytest.raises(NotFound):
        pins.renew(pin)


def test_a_version_that_another_pin_shows_below_the_horizon_has_no_changes_to_hold(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    writer.save_many(dataset, 1)
    shown = pins.take()
    merge(writer, worker, dataset)
    assert delete_due(writer)

    assert pins.take(version=shown.version).version == shown.version
    with pytest.raises(VersionExpired):
        pins.take(version=shown.version, holds_changes=True)


def test_the_oldest_pin_of_changes_decides(
    writer: Writer, worker: WorkerDriver, dataset: str, pins: PinDriver
) -> None:
    older = pins.take(holds_changes=True)
    first = merge(writer, worker, dataset)
    newer = pins.take(holds_changes=True)
    second = merge(writer, worker, dataset)

    assert not delete_due(writer)
    pins.release(older)

    deleted = delete_due(writer)
    assert first <= deleted
    assert not second & deleted
    assert {c.segment.id for c in changes(pins, newer.version) if c.is_removed} >= second


def test_an_id_of_a_pin_of_another_kind_is_taken(
    writer: Writer, dataset: str, pins: PinDriver
) -> None:
    pin = pins.take(holds_changes=True)

    assert pins.take(pin_id=pin.id, holds_changes=True).version == pin.version
    with pytest.raises(NameTaken):
        pins.take(pin_id=pin.id)
