"""MergeTaskService: claims, fences, completions, failures."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.store.segments import burial
from meta.store.versions import versions
from meta.v1 import janitor_pb2, merge_task_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.janitor import janitor_stats
from tests.support.meta.merge_leases import let_leases_pass
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer
from tests.support.meta.server import MetaServer


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Failed tasks come back at once."""
    return replace(meta_settings, lifetimes=replace(meta_settings.lifetimes, fail_backoff=0.0))


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def test_a_task_says_all_that_a_worker_needs(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)

    planned = worker.plan()
    task = worker.poll()

    assert (planned.tasks_created, planned.segments_included) == (1, 4)
    assert [one.id for one in task.segments] == ids
    assert task.dataset_id == dataset
    assert task.attempt == 1
    assert task.merge_count == 1
    assert task.lease_secs == 3_600
    assert task.cloud_object_prefix.prefix == f"dataset/{dataset}/merged/{task.task_id}-1"
    assert worker.find_task() is None


def test_poll_without_a_name_is_refused(worker: WorkerDriver) -> None:
    with pytest.raises(InvalidArgument):
        replace(worker, worker_id="").poll()


def test_complete_swaps_output_and_inputs_at_one_version(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    before = writer.find("web").snapshot_version
    worker.plan()
    task = worker.poll()

    reply = worker.complete(task.task_id, worker.output(task))

    assert reply.WhichOneof("result") == "success"
    (output,) = writer.find("web").segments
    assert output.number_of_events == 40
    assert output.merge_count == 1
    buried = writer.get(*ids)
    assert {one.tombstone_version for one in buried} == {output.created_version}
    assert writer.find_ids("web", as_of_version=before) == ids


def test_complete_again_with_the_same_key_is_success_and_with_another_is_not(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task))
    version = writer.find("web").snapshot_version

    again = worker.complete(task.task_id, worker.output(task))
    other = worker.complete(task.task_id, worker.output(task, key="other.parquet"))

    assert again.WhichOneof("result") == "success"
    assert other.error.reason == "TASK_NOT_OPEN"
    assert writer.find("web").snapshot_version == version


