"""ListDatasetChanges: what each version added and removed, in order, and the wait for more."""

import threading
import time
from dataclasses import replace

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, VersionExpired
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
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
def start(writer: Writer, dataset: str) -> int:
    """Give the version at which the dataset is empty."""
    return int(writer.find("web").snapshot_version)


def changes(
    client: MetaClient, since: int, limit: int = 0, wait_secs: int = 0
) -> pb.ListDatasetChangesResponse:
    request = pb.ListDatasetChangesRequest(
        dataset_name="web", since_version=since, limit=limit, wait_secs=wait_secs
    )
    return client.operations.ListDatasetChanges(request)


def test_additions_merges_and_deletions_come_with_their_versions(
    meta_server: MetaServer,
    meta_client: MetaClient,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    start: int,
) -> None:
    saved = writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()
    (output,) = writer.find_ids("web")
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE meta_state SET version = version + 1")
        statement = text(
            "UPDATE segments SET tombstone_at = now(),"
            " tombstone_version = (SELECT version FROM meta_state) WHERE id = :id"
        )
        tx.execute(statement, {"id": output})

    reply = changes(meta_client, start)

    added, swapped, deleted = reply.changes[:4], reply.changes[4:9], reply.changes[9:]
    assert {one.segment.id for one in added} == set(saved)
    assert not any(one.is_removed or one.is_merge for one in added)
    assert [one.segment.id for one in swapped if not one.is_removed] == [output]
    assert [one.is_merge for one in swapped] == [True, False, False, False, False]
    assert {one.replaced_by for one in swapped[1:]} == {output}
    assert [(one.segment.id, one.is_removed, one.replaced_by) for one in deleted] == [
        (output, True, "")
    ]
    assert len({one.version for one in swapped}) == 1
    assert reply.through_version == reply.current_version


def test_the_changes_of_a_version_are_the_difference_of_two_reads(
    meta_client: MetaClient, writer: Writer, worker: WorkerDriver, dataset: str, start: int
) -> None:
    for _ in range(3):
        writer.save_many(dataset, 4)
        worker.plan()
        worker.merge_all()
    shown, since = set[str](), start

    while True:
        reply = changes(meta_client, since, limit=1)
        for one in reply.changes:
            (shown.remove if one.is_removed else shown.add)(one.segment.id)
        since = reply.through_version
        assert shown == set(writer.find_ids("web", as_of_version=since))
        if since == reply.current_version:
            break


def test_a_limit_never_cuts_a_version(
    meta_client: MetaClient, writer: Writer, dataset: str, start: int
) -> None:
    writer.save_many(dataset, 5)
    writer.save_many(dataset, 3)

    first = changes(meta_client, start, limit=4)
    second = changes(meta_client, first.through_version, limit=4)
    both = changes(meta_client, start, limit=8)

    assert [len(reply.changes) for reply in (first, second, both)] == [5, 3, 8]
    assert first.through_version < first.current_version
    assert second.through_version == second.current_version


def test_other_datasets_change_nothing(
    meta_client: MetaClient, catalog: CatalogDriver, writer: Writer, start: int
) -> None:
    writer.save_many(catalog.dataset("other"), 2)

    reply = changes(meta_client, start)

    assert list(reply.changes) == []
    assert reply.through_version > start


def test_a_call_that_waits_returns_with_the_next_change(
    meta_client: MetaClient, writer: Writer, dataset: str, start: int
) -> None:
    replies = list[pb.ListDatasetChangesResponse]()
    waiting = threading.Thread(
        target=lambda: replies.append(changes(meta_client, start, wait_secs=20))
    )
    waiting.start()

    saved = writer.save_many(dataset, 2)
    waiting.join(15)

    assert [one.segment.id for one in replies[0].changes] == sorted(saved)


def test_a_call_that_waits_in_vain_returns_nothing(meta_client: MetaClient, start: int) -> None:
    began = time.monotonic()

    reply = changes(meta_client, start, wait_secs=1)

    assert list(reply.changes) == []
    assert reply.through_version == reply.current_version
    assert time.monotonic() - began >= 1


def test_versions_below_the_horizon_have_expired(
    meta_client: MetaClient, writer: Writer, worker: WorkerDriver, dataset: str, start: int
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    worker.merge_all()
    horizon = max(one.tombstone_version for one in writer.due())

    with pytest.raises(VersionExpired):
        changes(meta_client, horizon - 1)
    assert changes(meta_client, horizon).through_version >= horizon


def test_what_cannot_be_followed_is_refused(
    meta_client: MetaClient, catalog: CatalogDriver, dataset: str, start: int
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        changes(meta_client, start + 10)
    assert refused.value.field == "since_version"
    for fields in ({"limit": -1}, {"wait_secs": -1}):
        with pytest.raises(InvalidArgument):
            changes(meta_client, start, **fields)
    catalog.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=dataset))
    with pytest.raises(NotFound):
        changes(meta_client, start)
