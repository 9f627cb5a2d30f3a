"""MergeTaskService: failures, splits, back-off, exclusion."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from meta.config import Settings
from meta.errors import InvalidArgument
from meta.store.merging import merge_failures, merge_tasks
from meta.v1 import merge_task_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.merge_leases import let_leases_pass
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_a_failed_task_comes_back_and_a_stale_failure_has_no_effect(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    first = worker.poll()

    worker.fail(first)
    second = worker.poll()
    worker.fail(second, attempt=first.attempt)

    assert second.task_id == first.task_id
    assert second.attempt == 2
    assert worker.complete(second.task_id, worker.output(second)).WhichOneof("result") == "success"


def test_a_failed_claim_can_no_longer_complete(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    worker.fail(task)

    reply = worker.complete(task.task_id, worker.output(task))

    assert reply.error.reason == "TASK_FENCED"


def test_failing_with_a_segment_of_another_task_is_refused(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()

    with pytest.raises(InvalidArgument):
        worker.fail(task, failed_segment_id=str(uuid4()))


def test_a_poison_segment_is_excluded_alone_and_the_rest_is_merged(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 16)
    poison = ids[5]
    worker.plan()
    while (task := find_task_with(worker, poison)) is not None:
        # Another task is done meanwhile, so the store is not to blame.
        writer.save_many(dataset, 4, EPOCH + 9 * DAY)
        worker.plan()
        worker.merge_all()
        worker.fail(task)

    live = writer.find_ids("web")
    assert poison in live
    assert not (set(ids) - {poison}) & set(live)
    with meta_server.running.database.read() as tx:
        excluded = tx.exec_driver_sql("SELECT id FROM segments WHERE quarantined_at IS NOT NULL")
        assert [str(row.id) for row in excluded] == [poison]


def find_task_with(
    worker: WorkerDriver, segment_id: str
) -> merge_task_pb2.SegmentMergeTaskInfo | None:
    """Claim and complete tasks until one has the segment as input."""
    while (task := worker.find_task()) is not None:
        if segment_id in {one.id for one in task.segments}:
            return task
        worker.complete(task.task_id, worker.output(task))
    return None


def test_a_named_poison_segment_is_set_apart_at_the_first_split(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 16)
    worker.plan()

    for _ in range(5):
        worker.fail(worker.poll(), failed_segment_id=ids[5])
    merge_counts = {len(task.segments): task.merge_count for task in (worker.poll(), worker.poll())}

    # Writing a single input again is not a merge.
    assert merge_counts == {1: 0, 15: 1}


def test_a_proven_damage_excludes_its_segment_at_once_and_the_others_are_merged(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 16)
    worker.plan()
    task = worker.poll()

    worker.fail(task, failed_segment_id=ids[5], is_proven=True)
    rest = worker.poll()
    worker.complete(rest.task_id, worker.output(rest))

    assert state_of(meta_server, task.task_id) is merge_tasks.TaskState.SPLIT
    assert {segment.id for segment in rest.segments} == set(ids) - {ids[5]}
    assert worker.find_task() is None
    assert worker.plan().tasks_created == 0
    live = writer.find_ids("web")
    assert len(live) == 2
    assert ids[5] in live


def state_of(meta_server: MetaServer, task_id: str) -> merge_tasks.TaskState:
    with meta_server.running.database.read() as tx:
        found = text("SELECT state FROM merge_tasks WHERE id = :task")
        return merge_tasks.TaskState(tx.execute(found, {"task": UUID(task_id)}).scalar_one())


def test_the_last_sound_input_of_a_task_is_free_again(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    worker.plan()
    for damaged in ids[:3]:
        task = worker.poll()
        worker.fail(task, failed_segment_id=damaged, is_proven=True)

    assert state_of(meta_server, task.task_id) is merge_tasks.TaskState.CANCELLED
    writer.save_many(dataset, 3)
    assert worker.find_task() is None
    assert worker.plan().segments_included == 4


def test_a_task_that_kills_its_workers_is_split_too(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 16)
    worker.plan()

    for _ in range(5):
        task = find_task_with(worker, ids[0])
        assert task is not None
        assert len(task.segments) == 16
        writer.save_many(dataset, 4, EPOCH + 9 * DAY)
        worker.plan()
        worker.merge_all()
        let_leases_pass(meta_server)

    assert sorted(len(worker.poll().segments) for _ in range(2)) == [8, 8]


def test_a_task_that_workers_defer_is_never_split(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 16)
    worker.plan()

    for _ in range(6):
        task = find_task_with(worker, ids[0])
        assert task is not None
        # Another task is done meanwhile, which would blame the inputs of one that failed.
        writer.save_many(dataset, 4, EPOCH + 9 * DAY)
        worker.plan()
        worker.merge_all()
        worker.fail(task, is_deferred=True)

    assert len(worker.poll().segments) == 16


def test_an_outage_splits_nothing(writer: Writer, worker: WorkerDriver, dataset: str) -> None:
    writer.save_many(dataset, 16)
    worker.plan()

    for _ in range(12):
        worker.fail(worker.poll())

    assert len(worker.poll().segments) == 16


def test_a_failed_task_waits_twice_as_long_each_time(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    waits = []
    for _ in range(8):
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql("UPDATE merge_tasks SET free_at = NULL")
        task = worker.poll()
        with meta_server.running.database.write() as tx:
            held = merge_tasks.lock(tx, UUID(task.task_id))
            assert held is not None
            merge_failures.fail(tx, held, error="", failed_segment_id=None, backoff_unit_secs=60.0)
        with meta_server.running.database.read() as tx:
            row = tx.exec_driver_sql(
                "SELECT extract(epoch FROM free_at - failed_at) / 60 FROM merge_tasks"
            )
            waits.append(round(float(row.scalar_one())))

    assert waits == [2, 4, 8, 16, 32, 60, 60, 60]
