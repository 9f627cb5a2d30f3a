"""A stack of real parts over two stores: a collector, a nursery, a merge worker and a janitor."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from dataplane.location import Locator, ask_location
from dataplane.registration import create_segment
from janitor import jobs
from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools
from merge_worker.config import Settings as WorkerSettings
from merge_worker.job import merge
from merge_worker.loop import Worker
from merge_worker.tasks import Merged, claimed_task
from meta.client import MetaClient, location
from meta.process.shutdown import Shutdown
from meta.v1 import catalog_pb2, common_pb2, segment_lookup_pb2
from meta.v1 import operations_pb2 as pb
from meta.v1.merge_task_pb2 import (
    CompleteSegmentMergeTaskRequest,
    PollForSegmentMergeTaskRequest,
    SegmentMergeTaskInfo,
)
from nursery.loop import Nursery, RunTasks
from segments.store.interface import ObjectStore
from segments.store.open import open_store, open_stores
from segplane.read import open_dataset
from tests.support.merge_worker.scripted import Here
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, nursery, run_here
from tests.support.visible_segments import key_of
from tests.support.waiting import wait_until

COLD = "cold"


@dataclass
class Placement:
    """A dataset, and the processes that write, move, read and delete it."""

    server: MetaServer
    folder: Path
    collector: CollectorDriver
    # Names no more than the number of a record that was sent.
    sent: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, server: MetaServer, folder: Path) -> "Placement":
        name = f"dataset-{uuid4().hex}"
        request = catalog_pb2.CreateDatasetRequest(name=name)
        collector = CollectorDriver(server.client, server.client.catalog.CreateDataset(request).id)
        return cls(server, folder, collector)

    @property
    def client(self) -> MetaClient:
        return self.server.client

    @property
    def dataset_id(self) -> str:
        return self.collector.dataset_id

    @property
    def name(self) -> str:
        request = catalog_pb2.GetDatasetRequest(id=self.dataset_id)
        return self.client.catalog.GetDataset(request).name

    @property
    def store(self) -> ObjectStore:
        """All stores, as every process opens them."""
        return open_stores(ask_location(self.client, "test").stores)

    @property
    def work_dir(self) -> Path:
        folder = self.folder / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def nursery(self, run_tasks: RunTasks = run_here) -> Nursery:
        return nursery(self.client, run_tasks)

    def send(self, count: int = 3) -> None:
        """Send some records and have a nursery merge them."""
        self.put(count)
        self.nursery().cycle()

    def put(self, count: int = 3) -> None:
        texts = [f"record {len(self.sent) + n}" for n in range(count)]
        self.collector.send(*texts)
        self.sent += texts

    def move(self, store: str = COLD) -> pb.RewriteJob:
        request = pb.CreateRewriteJobRequest(
            id=str(uuid4()), dataset_id=self.dataset_id, store=store
        )
        return self.client.operations.CreateRewriteJob(request).rewrite

    def finish(self, job: pb.RewriteJob) -> pb.RewriteJob:
        """Let a merge worker do the job's tasks until it has ended."""
        rewrites = RewriteDriver(self.client, self.server.running.database)

        def wait() -> None:
            wait_until(lambda: not rewrites.get(job).open_tasks, "its tasks end", seconds=30)

        with self.working():
            return rewrites.finish(job, wait)

    def claim(self, job: pb.RewriteJob) -> SegmentMergeTaskInfo:
        """Claim the job's next task, as a worker that then falls asleep."""
        RewriteDriver(self.client, self.server.running.database).advance(job)
        request = PollForSegmentMergeTaskRequest(worker_id="asleep")
        return self.client.merge_task.PollForSegmentMergeTask(request).task

    def complete(self, info: SegmentMergeTaskInfo) -> None:
        """Do a claimed task and report it."""
        stores = ask_location(self.client, "test").stores
        outcome = merge(claimed_task(info, stores, "test", self.work_dir, 1 << 26))
        assert isinstance(outcome, Merged), outcome
        (output,) = outcome.outputs
        bucket = info.cloud_object_prefix.bucket
        segment = create_segment(info.dataset_id, bucket, output.key, output.facts)
        request = CompleteSegmentMergeTaskRequest(task_id=info.task_id, merged_segment=segment)
        reply = self.client.merge_task.CompleteSegmentMergeTask(request)
        assert reply.HasField("success"), reply

    @contextmanager
    def working(self) -> Iterator[None]:
        settings = WorkerSettings(
            interval_secs=0.01, interval_secs_max=0.02, work_dir=self.work_dir
        )
        locator = Locator(self.client, "merge_worker/test")
        worker = Worker(settings, self.client, Here(), Shutdown(), threading.Event(), locator)
        thread = threading.Thread(target=worker.work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            worker.shutdown.request()
            thread.join(60.0)

    @property
    def tools(self) -> Tools:
        stores = ask_location(self.client, "test").stores
        settings = JanitorSettings(meta_address=self.server.address)
        return Tools(self.client, open_stores(stores), stores, settings, Shutdown(), "janitor")

    def delete_tombstoned(self) -> None:
        jobs.delete_tombstoned(self.tools)

    def segments(self) -> list[common_pb2.SegmentInfo]:
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[self.name])
        return list(self.client.segment_lookup.FindSegments(request).segments)

    def buckets(self) -> Counter[str]:
        """The number of visible segments by the store that their messages say has their objects."""
        stores = ask_location(self.client, "test").stores
        names = {stores.get(name): name or "objects" for name in stores.names()}
        segments = self.segments()
        for segment in segments:
            at = location(segment.cloud_object_key.prefix.bucket)
            assert open_store(at).head(key_of(segment)).size_bytes
        return Counter(names[location(s.cloud_object_key.prefix.bucket)] for s in segments)

    def read(self, **options: Any) -> list[str]:
        """All records that `segplane.read` sees."""
        with open_dataset(self.name, "logs", meta_address=self.server.address, **options) as opened:
            return sorted(str(row["body"]) for row in opened.newest(10_000).to_pylist())

    def check(self) -> None:
        """Each record that was sent is read once."""
        assert self.read() == sorted(self.sent)
