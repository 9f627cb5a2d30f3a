"""MergeTaskService: merges that are divided by day into several outputs."""

from dataclasses import replace

import pytest

from meta.errors import InvalidArgument
from meta.store.deletion import orphans
from meta.store.deletion.orphans import Question
from meta.v1 import common_pb2, janitor_pb2, merge_task_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer

OUTPUTS_MAX = 64
Task = merge_task_pb2.SegmentMergeTaskInfo
Created = common_pb2.CreateSegment


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def worker(worker: WorkerDriver) -> WorkerDriver:
    return replace(worker, outputs_max=OUTPUTS_MAX)


def planned(writer: Writer, worker: WorkerDriver, dataset: str, days: int = 3) -> Task:
    """A claimed task over 17 segments that reach from the first to the last of some days."""
    end = EPOCH + days * DAY - 1
    writer.save(*(segment_of(dataset, EPOCH + n, end - n) for n in range(16)))
    writer.save(segment_of(dataset, EPOCH, end))
    worker.plan()
    return worker.poll()


def by_day(worker: WorkerDriver, task: Task, days: int = 3) -> list[Created]:
    """One output a day; the first one holds what is left of the events."""
    total = sum(one.number_of_events for one in task.segments)
    events = [total - days + 1] + [1] * (days - 1)
    return [worker.output_of_day(task, day, events[day]) for day in range(days)]


