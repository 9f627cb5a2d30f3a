"""Drivers of segments: a writer that saves them, a worker that merges them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import (
    common_pb2,
    ingestion_pb2,
    janitor_pb2,
    merge_task_pb2,
    segment_deletion_pb2,
    segment_lookup_pb2,
)

DAY = 86_400_000_000_000
# Some day long ago, so that nothing depends on when the test runs.
EPOCH = 20_000 * DAY


def segment_of(
    dataset_id: str,
    start: int = EPOCH,
    end: int | None = None,
    *,
    key: str = "",
    events: int = 10,
    compressed: int = 1_000,
) -> common_pb2.CreateSegment:
    """Describe a segment under a fresh key, unless one is given."""
    return common_pb2.CreateSegment(
        dataset_id=dataset_id,
        time_range=common_pb2.TimeRange(start_time=start, end_time=start if end is None else end),
        size_bytes=5 * compressed,
        compressed_size_bytes=compressed,
        number_of_events=events,
        cloud_object_key=common_pb2.CloudObjectKey(
            prefix=common_pb2.CloudObjectPrefix(prefix=f"dataset/{dataset_id}/merged"),
            key=key or f"{uuid4()}.parquet",
        ),
    )


@dataclass(frozen=True)
class Writer:
    """Saves segments and reads them back."""

    client: MetaClient

    def save(self, *segments: common_pb2.CreateSegment) -> list[str]:
        """Save segments in one call; answers their ids."""
        request = ingestion_pb2.SaveSegmentsRequest(segments=segments)
        return list(self.client.ingestion.SaveSegments(request).ids)

    def save_many(self, dataset_id: str, count: int, start: int = EPOCH) -> list[str]:
        """Save small segments of one day, a second apart."""
        return self.save(*(segment_of(dataset_id, start + n * 1_000_000_000) for n in range(count)))

    def find(
        self, *names: str, start: int | None = None, end: int | None = None, **fields: object
    ) -> segment_lookup_pb2.FindSegmentsResponse:
        """Find one page."""
        span = None
        if start is not None and end is not None:
            span = common_pb2.TimeRange(start_time=start, end_time=end)
        request = segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=names,
            time_range=span,
            **fields,  # type: ignore[arg-type]
        )
        return self.client.segment_lookup.FindSegments(request)

    def find_ids(self, *names: str, **fields: object) -> list[str]:
        """Find all pages; answers the ids in order."""
        ids: list[str] = []
        cursor: str | None = None
        while True:
            reply = self.find(*names, cursor=cursor, **fields)  # type: ignore[arg-type]
            ids += [segment.id for segment in reply.segments]
            cursor = reply.page.next_cursor
            if not cursor:
                return ids

    def get(self, *ids: str) -> list[common_pb2.SegmentInfo]:
        request = segment_lookup_pb2.GetSegmentsByIdsRequest(segment_ids=ids)
        return list(self.client.segment_lookup.GetSegmentsByIds(request).segments)

    def due(self) -> list[segment_deletion_pb2.TombstonedSegmentInfo]:
        """List what may be deleted now."""
        request = segment_deletion_pb2.GetTombstonedSegmentsForDeletionRequest()
        return list(self.client.segment_deletion.GetTombstonedSegmentsForDeletion(request).segments)

    def confirm(self, *ids: str) -> segment_deletion_pb2.ConfirmTombstoneDeletionResponse:
        request = segment_deletion_pb2.ConfirmTombstoneDeletionRequest(segment_ids=ids)
        return self.client.segment_deletion.ConfirmTombstoneDeletion(request)


@dataclass(frozen=True)
class WorkerDriver:
    """Plans merges and does them without writing anything."""

    client: MetaClient
    worker_id: str = "worker"
    outputs_max: int = 0

    def plan(self, **filters: object) -> janitor_pb2.CreateMergeTasksResponse:
        request = janitor_pb2.CreateMergeTasksRequest(**filters)  # type: ignore[arg-type]
        return self.client.janitor.CreateMergeTasks(request)

    def find_task(self) -> merge_task_pb2.SegmentMergeTaskInfo | None:
        """Claim a task, if there is one."""
        request = merge_task_pb2.PollForSegmentMergeTaskRequest(
            worker_id=self.worker_id, outputs_max=self.outputs_max
        )
        reply = self.client.merge_task.PollForSegmentMergeTask(request)
        return reply.task if reply.HasField("task") else None

    def poll(self) -> merge_task_pb2.SegmentMergeTaskInfo:
        """Claim a task; there must be one."""
        task = self.find_task()
        assert task is not None
        return task

    def output(
        self,
        task: merge_task_pb2.SegmentMergeTaskInfo,
        *,
        key: str = "out.parquet",
        events: int | None = None,
    ) -> common_pb2.CreateSegment:
        """Describe the output that fits the task's inputs."""
        inputs: Sequence[common_pb2.SegmentInfo] = task.segments
        total = sum(one.number_of_events for one in inputs)
        return common_pb2.CreateSegment(
            dataset_id=task.dataset_id,
            time_range=common_pb2.TimeRange(
                start_time=min(one.time_range.start_time for one in inputs),
                end_time=max(one.time_range.end_time for one in inputs),
            ),
            size_bytes=sum(one.size_bytes for one in inputs),
            compressed_size_bytes=sum(one.compressed_size_bytes for one in inputs),
            number_of_events=total if events is None else events,
            cloud_object_key=common_pb2.CloudObjectKey(
                prefix=common_pb2.CloudObjectPrefix(prefix=task.cloud_object_prefix.prefix),
                key=key,
            ),
        )

    def output_of_day(
        self, task: merge_task_pb2.SegmentMergeTaskInfo, day: int, events: int
    ) -> common_pb2.CreateSegment:
        """Describe the output that holds one day of the task's inputs."""
        output = self.output(task, key=f"day-{day}.parquet", events=events)
        whole = output.time_range
        whole.start_time = max(whole.start_time, EPOCH + day * DAY)
        whole.end_time = min(whole.end_time, EPOCH + (day + 1) * DAY - 1)
        return output

    def complete(
        self,
        task_id: str,
        output: common_pb2.CreateSegment,
        *more: common_pb2.CreateSegment,
    ) -> merge_task_pb2.CompleteSegmentMergeTaskResponse:
        return self.client.merge_task.CompleteSegmentMergeTask(
            merge_task_pb2.CompleteSegmentMergeTaskRequest(
                task_id=task_id, merged_segment=output, more_segments=more
            )
        )

    def fail(
        self,
        task: merge_task_pb2.SegmentMergeTaskInfo,
        *,
        failed_segment_id: str = "",
        attempt: int | None = None,
        is_deferred: bool = False,
        is_proven: bool = False,
    ) -> None:
        self.client.merge_task.FailSegmentMergeTask(
            merge_task_pb2.FailSegmentMergeTaskRequest(
                task_id=task.task_id,
                error_message="it broke",
                attempt=task.attempt if attempt is None else attempt,
                failed_segment_id=failed_segment_id,
                is_deferred=is_deferred,
                is_proven=is_proven,
            )
        )

    def merge_all(self, format_version: int = 0) -> int:
        """Complete every open task; answers how many. The outputs name a format unless it is 0."""
        done = 0
        while (task := self.find_task()) is not None:
            output = self.output(task)
            if format_version:
                output.facts.format_version = format_version
            reply = self.complete(task.task_id, output)
            assert reply.WhichOneof("result") == "success", reply
            done += 1
        return done
