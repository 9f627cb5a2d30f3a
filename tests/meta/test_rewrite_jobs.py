"""Rewrites as jobs: bounded tasks, pause and resume, limits, and an end."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from meta.errors import InvalidArgument, NotFound, RewriteUnfinished
from meta.v1 import catalog_pb2, common_pb2, janitor_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.rewrites import RewriteDriver
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


@pytest.fixture
def rewrites(meta_server: MetaServer) -> RewriteDriver:
    return RewriteDriver(meta_server.client, meta_server.running.database)


def of_format(dataset: str, version: int, start: int = EPOCH) -> common_pb2.CreateSegment:
    """Describe a segment whose writer names its format; 0 names none."""
    segment = segment_of(dataset, start)
    if version:
        segment.facts.format_version = version
    return segment


def test_a_few_tasks_are_open_at_a_time_until_all_is_rewritten(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = set(writer.save_many(dataset, 7))

    job = rewrites.create(dataset, tasks_max=3)
    opened = []
    while (job := rewrites.advance(job)).state == pb.REWRITE_JOB_STATE_RUNNING:
        opened.append(job.open_tasks)
        if (task := worker.find_task()) is not None:
            assert task.segments[0].id in ids
            worker.complete(task.task_id, worker.output(task))

    assert max(opened) == 3
    assert job.state == pb.REWRITE_JOB_STATE_DONE
    assert (job.segments_total, job.segments_done, job.open_tasks) == (7, 7, 0)
    assert job.bytes_total == job.bytes_done == 7_000
    assert job.finished_at
    live = writer.find("web").segments
    assert len(live) == 7
    assert not ids & {one.id for one in live}
    assert {one.merge_count for one in live} == {0}


def test_segments_of_the_wanted_format_are_left_alone(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    old, unknown, new = writer.save(*(of_format(dataset, version) for version in (1, 0, 2)))
    before = rewrites.formats(dataset)

    job = rewrites.create(dataset, format_version=2)
    rewrites.finish(job, lambda: worker.merge_all(format_version=2))

    assert before == {0: 1, 1: 1, 2: 1}
    assert rewrites.formats(dataset) == {2: 3}
    live = set(writer.find_ids("web"))
    assert new in live
    assert not {old, unknown} & live


def test_only_segments_with_events_in_the_time_range_take_part(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    ids = writer.save(*(segment_of(dataset, EPOCH + day * DAY) for day in range(4)))

    job = rewrites.create(dataset, span=(EPOCH + DAY, EPOCH + 3 * DAY))
    rewrites.finish(job, worker.merge_all)

    live = set(writer.find_ids("web"))
    assert [one in live for one in ids] == [True, False, False, True]


def test_a_rewrite_from_a_time_on_takes_the_greatest_time(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    before, greatest = writer.save(segment_of(dataset), segment_of(dataset, 2**63 - 1))

    job = rewrites.create(dataset, span=(EPOCH + 1, 2**63 - 1))
    rewrites.finish(job, worker.merge_all)

    live = set(writer.find_ids("web"))
    assert before in live
    assert greatest not in live


def test_a_rewrite_takes_exactly_the_segments_whose_bounds_may_leave_values_out(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    segments = [segment_of(dataset) for _ in range(4)]
    for segment in (segments[0], segments[2]):
        segment.written_facts.has_exact_bounds = True
    ids = writer.save(*segments)

    job = rewrites.create(dataset, inexact_bounds=True)
    finished = rewrites.finish(job, worker.merge_all)

    live = {segment.id: segment for segment in writer.find("web").segments}
    assert [one in live for one in ids] == [True, False, True, False]
    assert (finished.segments_total, finished.segments_done) == (2, 2)
    assert finished.inexact_bounds
    assert live[ids[0]].written_facts.has_exact_bounds


def test_a_paused_rewrite_creates_no_tasks_until_it_is_resumed(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 5)
    job = rewrites.advance(rewrites.create(dataset, tasks_max=2))

    paused = rewrites.set_state(job, pb.REWRITE_JOB_STATE_PAUSED)
    done = worker.merge_all()
    idle = rewrites.advance(paused)
    rewrites.set_state(job, pb.REWRITE_JOB_STATE_RUNNING)
    finished = rewrites.finish(job, worker.merge_all)

    assert done == 2
    assert (idle.state, idle.open_tasks) == (pb.REWRITE_JOB_STATE_PAUSED, 0)
    assert finished.segments_done == 5


def test_a_cancelled_rewrite_keeps_only_the_tasks_that_workers_have(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 5)
    job = rewrites.advance(rewrites.create(dataset, tasks_max=3))
    held = worker.poll()

    cancelled = rewrites.set_state(job, pb.REWRITE_JOB_STATE_CANCELLED)
    reply = worker.complete(held.task_id, worker.output(held))
    again = rewrites.set_state(job, pb.REWRITE_JOB_STATE_RUNNING)

    assert cancelled.open_tasks == 1
    assert reply.WhichOneof("result") == "success"
    assert worker.find_task() is None
    assert again.state == pb.REWRITE_JOB_STATE_CANCELLED


def test_one_unfinished_rewrite_a_dataset_and_the_same_id_is_the_same_rewrite(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    job = rewrites.create(dataset)

    again = rewrites.create(dataset, job_id=job.id)
    with pytest.raises(RewriteUnfinished):
        rewrites.create(dataset)
    rewrites.finish(job, worker.merge_all)
    other = rewrites.create(dataset)

    assert again == job
    assert other.id != job.id
    assert [one.id for one in rewrites.list()] == [other.id, job.id]


def test_segments_in_a_merge_are_left_to_it_and_looked_at_again(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 17)
    worker.plan()
    job = rewrites.create(dataset)
    merge = worker.poll()
    assert len(merge.segments) == 16

    rewrites.advance(job)
    rewritten = worker.merge_all()
    waiting = rewrites.advance(rewrites.advance(job))
    rewrites.cancel_task(merge.task_id)
    finished = rewrites.finish(job, worker.merge_all)

    assert rewritten == 1
    assert waiting.state == pb.REWRITE_JOB_STATE_RUNNING
    assert (finished.segments_done, finished.segments_total) == (17, 17)


def test_what_a_merge_took_counts_as_skipped(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 17)
    worker.plan()

    finished = rewrites.finish(rewrites.create(dataset), worker.merge_all)

    assert finished.state == pb.REWRITE_JOB_STATE_DONE
    assert (finished.segments_done, finished.segments_total) == (1, 17)


def test_the_rewrite_of_a_deleted_dataset_is_cancelled(
    rewrites: RewriteDriver, writer: Writer, dataset: str
) -> None:
    writer.save_many(dataset, 2)
    job = rewrites.create(dataset)
    rewrites.client.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=dataset))

    assert rewrites.advance(job).state == pb.REWRITE_JOB_STATE_CANCELLED


def test_an_excluded_segment_does_not_hold_up_the_rewrite(
    meta_server: MetaServer,
    rewrites: RewriteDriver,
    writer: Writer,
    worker: WorkerDriver,
    dataset: str,
) -> None:
    writer.save_many(dataset, 3)
    job = rewrites.advance(rewrites.create(dataset))
    bad = worker.poll()
    worker.fail(bad, failed_segment_id=bad.segments[0].id, is_proven=True)

    finished = rewrites.finish(job, worker.merge_all)

    assert (finished.segments_done, finished.segments_total) == (2, 3)


Begin = Callable[[RewriteDriver, str], pb.RewriteJob]


@pytest.mark.parametrize(
    ("begin", "is_good"),
    [
        pytest.param(lambda r, d: r.create(d, tasks_max=1_000), True, id="as many as allowed"),
        pytest.param(lambda r, d: r.create(d, tasks_max=1_001), False, id="one more"),
        pytest.param(lambda r, d: r.create(d, tasks_max=-1), False, id="fewer than none"),
        pytest.param(lambda r, d: r.create(d, format_version=2**31 - 1), True, id="any format"),
        pytest.param(lambda r, d: r.create(d, format_version=-1), False, id="no format"),
        pytest.param(lambda r, d: r.create(d, bytes_per_sec=-1), False, id="negative speed"),
        pytest.param(lambda r, d: r.create(d, span=(EPOCH, EPOCH)), False, id="an empty range"),
    ],
)
def test_limits_of_a_rewrite(
    rewrites: RewriteDriver, dataset: str, begin: Begin, is_good: bool
) -> None:
    if is_good:
        assert begin(rewrites, dataset).id
        return
    with pytest.raises(InvalidArgument):
        begin(rewrites, dataset)


def test_unknown_rewrites_and_datasets_are_not_found(rewrites: RewriteDriver) -> None:
    for call in (
        lambda: rewrites.create(str(uuid4())),
        lambda: rewrites.formats(str(uuid4())),
        lambda: rewrites.set_state(pb.RewriteJob(id=str(uuid4())), pb.REWRITE_JOB_STATE_PAUSED),
    ):
        with pytest.raises(NotFound):
            call()


def test_rewriting_all_at_once_works_beside_a_rewrite(
    rewrites: RewriteDriver, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    writer.save_many(dataset, 5)
    job = rewrites.advance(rewrites.create(dataset, tasks_max=2))

    planned = rewrites.client.janitor.RewriteAllSegments(janitor_pb2.RewriteAllSegmentsRequest())
    finished = rewrites.finish(job, worker.merge_all)

    assert planned.tasks_created == 3
    assert (finished.segments_done, finished.segments_total) == (2, 5)
