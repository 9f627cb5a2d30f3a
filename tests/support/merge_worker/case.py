"""A dataset of a real meta, and a worker that merges it without Spark."""

import threading
from pathlib import Path
from uuid import uuid4

from dataplane.location import Locator
from dataplane.registration import segment_facts
from merge_worker.config import Settings
from merge_worker.loop import Worker
from merge_worker.tasks import ClaimedTask, Outcome
from meta.client import MetaClient, location
from meta.process.shutdown import Shutdown
from meta.v1 import catalog_pb2, ingestion_pb2, janitor_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import (
    CloudBucket,
    CloudObjectKey,
    CloudObjectPrefix,
    CreateSegment,
    SegmentInfo,
    TimeRange,
)
from meta.v1.operations_pb2 import (
    GetServerStateRequest,
)
from segments.keys import join_key, new_merged_key, split_key
from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.merge_worker.scripted import DEADLINE_SECS, Here
from tests.support.parquet.rows import PLAIN, Row, plain, rows_of, write_segment

DAY_NANOS = 86_400 * 10**9


class Case:
    """A dataset of a real meta, and its objects."""

    def __init__(self, client: MetaClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.name = f"dataset-{uuid4().hex}"
        request = catalog_pb2.CreateDatasetRequest(name=self.name)
        self.dataset_id = client.catalog.CreateDataset(request).id
        state = client.operations.GetServerState(GetServerStateRequest())
        self.bucket: CloudBucket = state.bucket
        self.stream_id = str(uuid4())
        self.store: ObjectStore = open_store(location(self.bucket))
        self.store.probe()  # Makes the folder.

    def save(
        self, seed: int, days: int = 1, format_version: int = 2, *, has_facts: bool = False
    ) -> list[Row]:
        """Write and register a segment with rows of some days; returns its rows."""
        table = rows_of("logs", 40, seed=seed, times=days * DAY_NANOS)
        key, path = new_merged_key(self.dataset_id), self.folder / f"{uuid4()}.parquet"
        batch, span = BatchPart(f"batch-{seed}", 1, 1), OffsetSpan(self.stream_id, seed, seed)
        footer = SegmentFooter(self.dataset_id, "test", (batch,), (span,), format_version)
        _, facts = write_segment(path, {"logs": table}, PLAIN, footer)
        self.store.put_file_if_absent(key, path)
        prefix, name = split_key(key)
        segment = CreateSegment(
            dataset_id=self.dataset_id,
            time_range=TimeRange(start_time=facts.start_time, end_time=facts.end_time),
            size_bytes=facts.size_bytes,
            compressed_size_bytes=facts.compressed_size_bytes,
            number_of_events=facts.rows,
            cloud_object_key=CloudObjectKey(
                prefix=CloudObjectPrefix(bucket=self.bucket, prefix=prefix), key=name
            ),
            facts=segment_facts(facts.content) if has_facts else None,
        )
        request = ingestion_pb2.SaveSegmentsRequest(segments=[segment])
        self.client.ingestion.SaveSegments(request)
        return plain(table)

    def register(self, key: str, like: SegmentInfo) -> None:
        """Register an object with the facts of another one."""
        prefix, name = split_key(key)
        segment = CreateSegment(
            dataset_id=like.dataset_id,
            time_range=like.time_range,
            size_bytes=like.size_bytes,
            compressed_size_bytes=like.compressed_size_bytes,
            number_of_events=like.number_of_events,
            cloud_object_key=CloudObjectKey(
                prefix=CloudObjectPrefix(bucket=self.bucket, prefix=prefix), key=name
            ),
        )
        request = ingestion_pb2.SaveSegmentsRequest(segments=[segment])
        self.client.ingestion.SaveSegments(request)

    def plan(self) -> int:
        """Have meta plan merges; returns how many tasks there are."""
        request = janitor_pb2.CreateMergeTasksRequest(dataset_name=self.name)
        return self.client.janitor.CreateMergeTasks(request).tasks_created

    def find(self) -> list[SegmentInfo]:
        """Read what is visible now."""
        request = segment_lookup_pb2.FindSegmentsRequest(dataset_names=[self.name])
        return list(self.client.segment_lookup.FindSegments(request).segments)

    def key(self, segment: SegmentInfo) -> str:
        return join_key(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key)

    def work_until(
        self, merger: Here, is_done: threading.Event, within_secs: float = DEADLINE_SECS
    ) -> None:
        """Run a worker until something has happened."""
        settings = Settings(interval_secs=0.02, interval_secs_max=0.05, work_dir=self.folder)
        locator = Locator(self.client, "merge_worker/test")
        worker = Worker(settings, self.client, merger, Shutdown(), threading.Event(), locator)
        thread = threading.Thread(target=worker.work, daemon=True)
        thread.start()
        assert is_done.wait(within_secs)
        worker.shutdown.request()
        thread.join(DEADLINE_SECS)
        assert not thread.is_alive()


class Signalling(Here):
    """Says when it is checked after its tasks: they have been reported."""

    def __init__(self, tasks: int = 1) -> None:
        super().__init__()
        self.is_reported = threading.Event()
        self._left = tasks

    def run(self, task: ClaimedTask) -> Outcome:
        self._left -= 1
        return super().run(task)

    @property
    def is_last(self) -> bool:
        """Whether no task is left after the one that runs."""
        return self._left <= 0

    def check(self) -> None:
        if self._left <= 0:
            self.is_reported.set()