def test_complete_again_is_success_after_the_output_was_merged_and_deleted(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    for day in range(8):
        writer.save_many(dataset, 4, EPOCH + day * 1_000)
    worker.plan()
    task = worker.poll()
    output = worker.output(task)
    worker.complete(task.task_id, output)
    worker.merge_all()
    worker.plan()
    worker.merge_all()
    let_graces_pass(meta_server)
    due = writer.due()
    writer.confirm(*(one.segment_id for one in due))

    again = worker.complete(task.task_id, output)

    assert again.WhichOneof("result") == "success"


def let_graces_pass(meta_server: MetaServer) -> None:
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE segments SET tombstone_at = tombstone_at - interval '1 day'")


def test_a_passed_lease_frees_the_task_and_fences_the_old_worker(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    old = worker.poll()
    let_leases_pass(meta_server)

    new = replace(worker, worker_id="second").poll()
    refused = worker.complete(old.task_id, worker.output(old))
    taken = worker.complete(new.task_id, worker.output(new))

    assert new.task_id == old.task_id
    assert new.attempt == 2
    assert refused.error.reason == "TASK_FENCED"
    assert taken.WhichOneof("result") == "success"


def test_a_late_worker_completes_if_nobody_took_its_task(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    let_leases_pass(meta_server)

    reply = worker.complete(task.task_id, worker.output(task))

    assert reply.WhichOneof("result") == "success"


def test_unclaim_fences_the_worker_and_frees_the_task(
    writer: Writer, worker: WorkerDriver, dataset: str, meta_server: MetaServer
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    janitor = worker.client.janitor

    young = janitor.UnclaimMergeTask(janitor_pb2.UnclaimMergeTaskRequest(task_id=task.task_id))
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql("UPDATE merge_tasks SET claimed_at = now() - interval '2 hours'")
    done = janitor.UnclaimMergeTask(janitor_pb2.UnclaimMergeTaskRequest(task_id=task.task_id))
    again = janitor.UnclaimMergeTask(janitor_pb2.UnclaimMergeTaskRequest(task_id=task.task_id))
    refused = worker.complete(task.task_id, worker.output(task))

    assert (young.unclaimed, done.unclaimed, again.unclaimed) == (False, True, False)
    assert refused.error.reason == "TASK_FENCED"
    assert worker.poll().attempt == 3
    unknown = janitor_pb2.UnclaimMergeTaskRequest(task_id=str(uuid4()))
    assert not janitor.UnclaimMergeTask(unknown).unclaimed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("events", "OUTPUT_MISMATCH"),
        ("range", "OUTPUT_MISMATCH"),
        ("dataset", "OUTPUT_MISMATCH"),
        ("prefix", "TASK_FENCED"),
    ],
)
def test_an_output_that_does_not_fit_changes_nothing(
    catalog: CatalogDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
    change: str,
    reason: str,
) -> None:
    ids = writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    output = worker.output(task)
    if change == "events":
        output.number_of_events += 1
    elif change == "range":
        output.time_range.end_time += 1
    elif change == "dataset":
        output.dataset_id = catalog.dataset("other")
        output.cloud_object_key.prefix.prefix = f"dataset/{output.dataset_id}/merged"
    else:
        output.cloud_object_key.prefix.prefix = f"dataset/{dataset}/merged"

    reply = worker.complete(task.task_id, output)

    assert reply.error.reason == reason
    assert writer.find_ids("web") == ids
    assert worker.complete(task.task_id, worker.output(task)).WhichOneof("result") == "success"


def test_an_output_that_is_a_separate_segment_is_refused_in_the_reply(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    output = worker.output(task)
    writer.save(output)

    reply = worker.complete(task.task_id, output)

    assert reply.error.reason == "KEY_TAKEN"


def test_an_input_that_is_gone_cancels_the_task_and_frees_the_others(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 5)
    worker.plan()
    task = worker.poll()
    bury(meta_server, ids[0])

    reply = worker.complete(task.task_id, worker.output(task))

    assert reply.error.reason == "INPUTS_GONE"
    assert worker.complete(task.task_id, worker.output(task)).error.reason == "TASK_NOT_OPEN"
    assert worker.plan().segments_included == 4


def bury(meta_server: MetaServer, segment_id: str) -> None:
    with meta_server.running.database.write() as tx:
        burial.bury(tx, [UUID(segment_id)], versions.allocate(tx))


def test_poll_does_not_hand_out_a_task_over_a_dead_segment(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save_many(dataset, 4)
    worker.plan()
    bury(meta_server, ids[0])

    assert worker.find_task() is None
    assert janitor_stats(worker.client).outstanding_merge_tasks == 0


def test_an_unknown_task_is_not_found(writer: Writer, worker: WorkerDriver, dataset: str) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    task = worker.poll()
    output = worker.output(task)
    unknown = str(uuid4())

    with pytest.raises(NotFound):
        worker.complete(unknown, output)
    task.task_id = unknown
    with pytest.raises(NotFound):
        worker.fail(task)
    with pytest.raises(NotFound):
        beat(worker, task)


def beat(
    worker: WorkerDriver, task: merge_task_pb2.SegmentMergeTaskInfo
) -> operations_pb2.HeartbeatMergeTaskResponse:
    return worker.client.operations.HeartbeatMergeTask(
        operations_pb2.HeartbeatMergeTaskRequest(task_id=task.task_id, attempt=task.attempt)
    )


def test_a_heartbeat_shortens_the_lease_to_a_minute_and_stops_a_stale_worker(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 4)
    worker.plan()
    old = worker.poll()

    mine = beat(worker, old)
    let_leases_pass(meta_server)
    worker.poll()
    stale = beat(worker, old)

    assert (mine.still_yours, mine.lease_secs) == (True, 60)
    assert not stale.still_yours
