"""A scripted meta behind a real gRPC server, and a worker that merges in this process."""

# ruff: noqa: N802 - RPC names are the contract's

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from uuid import uuid4

import grpc

from dataplane.location import Locator
from merge_worker.config import Settings
from merge_worker.job import merge
from merge_worker.loop import Worker
from merge_worker.tasks import ClaimedTask, Failed, Outcome
from meta.client import MetaClient
from meta.process.shutdown import Shutdown
from meta.v1 import (
    ingestion_pb2,
    ingestion_pb2_grpc,
    janitor_pb2,
    janitor_pb2_grpc,
    merge_task_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
)
from meta.v1 import merge_task_pb2 as pb
from meta.v1.common_pb2 import (
    CloudBucket,
    CloudObjectKey,
    CloudObjectPrefix,
    SegmentInfo,
    TimeRange,
)
from segments.keys import attempt_prefix, new_merged_key, split_key
from segments.location import StoreLocation
from segments.parquet.footer import SegmentFooter
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.rows import DATASET, PLAIN, rows_of, write_segment

DEADLINE_SECS = 60.0


@dataclass(frozen=True)
class Located(ingestion_pb2_grpc.IngestionServiceServicer):
    """Says where the objects are."""

    bucket: CloudBucket

    def DownloadConfig(
        self, request: ingestion_pb2.DownloadConfigRequest, context: grpc.ServicerContext
    ) -> ingestion_pb2.DownloadConfigResponse:
        """Give the configuration, which never changes."""
        return ingestion_pb2.DownloadConfigResponse(
            config_version="1", cloud_object_prefix=CloudObjectPrefix(bucket=self.bucket)
        )


