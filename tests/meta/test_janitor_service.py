"""JanitorService and the merge calls of OperationsService."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.store.merging import merge_tasks
from meta.v1 import janitor_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.janitor import MIB, age, explain, rewrite
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_planning_obeys_its_filters(
    meta_server: MetaServer,
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    other = catalog.dataset("other")
    for one in writer.save_many(dataset, 4):
        age(meta_server, one, 100)
    writer.save_many(other, 4)

    assert worker.plan(dataset_name="other", min_age_secs=100).tasks_created == 0
    assert worker.plan(max_compressed_size=999).tasks_created == 0
    assert worker.plan(min_age_secs=100).tasks_created == 1
    assert worker.plan(dataset_name="other").tasks_created == 1
    assert worker.plan().tasks_created == 0


def test_tasks_are_listed_oldest_first_and_read_after_they_are_done(
    catalog: CatalogDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    other = catalog.dataset("other")
    writer.save_many(dataset, 4)
    worker.plan()
    writer.save_many(other, 5)
    worker.plan()
    janitor = writer.client.janitor
    listed = janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks
    task = worker.poll()

    (claimed,) = janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest(dataset_name="web")).tasks
    worker.complete(task.task_id, worker.output(task))
    done = janitor.GetMergeTask(janitor_pb2.GetMergeTaskRequest(task_id=task.task_id))

    assert [(one.dataset_id, one.segment_count) for one in listed] == [(dataset, 4), (other, 5)]
    assert (listed[0].assigned_to_worker, listed[0].assigned_at) == ("", "")
    assert claimed.assigned_to_worker == "worker"
    assert claimed.assigned_at.endswith("Z")
    assert done.task_id == task.task_id
    assert (done.smallest_segment_size, done.total_size) == (5_000, 20_000)
    assert (done.largest_segment_compressed_size, done.total_compressed_size) == (1_000, 4_000)
    assert done.earliest_time == "2024-10-04T00:00:00.000000Z"
    assert done.latest_time == "2024-10-04T00:00:03.000000Z"
    assert done.state == janitor_pb2.MERGE_TASK_STATE_COMPLETED
    assert [done.output_segment_id] == writer.find_ids("web")
    assert len(janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks) == 1
    with pytest.raises(NotFound):
        janitor.GetMergeTask(janitor_pb2.GetMergeTaskRequest(task_id=str(uuid4())))
    with pytest.raises(InvalidArgument):
        janitor.GetMergeTask(janitor_pb2.GetMergeTaskRequest(task_id="x"))


def test_a_task_tells_its_claims_and_what_went_wrong(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    worker.plan()
    worker.fail(worker.poll(), failed_segment_id=ids[1])
    task = replace(worker, worker_id="second").poll()
    writer.client.operations.HeartbeatMergeTask(
        pb.HeartbeatMergeTaskRequest(task_id=task.task_id, rows_done=77)
    )

    found = writer.client.janitor.GetMergeTask(
        janitor_pb2.GetMergeTaskRequest(task_id=task.task_id)
    )

    assert found.state == janitor_pb2.MERGE_TASK_STATE_OPEN
    assert found.rows_done == 77
    current, first = found.attempts
    assert (current.attempt, current.worker_id, current.outcome) == (2, "second", "")
    assert (first.attempt, first.outcome, first.error) == (1, "failed", "it broke")
    assert first.failed_segment_id == ids[1]
    assert first.ended_at.endswith("Z")


def test_a_rewrite_makes_one_task_per_segment_that_is_in_none(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    rest = writer.save_many(dataset, 3, EPOCH + DAY)

    created = rewrite(writer)
    again = rewrite(writer)
    worker.merge_all()

    assert (created, again) == (3, 0)
    live = writer.find("web").segments
    assert len(live) == 4
    assert sorted(one.merge_count for one in live) == [0, 0, 0, 1]
    assert not set(rest) & {one.id for one in live}


def test_a_rewrite_says_when_all_of_it_is_planned(writer: Writer, dataset: str) -> None:
    writer.save_many(dataset, 3)

    reply = writer.client.janitor.RewriteAllSegments(janitor_pb2.RewriteAllSegmentsRequest())

    assert (reply.tasks_created, reply.all_planned) == (3, True)


def test_an_unfinished_rewrite_is_carried_on_and_a_finished_one_begins_anew(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 3)
    rewrite(writer)
    first = worker.poll()
    # Written after the rewrite began: it has the new format already.
    writer.save_many(dataset, 2, EPOCH + DAY)
    with meta_server.running.database.write() as tx:
        task = merge_tasks.lock(tx, UUID(first.task_id))
        assert task is not None
        merge_tasks.close(tx, task, merge_tasks.TaskState.CANCELLED)

    resumed = rewrite(writer)
    worker.merge_all()
    anew = rewrite(writer)

    assert resumed == 1
    assert anew == 5


def test_rewrites_of_other_datasets_do_not_disturb_one_another(
    catalog: CatalogDriver, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    writer.save_many(catalog.dataset("other"), 3)

    assert rewrite(writer, dataset_name="other") == 3
    assert rewrite(writer) == 2
    assert rewrite(writer, dataset_name="web") == 0


def test_the_merge_plan_is_explained_segment_by_segment(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    in_task = writer.save_many(dataset, 4)
    worker.plan()
    few = writer.save_many(dataset, 3, EPOCH + 20_000 * DAY)
    many = writer.save_many(dataset, 4, EPOCH + 20_001 * DAY)
    (large,) = writer.save(segment_of(dataset, EPOCH + 20_002 * DAY, compressed=256 * MIB))

    explained = {one.segment.id: one for one in explain(writer)}

    assert {one.eligibility for i, one in explained.items() if i in in_task} == {
        pb.MERGE_ELIGIBILITY_IN_TASK
    }
    assert explained[in_task[0]].task_id
    assert {one.eligibility for i, one in explained.items() if i in few} == {
        pb.MERGE_ELIGIBILITY_TIER_NOT_FULL
    }
    assert explained[few[0]].reason == (
        "its day has 3 segments below the target size: more than 3 are merged, and after 3600 s"
        " without a new one more than 4"
    )
    assert {one.eligibility for i, one in explained.items() if i in many} == {
        pb.MERGE_ELIGIBILITY_ELIGIBLE
    }
    assert explained[large].eligibility == pb.MERGE_ELIGIBILITY_LARGE_ENOUGH
    assert [one.segment.id for one in explain(writer, limit=2)] == in_task[:2]
    with pytest.raises(InvalidArgument):
        explain(writer, limit=-1)


def test_an_excluded_segment_is_explained_released_and_merged(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    (bad,) = writer.save(segment_of(dataset))
    rewrite(writer)
    for _ in range(5):
        worker.fail(worker.poll(), failed_segment_id=bad)
    (explained,) = explain(writer)
    writer.save_many(dataset, 3)
    none = worker.plan()

    def release(segment: str) -> bool:
        request = pb.ReleaseSegmentRequest(segment_id=segment)
        return writer.client.operations.ReleaseSegment(request).success

    assert explained.eligibility == pb.MERGE_ELIGIBILITY_QUARANTINED
    assert none.tasks_created == 0
    assert release(bad)
    assert not release(bad)
    assert worker.plan().segments_included == 4
    with pytest.raises(NotFound):
        release(str(uuid4()))
