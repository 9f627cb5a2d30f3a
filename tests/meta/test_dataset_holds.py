"""Locks on datasets are legal holds: loops delete nothing of them, until a day after the end."""

from dataclasses import replace
from uuid import uuid4

import pytest
from google.protobuf.duration_pb2 import Duration
from sqlalchemy import text

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Locked, NotFound, UndeleteExpired
from meta.store.deletion import dataset_deletion, retention
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as res
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, set_settings, undelete
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

_DAY_LATER = text("""
    UPDATE datasets SET hold_ends_at = hold_ends_at - interval '1 day'
    WHERE hold_ends_at < 'infinity'
""")
_DELETED_LONG_AGO = text(
    "UPDATE datasets SET deleted_at = now() - interval '30 days' WHERE deleted_at IS NOT NULL"
)


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def locks(meta_client: MetaClient) -> LockDriver:
    return LockDriver(meta_client)


@pytest.fixture
def transactions(meta_server: MetaServer) -> Transactions:
    return Transactions(meta_server.running.database)


def keep_briefly(client: MetaClient, dataset: str) -> None:
    """Set a retention that every segment of the tests exceeds."""
    set_settings(client, dataset, ops.DatasetSettings(event_retention=Duration(seconds=1)))
    request = ops.SetDatasetSettingsRequest(dataset_id=dataset, deletes_confirmed=1_000)
    request.settings.event_retention.CopyFrom(Duration(seconds=1))
    client.operations.SetDatasetSettings(request)


def test_retention_leaves_a_held_dataset_until_a_day_after_its_lock(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    locks: LockDriver,
    catalog: CatalogDriver,
    dataset: str,
) -> None:
    other = catalog.dataset("other")
    held, expired = writer.save_many(dataset, 2), writer.save_many(other, 2)
    for one in (dataset, other):
        keep_briefly(meta_client, one)
    token = locks.lock("dataset", dataset).token

    assert transactions.write(retention.bury_expired) == 2
    assert sorted(writer.find_ids("web")) == sorted(held)
    assert writer.find_ids("other") == []
    assert sorted(one.segment_id for one in writer.due()) == sorted(expired)
    locks.unlock("dataset", dataset, token)
    assert transactions.write(retention.bury_expired) == 0
    transactions.write(lambda tx: tx.execute(_DAY_LATER))
    assert transactions.write(retention.bury_expired) == 2


def test_tombstones_of_before_a_lock_stay_and_inputs_of_merges_go(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    worker: WorkerDriver,
    locks: LockDriver,
    dataset: str,
) -> None:
    expired = writer.save_many(dataset, 2)
    keep_briefly(meta_client, dataset)
    assert transactions.write(retention.bury_expired) == 2
    token = locks.lock("dataset", dataset).token

    assert writer.due() == []
    inputs = writer.save_many(dataset, 8)
    worker.plan()
    task = worker.poll()
    assert worker.complete(task.task_id, worker.output(task)).HasField("success")

    assert sorted(one.segment_id for one in writer.due()) == sorted(inputs)
    assert writer.confirm(*inputs).success.deleted_count == 8
    locks.unlock("dataset", dataset, token)
    assert writer.due() == []
    transactions.write(lambda tx: tx.execute(_DAY_LATER))
    assert sorted(one.segment_id for one in writer.due()) == sorted(expired)


def test_a_deleted_dataset_that_is_locked_is_not_purged_and_comes_back(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    locks: LockDriver,
    dataset: str,
) -> None:
    ids = writer.save_many(dataset, 2)
    delete(meta_client, dataset)
    token = locks.lock("dataset", dataset).token
    transactions.write(lambda tx: tx.execute(_DELETED_LONG_AGO))

    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 60.0)) == 0
    assert undelete(meta_client, dataset).success
    assert sorted(writer.find_ids("web")) == sorted(ids)
    with pytest.raises(Locked):
        delete(meta_client, dataset)
    locks.unlock("dataset", dataset, token)
    assert delete(meta_client, dataset)


def test_a_deleted_dataset_is_purged_a_day_after_its_lock_and_not_locked_then(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    locks: LockDriver,
    dataset: str,
) -> None:
    writer.save_many(dataset, 2)
    delete(meta_client, dataset)
    token = locks.lock("dataset", dataset).token
    transactions.write(lambda tx: tx.execute(_DELETED_LONG_AGO))
    locks.unlock("dataset", dataset, token)

    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 60.0)) == 0
    transactions.write(lambda tx: tx.execute(_DAY_LATER))
    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 60.0)) == 2
    with pytest.raises(NotFound):
        locks.lock("dataset", dataset)
    with pytest.raises(UndeleteExpired):
        undelete(meta_client, dataset)


def test_records_are_taken_and_merged_under_a_lock(
    writer: Writer,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    locks: LockDriver,
    dataset: str,
) -> None:
    stream = collector.register(catalog.token(dataset)).stream_id
    locks.lock("dataset", dataset)

    collector.commit(stream, 0, dataset)
    nursery.merge(dataset, stream, -1, 0)
    writer.save(segment_of(dataset))

    assert len(writer.find_ids("web")) == 2
    nursery.stop(stream, 0)
    nursery.reap(stream, 0)
    nursery.remove_entry(stream, dataset, 0)


def test_a_lock_that_ended_by_itself_holds_for_a_day_too(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    locks: LockDriver,
    dataset: str,
) -> None:
    writer.save_many(dataset, 2)
    keep_briefly(meta_client, dataset)
    locks.lock("dataset", dataset, ends_at_nanos=2**62)
    earlier = text("""
        WITH l AS (UPDATE resource_locks SET ends_at = now() - interval '1 hour')
        UPDATE datasets SET hold_ends_at = now() - interval '1 hour' WHERE hold_ends_at IS NOT NULL
    """)
    transactions.write(lambda tx: tx.execute(earlier))

    assert not locks.read("dataset", dataset).HasField("locked_at")
    assert transactions.write(retention.bury_expired) == 0
    transactions.write(lambda tx: tx.execute(_DAY_LATER))
    assert transactions.write(retention.bury_expired) == 2


def test_a_vacuum_leaves_and_names_segments_that_a_lock_holds(
    meta_client: MetaClient,
    transactions: Transactions,
    writer: Writer,
    worker: WorkerDriver,
    locks: LockDriver,
    dataset: str,
) -> None:
    set_settings(
        meta_client, dataset, ops.DatasetSettings(tombstone_grace=Duration(seconds=7 * 86_400))
    )
    writer.save_many(dataset, 2)
    keep_briefly(meta_client, dataset)
    assert transactions.write(retention.bury_expired) == 2
    locks.lock("dataset", dataset)
    inputs = writer.save_many(dataset, 8)
    worker.plan()
    task = worker.poll()
    assert worker.complete(task.task_id, worker.output(task)).HasField("success")
    two_hours = text("""
        UPDATE segments SET created_at = created_at - interval '2 hours',
          tombstone_at = tombstone_at - interval '2 hours'
    """)
    transactions.write(lambda tx: tx.execute(two_hours))

    reply = meta_client.resources.VacuumDatasets(
        res.VacuumDatasetsRequest(vacuum_id=str(uuid4()), dataset_name="web", older_than_secs=3_600)
    )

    (plan,) = reply.datasets
    assert (plan.segments, plan.locked_segments) == (8, 2)
    assert plan.locked_bytes == 2_000
    assert sorted(one.segment_id for one in writer.due()) == sorted(inputs)
