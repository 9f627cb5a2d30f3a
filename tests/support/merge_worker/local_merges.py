"""The merges that meta plans, done in this process without Spark."""

from pathlib import Path

from meta.client import MetaClient
from meta.v1 import (
    common_pb2,
    janitor_pb2,
    merge_task_pb2,
)
from segments.keys import new_attempt_key, split_key
from segments.merging.merge import MergeInput, MergeOrder, merge_segments
from segments.parquet.schema import SegmentSpec
from segments.parquet.upload import upload_segment
from segments.store.interface import ObjectStore
from tests.support.visible_segments import key_of


def merge_all(client: MetaClient, store: ObjectStore, folder: Path) -> int:
    """Do every merge that meta plans; returns how many."""
    client.janitor.CreateMergeTasks(janitor_pb2.CreateMergeTasksRequest())
    done = 0
    while True:
        poll = merge_task_pb2.PollForSegmentMergeTaskRequest(worker_id="here")
        reply = client.merge_task.PollForSegmentMergeTask(poll)
        if not reply.HasField("task"):
            return done
        complete(client, store, folder / str(done), reply.task)
        done += 1


def complete(
    client: MetaClient, store: ObjectStore, folder: Path, task: merge_task_pb2.SegmentMergeTaskInfo
) -> None:
    folder.mkdir()
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
    order = MergeOrder(task.dataset_id, "merge", SegmentSpec())
    facts = merge_segments(store, inputs, order, folder).facts
    key = new_attempt_key(task.dataset_id, task.task_id, task.attempt)
    upload_segment(store, key, folder / "merged.parquet", facts)
    prefix, name = split_key(key)
    output = common_pb2.CreateSegment(
        dataset_id=task.dataset_id,
        time_range=common_pb2.TimeRange(start_time=facts.start_time, end_time=facts.end_time),
        size_bytes=facts.size_bytes,
        compressed_size_bytes=facts.compressed_size_bytes,
        number_of_events=facts.rows,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=prefix), key=name
        ),
    )
    request = merge_task_pb2.CompleteSegmentMergeTaskRequest(
        task_id=task.task_id, merged_segment=output
    )
    reply = client.merge_task.CompleteSegmentMergeTask(request)
    assert reply.WhichOneof("result") == "success"