class Scripted(
    merge_task_pb2_grpc.MergeTaskServiceServicer,
    operations_pb2_grpc.OperationsServiceServicer,
    janitor_pb2_grpc.JanitorServiceServicer,
):
    """Hands out the tasks it was given and notes what it is told."""

    def __init__(self) -> None:
        self.tasks: Queue[pb.SegmentMergeTaskInfo] = Queue()
        self.reports: Queue[pb.CompleteSegmentMergeTaskRequest | pb.FailSegmentMergeTaskRequest]
        self.reports = Queue()
        self.verdict = pb.CompleteSegmentMergeTaskResponse(
            success=pb.CompleteSegmentMergeTaskSuccess()
        )
        self.still_yours = True
        self.answers_beats = True
        self.given_back: list[str] = []
        self.lease_secs = 60
        self.beats = threading.Semaphore(0)
        self.rows_told: Queue[int] = Queue()
        self.polls = threading.Semaphore(0)
        self.refusals: list[grpc.StatusCode] = []

    def PollForSegmentMergeTask(
        self, request: pb.PollForSegmentMergeTaskRequest, context: grpc.ServicerContext
    ) -> pb.PollForSegmentMergeTaskResponse:
        self.polls.release()
        if self.tasks.empty():
            return pb.PollForSegmentMergeTaskResponse()
        return pb.PollForSegmentMergeTaskResponse(task=self.tasks.get())

    def CompleteSegmentMergeTask(
        self, request: pb.CompleteSegmentMergeTaskRequest, context: grpc.ServicerContext
    ) -> pb.CompleteSegmentMergeTaskResponse:
        if self.refusals:
            context.abort(self.refusals.pop(), "scripted")
        self.reports.put(request)
        return self.verdict

    def FailSegmentMergeTask(
        self, request: pb.FailSegmentMergeTaskRequest, context: grpc.ServicerContext
    ) -> pb.FailSegmentMergeTaskResponse:
        self.reports.put(request)
        return pb.FailSegmentMergeTaskResponse()

    def HeartbeatMergeTask(
        self, request: operations_pb2.HeartbeatMergeTaskRequest, context: grpc.ServicerContext
    ) -> operations_pb2.HeartbeatMergeTaskResponse:
        self.rows_told.put(request.rows_done)
        self.beats.release()
        if not self.answers_beats:
            context.abort(grpc.StatusCode.INTERNAL, "scripted")
        return operations_pb2.HeartbeatMergeTaskResponse(
            still_yours=self.still_yours, lease_secs=self.lease_secs
        )

    def UnclaimMergeTask(
        self, request: janitor_pb2.UnclaimMergeTaskRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.UnclaimMergeTaskResponse:
        self.given_back.append(request.task_id)
        return janitor_pb2.UnclaimMergeTaskResponse(unclaimed=True)


@dataclass
class Here:
    """Merges in this process; `before` runs first, with an event that `cancel` sets."""

    before: Callable[[threading.Event], Outcome | None] = lambda _: None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def run(self, task: ClaimedTask) -> Outcome:
        return self.before(self.cancelled) or merge(task)

    def check(self) -> None:
        pass

    def cancel(self, task: ClaimedTask) -> None:
        self.cancelled.set()


def until_cancelled(cancelled: threading.Event) -> Outcome:
    assert cancelled.wait(DEADLINE_SECS)
    return Failed("the Spark job failed: cancelled")


@dataclass(frozen=True)
class ScriptedStage:
    """A scripted meta, a store with segments, and a worker to run."""

    meta: Scripted
    address: str
    store: ObjectStore
    folder: Path

    def task(self, segments: int = 2, store: str = "") -> pb.SegmentMergeTaskInfo:
        """Put segments and make the task that merges them; `store` names the store in the keys."""
        task_id = str(uuid4())
        return pb.SegmentMergeTaskInfo(
            task_id=task_id,
            dataset_id=DATASET,
            attempt=2,
            lease_secs=3600,
            segments=[self._segment(i, store) for i in range(segments)],
            cloud_object_prefix=CloudObjectPrefix(
                bucket=self._bucket(), prefix=attempt_prefix(DATASET, task_id, 2, store)
            ),
        )

    @contextmanager
    def worker(self, merger: Here, object_store: StoreLocation | None = None) -> Iterator[Worker]:
        """Run a worker's thread; it must end once shutdown is requested."""
        settings = Settings(
            object_store=object_store,
            interval_secs=0.01,
            interval_secs_max=0.02,
            work_dir=self.folder,
        )
        with MetaClient(self.address) as client:
            locator = Locator(client, "merge_worker/test", object_store)
            worker = Worker(settings, client, merger, Shutdown(), threading.Event(), locator)
            thread = threading.Thread(target=worker.work, daemon=True)
            thread.start()
            try:
                yield worker
            finally:
                worker.shutdown.request()
                thread.join(DEADLINE_SECS)
            assert not thread.is_alive()

    def _segment(self, seed: int, store: str) -> SegmentInfo:
        key, path = new_merged_key(DATASET, store), self.folder / f"{uuid4()}.parquet"
        rows = {"logs": rows_of("logs", 50, seed=seed)}
        _, facts = write_segment(path, rows, PLAIN, SegmentFooter(DATASET, "test"))  # type: ignore[arg-type]
        self.store.put_file_if_absent(key, path)
        prefix, name = split_key(key)
        return SegmentInfo(
            id=str(uuid4()),
            time_range=TimeRange(start_time=facts.start_time, end_time=facts.end_time),
            number_of_events=facts.rows,
            cloud_object_key=CloudObjectKey(
                prefix=CloudObjectPrefix(bucket=self._bucket(), prefix=prefix), key=name
            ),
        )

    def _bucket(self) -> CloudBucket:
        where = self.store.location
        return CloudBucket(provider=where.provider, path=where.path)


@contextmanager
def scripted_stage(tmp_path: Path) -> Iterator[ScriptedStage]:
    (tmp_path / "store").mkdir()
    scripted = Scripted()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    merge_task_pb2_grpc.add_MergeTaskServiceServicer_to_server(scripted, server)
    operations_pb2_grpc.add_OperationsServiceServicer_to_server(scripted, server)
    janitor_pb2_grpc.add_JanitorServiceServicer_to_server(scripted, server)
    located = Located(CloudBucket(provider="file", path=str(tmp_path / "store").strip("/")))
    ingestion_pb2_grpc.add_IngestionServiceServicer_to_server(located, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    store = open_store(StoreLocation.from_url(f"file://{tmp_path}/store"))
    yield ScriptedStage(scripted, f"127.0.0.1:{port}", store, tmp_path)
    server.stop(None).wait()
