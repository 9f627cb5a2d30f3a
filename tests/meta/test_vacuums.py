"""Vacuums at meta: pages, refusals, pins, brakes and the clock."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import (
    DeletionHeld,
    InvalidArgument,
    NameTaken,
    NotFound,
    QuotaExceeded,
    UpgradeUnfinished,
    VersionExpired,
)
from meta.v1 import operations_pb2
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.segments import WorkerDriver, Writer
from tests.support.meta.server import MetaServer

HOUR = 3_600


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def vacuum(
    client: MetaClient, vacuum_id: str = "", *, secs: int = HOUR, name: str | None = "web"
) -> pb.VacuumDatasetsResponse:
    request = pb.VacuumDatasetsRequest(
        vacuum_id=vacuum_id, dataset_name=name, older_than_secs=secs, dry_run=not vacuum_id
    )
    return client.resources.VacuumDatasets(request)


def take(client: MetaClient) -> list[str]:
    reply = client.resources.TakeVacuums(pb.TakeVacuumsRequest())
    return [taken.id for taken in reply.vacuums]


def execute(server: MetaServer, statement: str) -> None:
    with server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def age(server: MetaServer, hours: int = 2) -> None:
    by = f"interval '{hours} hours'"
    moved = f"created_at = created_at - {by}, tombstone_at = tombstone_at - {by}"
    execute(server, f"UPDATE segments SET {moved}")  # noqa: S608


def merge(writer: Writer, worker: WorkerDriver, dataset: str) -> int:
    """Merge 16 of 17 segments into one; the version that shows them."""
    writer.save_many(dataset, 17)
    version = writer.find("web").snapshot_version
    worker.plan()
    assert worker.merge_all() == 1
    return version


def test_datasets_come_in_pages_and_the_last_hands_the_vacuum_over(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    for number in range(101):
        catalog.dataset(f"dataset {number}")
    vacuum_id = str(uuid4())

    first = vacuum(meta_client, vacuum_id, name=None)
    before = take(meta_client)
    request = pb.VacuumDatasetsRequest(
        vacuum_id=vacuum_id,
        older_than_secs=HOUR,
        after_dataset_id=first.next_after_dataset_id,
    )
    second = meta_client.resources.VacuumDatasets(request)

    # The default dataset is one of them.
    assert (len(first.datasets), len(second.datasets)) == (100, 2)
    assert first.next_after_dataset_id == first.datasets[-1].dataset_id
    assert not second.next_after_dataset_id
    assert (before, take(meta_client)) == ([], [vacuum_id])


def test_one_vacuum_more_is_refused(
    meta_client: MetaClient, meta_server: MetaServer, dataset: str
) -> None:
    execute(
        meta_server,
        "INSERT INTO vacuums (id, older_than_secs, planned_at)"
        " SELECT gen_random_uuid(), 3600, now() FROM generate_series(1, 99)",
    )
    vacuum(meta_client, str(uuid4()))

    with pytest.raises(QuotaExceeded):
        vacuum(meta_client, str(uuid4()))
    assert len(take(meta_client)) == 100


def test_refusals_of_a_vacuum(
    meta_client: MetaClient, meta_server: MetaServer, dataset: str
) -> None:
    vacuum_id = str(uuid4())
    vacuum(meta_client, vacuum_id)

    with pytest.raises(InvalidArgument):
        vacuum(meta_client, secs=HOUR - 1)
    with pytest.raises(NotFound):
        vacuum(meta_client, name="other")
    with pytest.raises(NameTaken):
        vacuum(meta_client, vacuum_id, secs=HOUR + 1)
    with pytest.raises(NotFound):
        meta_client.resources.GetVacuum(pb.GetVacuumRequest(vacuum_id=str(uuid4())))
    meta_client.operations.HoldDeletion(operations_pb2.HoldDeletionRequest())
    with pytest.raises(DeletionHeld):
        vacuum(meta_client, str(uuid4()))
    assert take(meta_client) == []
    execute(meta_server, "UPDATE meta_state SET least_release = '0.3.0'")
    with pytest.raises(UpgradeUnfinished):
        vacuum(meta_client)


def test_a_pin_of_changes_keeps_the_horizon_at_its_version(
    meta_client: MetaClient,
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 604800")
    version = merge(writer, worker, dataset)
    PinDriver(meta_client).take("web", version=version, holds_changes=True)
    age(meta_server)

    (planned,) = vacuum(meta_client, str(uuid4())).datasets

    assert planned.horizon == version
    assert (planned.segments, planned.pinned_segments) == (0, 16)
    assert writer.due() == []


def test_a_time_before_a_vacuum_is_not_answered_with_a_later_version(
    meta_client: MetaClient,
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    merge(writer, worker, dataset)
    execute(meta_server, "UPDATE datasets SET created_at = created_at - interval '9 hours'")
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 604800")
    execute(meta_server, "UPDATE dataset_visibility SET from_time = from_time - interval '9 hours'")
    age(meta_server, 4)
    clock = meta_client.operations.GetServerState(operations_pb2.GetServerStateRequest())
    then = clock.database_time_nanos - 5 * HOUR * 10**9
    pins = PinDriver(meta_client)
    before = pins.take("web", as_of_nanos=then)
    pins.release(before)
    vacuum(meta_client, str(uuid4()))
    due = writer.due()
    writer.confirm(*(segment.segment_id for segment in due))

    assert len(due) == 16
    with pytest.raises(VersionExpired):
        pins.take("web", as_of_nanos=then)


def test_a_clock_that_steps_back_behind_a_vacuum_ends_no_grace(
    meta_client: MetaClient,
    meta_server: MetaServer,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    execute(meta_server, "UPDATE datasets SET tombstone_grace_secs = 604800")
    vacuum(meta_client, str(uuid4()))
    version = merge(writer, worker, dataset)
    # The segments are tombstoned later, at an earlier time.
    age(meta_server)

    assert writer.due() == []
    assert len(writer.find("web", as_of_version=version).segments) == 17
