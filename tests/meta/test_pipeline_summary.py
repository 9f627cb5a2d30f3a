"""GetPipelineSummary and ListMergeAttempts: the stages of the pipeline, and merges over time."""

from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import NotFound
from meta.store.status import pipeline
from meta.v1 import operations_pb2 as ops
from meta.v1 import status_pb2 as pb
from tests.support.meta.segments import WorkerDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream; nothing is committed yet."""
    return TwoDatasets.create(meta_server)


def summary(scene: TwoDatasets) -> pb.GetPipelineSummaryResponse:
    return scene.server.client.status.GetPipelineSummary(pb.GetPipelineSummaryRequest())


def stage(scene: TwoDatasets, which: "pb.PipelineStage.ValueType") -> tuple[int, int, bool, bool]:
    """Items and bytes of a stage, whether it has an oldest one, and whether there may be more."""
    (listed,) = (each for each in summary(scene).stages if each.stage == which)
    return listed.items, listed.size_bytes, listed.oldest_nanos > 0, listed.is_at_least


def attempts(client: MetaClient) -> list[pb.ListedMergeAttempt]:
    return list(client.status.ListMergeAttempts(pb.ListMergeAttemptsRequest()).attempts)


def fill(scene: TwoDatasets) -> None:
    """Commit eight baby segments, merge them to four segments, and leave a ninth one."""
    for offset in range(9):
        scene.collector.commit(scene.stream, offset, scene.web)
    for first in range(-1, 7, 2):
        scene.nursery.merge(scene.web, scene.stream, first, first + 2)
    scene.sweep()


def test_records_move_through_the_stages(scene: TwoDatasets) -> None:
    empty = [stage(scene, which) for which in pb.PipelineStage.values()[1:]]
    fill(scene)
    committed = stage(scene, pb.PIPELINE_STAGE_COMMITTED)
    visible = stage(scene, pb.PIPELINE_STAGE_VISIBLE)
    worker = WorkerDriver(scene.server.client, "worker-1")
    worker.plan()
    planned = stage(scene, pb.PIPELINE_STAGE_COMPACTING)
    task = worker.poll()
    worker.complete(task.task_id, worker.output(task))

    assert empty == [(0, 0, False, False)] * 4
    assert committed == (1, 1_000, True, False)
    assert visible == (4, 4_000, False, False)
    assert planned == (4, 4_000, True, False)
    assert stage(scene, pb.PIPELINE_STAGE_COMPACTING)[0] == 0
    assert stage(scene, pb.PIPELINE_STAGE_VISIBLE)[0] == 1
    assert stage(scene, pb.PIPELINE_STAGE_TOMBSTONED) == (4, 4_000, True, False)
    reply = summary(scene)
    assert (reply.active_streams, reply.stopped_streams, reply.parked_streams) == (1, 0, 0)


@pytest.mark.parametrize(
    ("bound", "which"),
    [
        ("STREAMS_MAX", pb.PIPELINE_STAGE_COMMITTED),
        ("BABIES_MAX", pb.PIPELINE_STAGE_COMMITTED),
        ("TASKS_MAX", pb.PIPELINE_STAGE_COMPACTING),
        ("TOMBSTONED_MAX", pb.PIPELINE_STAGE_TOMBSTONED),
    ],
)
def test_more_than_a_bound_is_marked(
    scene: TwoDatasets,
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
    which: "pb.PipelineStage.ValueType",
) -> None:
    fill(scene)
    scene.collector.commit(scene.stream, 9, scene.web)
    worker = WorkerDriver(scene.server.client, "worker-1")
    worker.plan()
    if bound == "TOMBSTONED_MAX":
        task = worker.poll()
        worker.complete(task.task_id, worker.output(task))

    monkeypatch.setattr(pipeline, bound, 1)

    items, _, has_oldest, is_at_least = stage(scene, which)
    assert (has_oldest, is_at_least) == (True, True)
    assert items in (1, 2, 4)


def test_attempts_are_listed_with_leases_outcomes_and_errors(scene: TwoDatasets) -> None:
    fill(scene)
    worker = WorkerDriver(scene.server.client, "worker-1")
    worker.plan()
    task = worker.poll()
    (running,) = attempts(scene.server.client)
    worker.fail(task)

    (failed,) = attempts(scene.server.client)

    assert (running.dataset_name, running.worker_id, running.attempt) == ("web", "worker-1", 1)
    assert (running.outcome, running.ended_at_nanos, running.segment_count) == ("", 0, 4)
    assert running.held_until_nanos > running.claimed_at_nanos > 0
    assert (failed.task_id, failed.outcome) == (task.task_id, "failed")
    assert "it broke" in failed.error
    assert failed.ended_at_nanos > failed.claimed_at_nanos == running.claimed_at_nanos


def test_one_segment_is_explained_and_another_one_is_not_there(scene: TwoDatasets) -> None:
    fill(scene)
    call = scene.server.client.operations.ExplainMergePlan
    listed = call(ops.ExplainMergePlanRequest(dataset_name="web")).segments

    for each in listed:
        reply = call(ops.ExplainMergePlanRequest(segment_id=each.segment.id))
        assert list(reply.segments) == [each]
        assert not reply.next_cursor
    with pytest.raises(NotFound):
        call(ops.ExplainMergePlanRequest(segment_id=str(uuid4())))
