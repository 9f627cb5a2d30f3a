"""The jobs against a real meta and a real folder."""

import os
from dataclasses import replace

import pytest

from janitor import jobs
from janitor.jobs import Tools
from meta import metrics
from meta.errors import ObjectCondemned
from meta.v1.catalog_pb2 import CreateDatasetRequest
from meta.v1.common_pb2 import (
    CloudObjectKey,
    CloudObjectPrefix,
    CreateSegment,
    TimeRange,
)
from meta.v1.ingestion_pb2 import DownloadConfigRequest, SaveSegmentsRequest
from meta.v1.merge_task_pb2 import (
    CompleteSegmentMergeTaskRequest,
    PollForSegmentMergeTaskRequest,
)
from meta.v1.operations_pb2 import CondemnObjectsRequest
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.ids import new_uuid7
from segments.keys import baby_key, new_merged_key, split_key
from tests.support.object_store.skewed_clock import SkewedStore

DAY_NANOS = 86_400 * 10**9


def object_key(tools: Tools, key: str) -> CloudObjectKey:
    reply = tools.meta.ingestion.DownloadConfig(DownloadConfigRequest(worker_id="test"))
    prefix, name = split_key(key)
    bucket = reply.cloud_object_prefix.bucket
    return CloudObjectKey(prefix=CloudObjectPrefix(bucket=bucket, prefix=prefix), key=name)


def segment(tools: Tools, dataset_id: str, key: str) -> CreateSegment:
    tools.store.put_if_absent(key, b"rows")
    return CreateSegment(
        dataset_id=dataset_id,
        time_range=TimeRange(start_time=DAY_NANOS + 1, end_time=DAY_NANOS + 2),
        size_bytes=4_000,
        compressed_size_bytes=1_000,
        number_of_events=10,
        cloud_object_key=object_key(tools, key),
    )


def save_segments(tools: Tools, dataset_id: str, count: int) -> list[str]:
    """Register segments with objects; returns the keys."""
    keys = [new_merged_key(dataset_id) for _ in range(count)]
    segments = [segment(tools, dataset_id, key) for key in keys]
    tools.meta.ingestion.SaveSegments(SaveSegmentsRequest(segments=segments))
    return keys


def new_dataset(tools: Tools) -> str:
    request = CreateDatasetRequest(name=f"dataset-{new_uuid7()}")
    return tools.meta.catalog.CreateDataset(request).id


def merge(tools: Tools, dataset_id: str) -> str:
    """Do the one task there is; returns the key of its output."""
    task = tools.meta.merge_task.PollForSegmentMergeTask(
        PollForSegmentMergeTaskRequest(worker_id="worker")
    ).task
    key = f"{task.cloud_object_prefix.prefix.rstrip('/')}/{new_uuid7()}.parquet"
    output = segment(tools, dataset_id, key)
    output.number_of_events = sum(s.number_of_events for s in task.segments)
    done = tools.meta.merge_task.CompleteSegmentMergeTask(
        CompleteSegmentMergeTaskRequest(task_id=task.task_id, merged_segment=output)
    )
    assert done.WhichOneof("result") == "success", done
    return key


def merged_keys(tools: Tools) -> set[str]:
    return {info.key for info in tools.store.list("dataset/")}


def visible_keys(tools: Tools) -> set[str]:
    found = tools.meta.segment_lookup.FindSegments(FindSegmentsRequest()).segments
    return {f"{s.cloud_object_key.prefix.prefix}/{s.cloud_object_key.key}" for s in found}


def test_small_segments_are_planned_merged_and_their_objects_deleted(tools: Tools) -> None:
    dataset_id = new_dataset(tools)
    inputs = save_segments(tools, dataset_id, 4)
    jobs.plan_merges(tools)
    output = merge(tools, dataset_id)
    assert merged_keys(tools) == {*inputs, output}

    jobs.delete_tombstoned(tools)

    assert merged_keys(tools) == visible_keys(tools) == {output}


def test_deleting_goes_on_where_a_dead_janitor_stopped(tools: Tools) -> None:
    dataset_id = new_dataset(tools)
    inputs = save_segments(tools, dataset_id, 4)
    jobs.plan_merges(tools)
    output = merge(tools, dataset_id)
    tools.store.delete(inputs)

    jobs.delete_tombstoned(tools)
    jobs.delete_tombstoned(tools)

    assert merged_keys(tools) == {output}


def give_up(tools: Tools, key: str) -> None:
    """Condemn an object as its writer."""
    request = CondemnObjectsRequest(object_keys=[key], written_by_caller=True)
    assert tools.meta.operations.CondemnObjects(request).condemned_keys == [key]


def test_given_up_objects_go_and_live_and_unknown_ones_stay(tools: Tools) -> None:
    dataset_id = new_dataset(tools)
    live = save_segments(tools, dataset_id, 3)
    given_up, unknown = (new_merged_key(dataset_id) for _ in range(2))
    for key in (given_up, unknown):
        tools.store.put_if_absent(key, b"")
    give_up(tools, given_up)

    jobs.collect_orphans(tools)
    jobs.collect_orphans(tools)

    assert merged_keys(tools) == {*live, unknown}


def test_a_condemned_object_can_no_longer_be_registered(tools: Tools) -> None:
    dataset_id = new_dataset(tools)
    key = new_merged_key(dataset_id)
    late = segment(tools, dataset_id, key)
    give_up(tools, key)
    jobs.collect_orphans(tools)
    assert merged_keys(tools) == set()

    with pytest.raises(ObjectCondemned):
        tools.meta.ingestion.SaveSegments(SaveSegmentsRequest(segments=[late]))


@pytest.mark.parametrize("orphan_min_age", [60.0])
def test_an_object_younger_than_meta_says_is_not_an_orphan(tools: Tools) -> None:
    key = new_merged_key(new_dataset(tools))
    tools.store.put_if_absent(key, b"")

    jobs.collect_orphans(tools)

    assert merged_keys(tools) == {key}


def test_babies_of_a_stream_nobody_knows_stay(tools: Tools) -> None:
    key = baby_key(str(new_uuid7()), 0)
    tools.store.put_if_absent(key, b"")

    jobs.collect_orphans(tools)

    assert [info.key for info in tools.store.list("ingest-stream/")] == [key]


def test_unfinished_writes_are_dropped(tools: Tools) -> None:
    folder = "/" + tools.meta_stores.default.path + "/.tmp"
    os.close(os.open(f"{folder}/left-behind", os.O_CREAT))
    os.utime(f"{folder}/left-behind", (1, 1))

    jobs.abort_uploads(tools)

    assert os.listdir(folder) == []


def test_the_skew_of_the_store_and_of_this_process_is_measured(tools: Tools) -> None:
    store = SkewedStore(tools.store, -7_200 * 10**9)

    jobs.measure_clocks(replace(tools, store=store))

    skew_secs = metrics.JANITOR.get_sample_value("segplane_store_clock_skew_seconds")
    assert skew_secs == pytest.approx(-7_200.0, abs=5.0)
    own_secs = metrics.JANITOR.get_sample_value("segplane_clock_skew_seconds")
    assert own_secs == pytest.approx(0.0, abs=5.0)
