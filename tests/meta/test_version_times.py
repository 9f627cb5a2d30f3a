"""Pins by time: the version that a dataset had at a moment."""

import pytest

from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.v1 import operations_pb2 as ops
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import rename
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

HOUR = 3_600 * 10**9


@pytest.fixture
def pins(meta_server: MetaServer) -> PinDriver:
    return PinDriver(meta_server.client)


def age(meta_server: MetaServer, hours: int) -> None:
    """Let everything that has happened so far be older."""
    ago = f"- interval '{hours} hours'"
    with meta_server.running.database.write() as tx:
        for table, column in (
            ("segments", "created_at"),
            ("segments", "tombstone_at"),
            ("datasets", "created_at"),
            ("dataset_visibility", "from_time"),
        ):
            tx.exec_driver_sql(f"UPDATE {table} SET {column} = {column} {ago}")  # noqa: S608


def now(meta_server: MetaServer) -> int:
    """Return the database's time in nanoseconds."""
    with meta_server.running.database.read() as tx:
        micros = tx.exec_driver_sql(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        ).scalar_one()
    return int(micros) * 1_000


def test_a_time_pins_the_version_of_then(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    pins: PinDriver,
) -> None:
    dataset = catalog.dataset("web")
    writer.save_many(dataset, 4)
    worker.plan()
    assert worker.merge_all() == 1
    age(meta_server, 2)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "UPDATE segments SET created_at = created_at - interval '1 hour'"
            " WHERE tombstone_at IS NOT NULL"
        )
        tx.exec_driver_sql("UPDATE datasets SET created_at = created_at - interval '2 hours'")
    writer.save_many(dataset, 2)
    present = now(meta_server)

    counts = []
    for hours in (0, 1, 2.5, 3.5):
        pin = pins.take(as_of_nanos=present - int(hours * HOUR))
        counts.append(len(writer.find_ids("web", as_of_version=pin.version)))

    assert counts == [3, 1, 4, 0]
    with pytest.raises(NotFound):
        pins.take(as_of_nanos=present - 5 * HOUR)
    with pytest.raises(NotFound):
        pins.take("wbe", as_of_nanos=present)
    with pytest.raises(InvalidArgument, match="exclude one another"):
        pins.take(version=1, as_of_nanos=present)


def test_the_greatest_version_shows_each_of_several_datasets_as_it_was(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer, pins: PinDriver
) -> None:
    first, second = catalog.dataset("first"), catalog.dataset("second")
    writer.save_many(first, 1)
    writer.save_many(second, 2)
    age(meta_server, 1)
    writer.save_many(first, 4)
    then = now(meta_server) - HOUR // 2

    version = max(pins.take(name, as_of_nanos=then).version for name in ("first", "second"))

    assert len(writer.find_ids("first", as_of_version=version)) == 1
    assert len(writer.find_ids("second", as_of_version=version)) == 2


def test_a_time_before_what_was_deleted_has_expired_and_one_after_has_not(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    pins: PinDriver,
) -> None:
    dataset = catalog.dataset("web")
    writer.save_many(dataset, 4)
    worker.plan()
    assert worker.merge_all() == 1
    age(meta_server, 24 * 30)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE datasets SET created_at = created_at - interval '30 days'")
    assert writer.confirm(*(one.segment_id for one in writer.due())).HasField("success")
    present = now(meta_server)

    pin = pins.take(as_of_nanos=present - HOUR)

    assert len(writer.find_ids("web", as_of_version=pin.version)) == 1
    with pytest.raises(VersionExpired):
        pins.take(as_of_nanos=present - 24 * 40 * HOUR)


def test_a_time_after_a_segment_was_hidden_is_without_it(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer, pins: PinDriver
) -> None:
    dataset = catalog.dataset("web")
    damaged, whole = writer.save_many(dataset, 2)
    acceptance = ops.LossAcceptance(accept_loss=True, actor="operator")
    meta_server.client.operations.HideSegment(
        ops.HideSegmentRequest(segment_id=damaged, acceptance=acceptance)
    )
    age(meta_server, 2)
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE losses SET lost_at = lost_at - interval '1 hour'")
        tx.exec_driver_sql("UPDATE datasets SET created_at = created_at - interval '3 hours'")
    present = now(meta_server)

    def shown(hours: float, since: int = present) -> list[str]:
        pin = pins.take(as_of_nanos=since - int(hours * HOUR))
        return writer.find_ids("web", as_of_version=pin.version)

    assert shown(0.5) == [whole]
    assert sorted(shown(1.5)) == sorted([damaged, whole])

    acceptance = ops.LossAcceptance(actor="operator")
    meta_server.client.operations.ReplaceSegment(
        ops.ReplaceSegmentRequest(
            segment_id=damaged,
            segment=segment_of(dataset, key="healed.parquet"),
            acceptance=acceptance,
        )
    )
    assert shown(0.5) == [whole]
    assert sorted(shown(1.5)) == sorted([damaged, whole])
    assert len(shown(0, now(meta_server))) == 2


def test_a_time_has_the_names_of_then(
    meta_server: MetaServer, catalog: CatalogDriver, writer: Writer, pins: PinDriver
) -> None:
    dataset = catalog.dataset("web")
    first = writer.save_many(dataset, 1)
    age(meta_server, 3)
    second = writer.save_many(dataset, 1)
    rename(meta_server.client, dataset, "shop")
    age(meta_server, 2)
    # Another dataset takes the name that was given up; nothing is written after the renaming.
    other = writer.save_many(catalog.dataset("web"), 1)
    present = now(meta_server)

    def shown(name: str, hours: float) -> list[str]:
        pin = pins.take(name, as_of_nanos=present - int(hours * HOUR))
        assert pin.dataset_name == name
        return writer.find_ids(name, as_of_version=pin.version)

    assert shown("web", 4) == first
    assert shown("shop", 1) == sorted([*first, *second])
    assert shown("web", 0) == other
    assert shown("shop", 0) == sorted([*first, *second])
    with pytest.raises(NotFound, match="had another name"):
        pins.take("shop", as_of_nanos=present - 4 * HOUR)
    with pytest.raises(NotFound):
        pins.take("web", as_of_nanos=present - HOUR)
