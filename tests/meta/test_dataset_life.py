"""DeleteDataset, UndeleteDataset, the purge behind them, settings and retention."""

from dataclasses import replace

import pytest

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import (
    DatasetProtected,
    NameTaken,
    NotFound,
    StillReferenced,
    UndeleteExpired,
)
from meta.store.deletion import dataset_deletion
from meta.v1 import catalog_pb2, janitor_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, set_settings, undelete
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def transactions(meta_server: MetaServer) -> Transactions:
    return Transactions(meta_server.running.database)


def test_a_deleted_dataset_is_gone_from_its_version_on_and_stays_at_older_ones(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    ids = writer.save_many(dataset, 3)
    before = writer.find("web").snapshot_version

    assert delete(meta_client, dataset)
    assert not delete(meta_client, dataset)

    with pytest.raises(NotFound):
        writer.find("web")
    assert writer.find_ids() == []
    assert writer.find_ids("web", as_of_version=before) == ids
    with pytest.raises(NotFound):
        writer.save(segment_of(dataset))
    with pytest.raises(NotFound):
        meta_client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=dataset))


def test_the_name_of_a_deleted_dataset_is_free_at_once(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    ids = writer.save_many(dataset, 2)
    old = writer.find("web").snapshot_version
    delete(meta_client, dataset)

    new = catalog.dataset("web")

    assert new != dataset
    assert writer.find_ids("web") == []
    assert writer.find_ids("web", as_of_version=old) == ids
    with pytest.raises(NameTaken):
        undelete(meta_client, dataset)


def test_what_writes_to_a_dataset_keeps_it_and_is_named(
    meta_client: MetaClient,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    dataset: str,
) -> None:
    token = catalog.token(dataset)

    with pytest.raises(StillReferenced) as refused:
        delete(meta_client, dataset)
    assert "token token-" in refused.value.metadata["blockers"]
    stream = collector.register(token).stream_id
    catalog.revoke(token)
    with pytest.raises(StillReferenced) as refused:
        delete(meta_client, dataset)
    assert stream in refused.value.metadata["blockers"]
    nursery.stop(stream, -1)
    nursery.remove_entry(stream, dataset, -1)
    assert delete(meta_client, dataset)


def test_the_default_dataset_stays(meta_client: MetaClient) -> None:
    with pytest.raises(DatasetProtected):
        meta_client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(name="default"))


def test_deleting_a_dataset_cancels_its_tasks_and_takes_its_links(
    meta_client: MetaClient, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    view = meta_client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="v")).id
    projection = meta_client.catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(name="p", projection="project body")
    ).id
    meta_client.catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(
            dataset_id=dataset, view_id=view, projection_id=projection
        )
    )
    writer.save_many(dataset, 20)
    worker.plan()
    task = worker.poll()

    delete(meta_client, dataset)

    assert worker.complete(task.task_id, worker.output(task)).error.reason == "TASK_NOT_OPEN"
    assert worker.find_task() is None
    links = meta_client.catalog.ListViewDatasetProjections(
        catalog_pb2.ListViewDatasetProjectionsRequest()
    )
    assert links.pagination.total == 0
    stats = meta_client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
    assert (stats.segment_count, stats.outstanding_merge_tasks) == (0, 0)


def test_an_undeleted_dataset_is_back_and_the_versions_between_stay_empty(
    meta_client: MetaClient, writer: Writer, dataset: str
) -> None:
    ids = writer.save_many(dataset, 3)
    delete(meta_client, dataset)
    between = writer.find().snapshot_version

    back = undelete(meta_client, dataset)
    again = undelete(meta_client, dataset)

    assert (back.id, back.name, back.success) == (dataset, "web", True)
    assert not again.success
    assert writer.find_ids("web") == ids
    assert writer.find_ids(as_of_version=between) == []
    with pytest.raises(NotFound):
        undelete(meta_client, "0190b5a0-0000-7000-8000-000000000000")


class TestPurge:
    """With a dataset's grace and a tombstone's grace that are over at once."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        lifetimes = replace(meta_settings.lifetimes, dataset_grace=0.0, tombstone_grace=0.0)
        return replace(meta_settings, lifetimes=lifetimes)

    def test_after_the_grace_nothing_brings_a_dataset_back_and_its_objects_go(
        self, meta_client: MetaClient, transactions: Transactions, writer: Writer, dataset: str
    ) -> None:
        ids = writer.save_many(dataset, 3)
        delete(meta_client, dataset)

        with pytest.raises(UndeleteExpired):
            undelete(meta_client, dataset)
        buried = transactions.write(lambda tx: dataset_deletion.purge(tx, 0.0))
        left = transactions.write(lambda tx: dataset_deletion.purge(tx, 0.0))
        due = writer.due()

        assert (buried, left) == (3, 0)
        assert sorted(one.segment_id for one in due) == sorted(ids)
        assert writer.confirm(*ids).success.deleted_count == 3


def test_what_administrators_do_is_in_the_audit_log(
    meta_client: MetaClient, meta_server: MetaServer, dataset: str
) -> None:
    set_settings(meta_client, dataset, operations_pb2.DatasetSettings(records_per_month=5))
    set_settings(meta_client, dataset, operations_pb2.DatasetSettings(records_per_month=5))
    delete(meta_client, dataset)
    undelete(meta_client, dataset)

    with meta_server.running.database.read() as tx:
        rows = tx.exec_driver_sql("SELECT rpc, subject_id FROM audit_log ORDER BY id")
        assert [tuple(row) for row in rows] == [
            ("CreateDataset", dataset),
            ("SetDatasetSettings", dataset),
            ("DeleteDataset", dataset),
            ("UndeleteDataset", dataset),
        ]
