"""The worker against the real meta: what it completes is what readers then see."""

import threading
from collections import Counter
from pathlib import Path
from uuid import uuid4

from merge_worker.config import Settings
from merge_worker.loop import Worker
from merge_worker.tasks import ClaimedTask, Outcome
from meta.client import MetaClient, location
from meta.process import Shutdown
from meta.v1 import catalog_pb2, ingestion_pb2, janitor_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import (
    ATTRIBUTE_SCOPE_RECORD,
    KQL_TYPE_LONG,
    CloudBucket,
    CloudObjectKey,
    CloudObjectPrefix,
    CreateSegment,
    PromotedColumn,
    SegmentInfo,
    ShardingField,
    TimeRange,
)
from meta.v1.operations_pb2 import (
    DatasetSettings,
    GetServerStateRequest,
    PromotedColumns,
    SetDatasetSettingsRequest,
)
from segments.keys import join_key, new_merged_key, split_key
from segments.parquet.footer import SegmentFooter
from segments.parquet.reader import read_footer, read_segment
from segments.parquet.sorting import sort_by
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
        self.store: ObjectStore = open_store(location(self.bucket))
        self.store.probe()  # Makes the folder.

    def save(self, seed: int) -> list[Row]:
        """Write and register a segment; returns its rows."""
        table = rows_of("logs", 40, seed=seed, times=DAY_NANOS)
        key, path = new_merged_key(self.dataset_id), self.folder / f"{uuid4()}.parquet"
        footer = SegmentFooter(self.dataset_id, "test")
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
        )
        request = ingestion_pb2.SaveSegmentsRequest(segments=[segment])
        self.client.ingestion.SaveSegments(request)
        return plain(table)

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
        worker = Worker(settings, self.client, merger, Shutdown(), threading.Event())
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

    def check(self) -> None:
        if self._left <= 0:
            self.is_reported.set()


def test_readers_see_the_merged_segment_in_the_place_of_its_inputs(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    rows = [row for seed in range(16) for row in case.save(seed)]
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    assert merged.number_of_events == len(rows)
    assert merged.merge_count == 1
    (table,) = read_segment(case.store, case.key(merged)).values()
    assert Counter(plain(table)) == Counter(rows)


def test_an_input_that_is_gone_is_reported_and_nothing_changes_for_readers(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    for seed in range(16):
        case.save(seed)
    before = case.find()
    case.store.delete([case.key(before[3])])
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    assert [segment.id for segment in case.find()] == [segment.id for segment in before]
    tasks = meta_client.janitor.ListMergeTasks(janitor_pb2.ListMergeTasksRequest()).tasks
    assert [task.assigned_to_worker for task in tasks] == [""]


STATUS = PromotedColumn(
    name="status", type=KQL_TYPE_LONG, scope=ATTRIBUTE_SCOPE_RECORD, attribute="status"
)
LAYOUT = ("signal", "status", "severity_text", "service_name", "timestamp")


def _change_layout(case: Case) -> None:
    fields = [
        ShardingField(field_name="severity_text", weight=1),
        ShardingField(field_name="status", weight=2),
    ]
    settings = DatasetSettings(promoted_columns=PromotedColumns(columns=[STATUS]))
    case.client.operations.SetDatasetSettings(
        SetDatasetSettingsRequest(dataset_id=case.dataset_id, settings=settings)
    )
    case.client.catalog.SetShardingFields(
        catalog_pb2.SetShardingFieldsRequest(id=case.dataset_id, fields=fields)
    )


def _assert_layout(case: Case, segment: SegmentInfo) -> None:
    stored = read_footer(case.store, case.key(segment))
    assert stored.sort_order == LAYOUT
    assert [column.name for column in stored.promoted] == ["status"]
    table = read_segment(case.store, case.key(segment))["logs"]
    assert table["status"].null_count < table.num_rows
    assert plain(sort_by(table, LAYOUT).select(LAYOUT)) == plain(table.select(LAYOUT))


def test_a_changed_layout_is_applied_by_the_next_merge(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    for seed in range(16):
        case.save(seed)
    _change_layout(case)
    assert case.plan() == 1
    merger = Signalling()

    case.work_until(merger, merger.is_reported)

    (merged,) = case.find()
    _assert_layout(case, merged)


def test_a_changed_layout_is_applied_by_a_rewrite_and_blocks_no_write(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    case = Case(meta_client, tmp_path)
    rows = [row for seed in range(3) for row in case.save(seed)]
    _change_layout(case)
    request = janitor_pb2.RewriteAllSegmentsRequest(dataset_name=case.name)
    planned = meta_client.janitor.RewriteAllSegments(request)
    assert (planned.tasks_created, planned.all_planned) == (3, True)
    rows += case.save(3)
    merger = Signalling(tasks=3)

    case.work_until(merger, merger.is_reported)

    found = case.find()
    rewritten = [s for s in found if read_footer(case.store, case.key(s)).promoted]
    assert (len(found), len(rewritten)) == (4, 3)
    for segment in rewritten:
        _assert_layout(case, segment)
        assert segment.merge_count == 0
    kept: Counter[Row] = Counter()
    for segment in found:
        table = read_segment(case.store, case.key(segment))["logs"]
        kept.update(plain(table.select([n for n in table.schema.names if n != "status"])))
    assert kept == Counter(rows)
