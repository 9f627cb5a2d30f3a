"""The planner plans a rewrite of each mapped file of a client, some with each call."""

import psycopg

from meta.client import MetaClient
from meta.services.merging.janitor import FILES_MAX
from meta.store.segments.foreign_files import MAPPED, UNREADABLE
from meta.v1 import catalog_pb2, janitor_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import WorkerDriver, Writer, segment_of


def save(client: MetaClient, dataset: str, count: int) -> list[str]:
    return Writer(client).save(*[segment_of(dataset) for _ in range(count)])


def mark(database_url: str, ids: list[str], state: int) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE segments SET foreign_state = %s WHERE id = ANY(%s::uuid[])", [state, ids]
        )


def inputs(client: MetaClient) -> list[int]:
    tasks = client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks
    return [task.segment_count for task in tasks]


def test_a_mapped_file_is_rewritten_by_itself_and_once(
    meta_client: MetaClient, catalog: CatalogDriver, database_url: str
) -> None:
    worker = WorkerDriver(meta_client)
    unread, mapped, unreadable = save(meta_client, catalog.dataset(), 3)
    mark(database_url, [mapped], MAPPED)
    mark(database_url, [unreadable], UNREADABLE)

    planned, again = worker.plan(), worker.plan()

    assert (planned.tasks_created, planned.segments_included, again.tasks_created) == (1, 1, 0)
    task = worker.poll()
    assert [segment.id for segment in task.segments] == [mapped]
    assert worker.find_task() is None
    assert unread


def test_a_call_plans_a_bounded_number_and_the_next_goes_on(
    meta_client: MetaClient, catalog: CatalogDriver, database_url: str
) -> None:
    first, second = catalog.dataset("first"), catalog.dataset("second")
    ids = save(meta_client, first, FILES_MAX) + save(meta_client, second, 1)
    mark(database_url, ids, MAPPED)
    worker = WorkerDriver(meta_client)

    assert worker.plan(dataset_name="second").tasks_created == 1
    assert worker.plan(max_compressed_size=0).tasks_created == 0
    mark(database_url, save(meta_client, second, 1), MAPPED)
    assert [worker.plan().tasks_created for _ in range(3)] == [FILES_MAX, 1, 0]
    assert set(inputs(meta_client)) == {1}


def test_a_file_that_is_excluded_or_of_a_deleted_dataset_is_left(
    meta_client: MetaClient, catalog: CatalogDriver, database_url: str
) -> None:
    gone = catalog.dataset("gone")
    (excluded,) = save(meta_client, catalog.dataset("kept"), 1)
    mark(database_url, [excluded, *save(meta_client, gone, 1)], MAPPED)
    meta_client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=gone))
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE segments SET quarantined_at = now() WHERE id = %s", [excluded])

    assert WorkerDriver(meta_client).plan().tasks_created == 0