def test_a_worker_that_divides_outputs_learns_into_how_many(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    assert planned(writer, replace(worker, outputs_max=1_000), dataset).outputs_max == OUTPUTS_MAX


def test_a_worker_that_asks_for_nothing_gets_one_output(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    assert planned(writer, replace(worker, outputs_max=0), dataset).outputs_max == 1


def test_a_merge_of_one_day_and_a_rewrite_have_one_output(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 17)
    worker.plan()
    merge = worker.poll()
    writer.save(segment_of(dataset, EPOCH, EPOCH + 2 * DAY))
    worker.client.janitor.RewriteAllSegments(janitor_pb2.RewriteAllSegmentsRequest())
    rewrite = worker.poll()

    assert (len(merge.segments), merge.outputs_max) == (16, 1)
    assert (len(rewrite.segments), rewrite.outputs_max) == (1, 1)


def test_all_outputs_become_visible_at_the_version_that_hides_the_inputs(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    input_ids = [one.id for one in task.segments]
    outputs = by_day(worker, task)

    reply = worker.complete(task.task_id, *outputs)

    assert reply.WhichOneof("result") == "success"
    created = {one.id: one for one in writer.find("web").segments if one.merge_count}
    assert {o.cloud_object_key.key for o in created.values()} == {
        o.cloud_object_key.key for o in outputs
    }
    versions = {one.created_version for one in created.values()}
    assert len(versions) == 1
    assert {one.tombstone_version for one in writer.get(*input_ids)} == versions
    details = worker.client.janitor.GetMergeTask(
        janitor_pb2.GetMergeTaskRequest(task_id=task.task_id)
    )
    assert {details.output_segment_id, *details.more_output_segment_ids} == set(created)
    assert writer.get(details.output_segment_id)[0].cloud_object_key.key == "day-0.parquet"


def test_as_many_outputs_as_allowed_are_accepted_and_one_more_is_not(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset, OUTPUTS_MAX + 1)

    with pytest.raises(InvalidArgument, match="more_segments"):
        worker.complete(task.task_id, *by_day(worker, task, OUTPUTS_MAX + 1))
    first, *others = by_day(worker, task, OUTPUTS_MAX)
    reply = worker.complete(task.task_id, first, *others)

    assert reply.WhichOneof("result") == "success"
    assert len([s for s in writer.find("web").segments if s.merge_count]) == OUTPUTS_MAX


def test_the_same_outputs_again_are_success_and_any_others_are_not(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    outputs = by_day(worker, task)
    worker.complete(task.task_id, *outputs)
    version = writer.find("web").snapshot_version
    whole = worker.output(task)
    whole.cloud_object_key.key = outputs[0].cloud_object_key.key
    other = Created()
    other.CopyFrom(outputs[2])
    other.cloud_object_key.key = "other.parquet"

    again = worker.complete(task.task_id, *outputs)
    refused = [
        worker.complete(task.task_id, whole),
        worker.complete(task.task_id, *outputs[:2]),
        worker.complete(task.task_id, *outputs[:2], other),
        worker.complete(task.task_id, *outputs[1:]),
    ]

    assert again.WhichOneof("result") == "success"
    assert {reply.error.reason for reply in refused} == {"TASK_NOT_OPEN"}
    assert writer.find("web").snapshot_version == version


def test_a_task_completed_with_one_output_refuses_further_ones(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    whole = worker.output(task, key="day-0.parquet")
    worker.complete(task.task_id, whole)

    reply = worker.complete(task.task_id, *by_day(worker, task))

    assert reply.error.reason == "TASK_NOT_OPEN"


@pytest.mark.parametrize("change", [-1, 1], ids=["lost", "invented"])
def test_outputs_that_lose_or_invent_an_event_change_nothing(
    writer: Writer, worker: WorkerDriver, dataset: str, change: int
) -> None:
    task = planned(writer, worker, dataset)
    outputs = by_day(worker, task)
    outputs[1].number_of_events += change
    before = writer.find("web").snapshot_version

    reply = worker.complete(task.task_id, *outputs)

    assert reply.error.reason == "OUTPUT_MISMATCH"
    assert writer.find("web").snapshot_version == before


def test_outputs_that_share_a_day_or_a_key_or_span_datasets_are_refused(
    writer: Writer, worker: WorkerDriver, dataset: str, catalog: CatalogDriver
) -> None:
    task = planned(writer, worker, dataset)
    twice, foreign, overlapping = (by_day(worker, task) for _ in range(3))
    twice[1].cloud_object_key.key = twice[0].cloud_object_key.key
    other = catalog.dataset("other")
    foreign[1].dataset_id = other
    prefix = foreign[1].cloud_object_key.prefix
    prefix.prefix = prefix.prefix.replace(dataset, other)
    overlapping[1].time_range.start_time -= 1

    for outputs in (twice, foreign, overlapping):
        with pytest.raises(InvalidArgument):
            worker.complete(task.task_id, *outputs)
    assert worker.complete(task.task_id, *by_day(worker, task)).WhichOneof("result") == "success"


def test_one_output_under_another_claim_or_out_of_range_refuses_all(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    stale, early = by_day(worker, task), by_day(worker, task)
    prefix = stale[2].cloud_object_key.prefix
    prefix.prefix = prefix.prefix.removesuffix("-1") + "-2"
    early[0].time_range.start_time -= 1

    reasons = [worker.complete(task.task_id, *o).error.reason for o in (stale, early)]

    assert reasons == ["TASK_FENCED", "OUTPUT_MISMATCH"]
    assert len(writer.find("web").segments) == 17


def test_a_condemned_output_refuses_all_and_leaves_the_other_keys_free(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    outputs = by_day(worker, task)
    prefix = task.cloud_object_prefix.prefix
    with meta_server.running.database.write() as tx:
        tx.exec_driver_sql(
            "INSERT INTO object_identities (object_key, state) VALUES (%s, 2)",
            (f"{prefix}/day-1.parquet",),
        )

    refused = worker.complete(task.task_id, *outputs)
    outputs[1].cloud_object_key.key = "again.parquet"
    reply = worker.complete(task.task_id, *outputs)

    assert refused.error.reason == "OBJECT_CONDEMNED"
    assert reply.WhichOneof("result") == "success"


def test_no_output_of_a_held_claim_is_condemned(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    """A worker that has put some of its outputs may still complete its task with all of them."""
    task = planned(writer, worker, dataset)
    outputs = by_day(worker, task)
    keys = [f"{task.cloud_object_prefix.prefix}/{o.cloud_object_key.key}" for o in outputs]
    with meta_server.running.database.write() as tx:
        held = orphans.condemn(tx, Question(keys, is_own=True), is_dry_run=False)

    worker.complete(task.task_id, *outputs)
    with meta_server.running.database.write() as tx:
        live = orphans.condemn(tx, Question(keys, is_own=True), is_dry_run=False)

    assert (held.condemned, live.condemned) == ((), ())


def test_all_outputs_are_located_and_forgotten_with_their_lineage(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    """Lineage names every (input, output) pair, so that a baby is found in each output."""
    task = planned(writer, worker, dataset)
    worker.complete(task.task_id, *by_day(worker, task))

    with meta_server.running.database.write() as tx:
        pairs = tx.exec_driver_sql(
            "SELECT count(*), count(DISTINCT input_id), count(DISTINCT output_id)"
            " FROM segment_lineage"
        ).one()

    inputs = len(task.segments)
    assert tuple(pairs) == (3 * inputs, inputs, 3)


def test_explain_and_stats_count_every_output(
    writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    task = planned(writer, worker, dataset)
    worker.complete(task.task_id, *by_day(worker, task))

    request = operations_pb2.ExplainMergePlanRequest(dataset_name="web")
    explained = worker.client.operations.ExplainMergePlan(request).segments
    stats = worker.client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())

    live = 17 - len(task.segments) + 3
    assert len(explained) == live
    assert (stats.segment_count, stats.outstanding_merge_tasks) == (live, 0)
