"""The merges that meta plans, done in this process without Spark."""

from pathlib import Path

from dataplane.registration import create_segment
from meta.client import MetaClient
from meta.v1 import (
    common_pb2,
    janitor_pb2,
    merge_task_pb2,
)
from segments.ids import new_uuid7
from segments.keys import attempt_prefix
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet.spec import SegmentSpec
from segments.parquet.upload import upload_segment
from segments.store.interface import ObjectStore
from tests.support.visible_segments import key_of

_PLAIN = SegmentSpec()


def merge_all(
    client: MetaClient, store: ObjectStore, folder: Path, spec: SegmentSpec = _PLAIN
) -> int:
    """Do every merge that meta plans; returns how many."""
    client.janitor.CreateMergeTasks(janitor_pb2.CreateMergeTasksRequest())
    done = 0
    while True:
        poll = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="here")
        reply = client.merge_task.PollForSegmentMergeTask(poll)
        if not reply.HasField("task"):
            return done
        complete(client, store, folder / str(done), reply.task, spec)
        done += 1


def complete(
    client: MetaClient,
    store: ObjectStore,
    folder: Path,
    task: merge_task_pb2.SegmentMergeTaskInfo,
    spec: SegmentSpec = _PLAIN,
) -> None:
    output = write(store, folder, task, spec)
    request = merge_task_pb2.CompleteSegmentMergeTaskRequest(
        task_id=task.task_id, merged_segment=output
    )
    reply = client.merge_task.CompleteSegmentMergeTask(request)
    assert reply.WhichOneof("result") == "success"


def write(
    store: ObjectStore,
    folder: Path,
    task: merge_task_pb2.SegmentMergeTaskInfo,
    spec: SegmentSpec = _PLAIN,
) -> common_pb2.CreateSegment:
    """Put the output of a task."""
    folder.mkdir(parents=True)
    inputs = [
        MergeInput(
            one.id,
            key_of(one),
            one.number_of_events,
            one.time_range.start_time,
            one.time_range.end_time,
        )
        for one in task.segments
    ]
    order = MergeOrder(task.dataset_id, "merge", spec)
    facts = merge_segments(store, inputs, order, folder).facts
    prefix = attempt_prefix(task.dataset_id, task.task_id, task.attempt)
    key = f"{prefix}{new_uuid7()}.parquet"
    upload_segment(store, key, folder / "merged.parquet", facts)
    return create_segment(task.dataset_id, task.cloud_object_prefix.bucket, key, facts)
