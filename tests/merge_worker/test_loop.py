"""The worker's cycle against a scripted meta behind a real gRPC server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from merge_worker.scratch import progress_writer, scratch_folder
from merge_worker.tasks import Failed
from meta.v1 import merge_task_pb2 as pb
from meta.v1.common_pb2 import TimeRange
from segments.keys import join_key
from segments.parquet.reader import read_footer
from tests.support.merge_worker.scripted import (
    DEADLINE_SECS,
    Here,
    ScriptedStage,
    scripted_stage,
    until_cancelled,
)
from tests.support.parquet.rows import DATASET
from tests.support.waiting import wait_until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[ScriptedStage]:
    with scripted_stage(tmp_path) as stage:
        yield stage


def test_a_task_is_merged_and_its_output_reported(stage: ScriptedStage) -> None:
    task = stage.task(3)
    stage.meta.tasks.put(task)

    with stage.worker(Here()):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)
    assert report.task_id == task.task_id
    merged = report.merged_segment
    key = join_key(merged.cloud_object_key.prefix.prefix, merged.cloud_object_key.key)
    assert key.startswith(task.cloud_object_prefix.prefix)
    assert merged.cloud_object_key.prefix.bucket == task.cloud_object_prefix.bucket
    assert (merged.dataset_id, merged.number_of_events) == (DATASET, 150)
    stored = read_footer(stage.store, key)
    assert merged.time_range == TimeRange(start_time=stored.start_time, end_time=stored.end_time)
    assert merged.compressed_size_bytes == stage.store.head(key).size_bytes
    assert stored.footer.producer.startswith("segplane merge_worker")


def test_a_task_whose_objects_are_all_in_a_named_store_is_merged(stage: ScriptedStage) -> None:
    task = stage.task(2, store="cold")
    stage.meta.tasks.put(task)

    with stage.worker(Here()):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)
    assert report.merged_segment.number_of_events == 100


def test_an_input_that_cannot_be_read_is_named_to_meta(stage: ScriptedStage) -> None:
    task = stage.task(2)
    bad = task.segments[1]
    stage.store.delete([join_key(bad.cloud_object_key.prefix.prefix, bad.cloud_object_key.key)])
    stage.meta.tasks.put(task)

    with stage.worker(Here()):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.FailSegmentMergeTaskRequest)
    assert (report.attempt, report.failed_segment_id) == (2, bad.id)


def test_a_layout_of_a_later_release_defers_the_task_and_blames_no_input(
    stage: ScriptedStage,
) -> None:
    later = stage.task(2)
    later.promoted_columns.add(name="status", type=99, scope=1)
    stage.meta.tasks.put(later)
    stage.meta.tasks.put(stage.task(2))

    with stage.worker(Here()):
        reports = [stage.meta.reports.get(timeout=DEADLINE_SECS) for _ in range(2)]

    deferred, completed = reports
    assert isinstance(deferred, pb.FailSegmentMergeTaskRequest)
    assert deferred.is_deferred
    assert "type 99" in deferred.error_message
    assert isinstance(completed, pb.CompleteSegmentMergeTaskRequest)


def test_a_lost_claim_stops_the_work_and_reports_nothing(stage: ScriptedStage) -> None:
    stage.meta.still_yours = False
    stage.meta.tasks.put(stage.task())
    merger = Here(until_cancelled)

    with stage.worker(merger):
        assert merger.cancelled.wait(DEADLINE_SECS)
        _await_polls(stage, 2)

    assert stage.meta.reports.empty()


def test_a_long_merge_beats_three_times_a_lease(stage: ScriptedStage) -> None:
    stage.meta.lease_secs = 1
    stage.meta.tasks.put(stage.task())

    def four_beats(_: threading.Event) -> None:
        for _beat in range(4):
            assert stage.meta.beats.acquire(timeout=DEADLINE_SECS)

    with stage.worker(Here(four_beats)):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)


def test_a_beat_tells_how_many_rows_are_done(stage: ScriptedStage) -> None:
    task = stage.task()
    stage.meta.tasks.put(task)

    def at_77_rows(_: threading.Event) -> None:
        with scratch_folder(stage.folder, f"{task.task_id}-{task.attempt}") as folder:
            progress_writer(folder)(77)
            while stage.meta.rows_told.get(timeout=DEADLINE_SECS) != 77:
                pass

    stage.meta.lease_secs = 1
    with stage.worker(Here(at_77_rows)):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)


def test_a_verdict_against_the_output_is_dropped_and_the_next_task_taken(
    stage: ScriptedStage,
) -> None:
    stage.meta.verdict = pb.CompleteSegmentMergeTaskResponse(
        error=pb.CompleteSegmentMergeTaskError(message="fenced", reason="TASK_FENCED")
    )
    first, second = stage.task(), stage.task()
    for task in (first, second):
        stage.meta.tasks.put(task)

    with stage.worker(Here()):
        reports = [stage.meta.reports.get(timeout=DEADLINE_SECS) for _ in range(2)]

    assert [r.task_id for r in reports] == [first.task_id, second.task_id]
    assert all(isinstance(r, pb.CompleteSegmentMergeTaskRequest) for r in reports)


@pytest.mark.parametrize("status", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED])
def test_a_completion_that_got_no_answer_is_repeated(
    stage: ScriptedStage, status: grpc.StatusCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merge_worker.loop.RETRY_SECS", 0.01)
    stage.meta.refusals = [status]
    stage.meta.tasks.put(stage.task())

    with stage.worker(Here()):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)


def test_a_task_given_up_at_shutdown_is_left_to_its_lease(stage: ScriptedStage) -> None:
    stage.meta.tasks.put(stage.task())
    merger = Here(until_cancelled)

    stage.meta.lease_secs = 1

    with stage.worker(merger) as worker:
        for _ in range(2):  # With the second beat the worker has had the first one's answer.
            assert stage.meta.beats.acquire(timeout=DEADLINE_SECS)
        worker.shutdown.request()
        worker.give_up.set()
        merger.cancelled.set()

    assert stage.meta.reports.empty()


def test_a_task_given_up_before_a_beat_was_answered_is_reported(stage: ScriptedStage) -> None:
    """It would stay claimed for the long lease of the claim."""
    stage.meta.answers_beats = False
    stage.meta.tasks.put(stage.task())
    merger = Here(until_cancelled)

    with stage.worker(merger) as worker:
        assert stage.meta.beats.acquire(timeout=DEADLINE_SECS)
        worker.shutdown.request()
        worker.give_up.set()
        merger.cancelled.set()
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.FailSegmentMergeTaskRequest)


def test_a_completed_task_is_not_given_back(stage: ScriptedStage) -> None:
    first, second = stage.task(), stage.task()
    for task in (first, second):
        stage.meta.tasks.put(task)

    with stage.worker(Here()):
        for _ in range(2):
            stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert stage.meta.given_back == []


def test_an_error_text_goes_to_meta_printable_and_short(stage: ScriptedStage) -> None:
    stage.meta.tasks.put(stage.task())

    with stage.worker(Here(lambda _: Failed("a\x00b\nc" + "é" * 9_000))):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.FailSegmentMergeTaskRequest)
    assert report.error_message.startswith("a b cé")
    assert len(report.error_message.encode()) <= 8 * 1024


def test_a_failed_task_is_reported_until_one_is_merged_or_none_comes_for_long(
    stage: ScriptedStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = [True, False, True]
    merger = Here(lambda _: Failed("AccessDenied: no") if fails.pop(0) else None)
    failing = ["merging: AccessDenied: no"]

    with stage.worker(merger) as worker:

        def await_failures(expected: list[str]) -> None:
            wait_until(lambda: worker.progress.failures() == expected, f"{expected} is reported")

        for expected in (failing, [], failing):
            stage.meta.tasks.put(stage.task())
            stage.meta.reports.get(timeout=DEADLINE_SECS)
            await_failures(expected)
            # Polls that bring no task end no failure.
            _await_polls(stage, 3)
            assert worker.progress.failures() == expected
        monkeypatch.setattr("merge_worker.loop.FAILURE_SECS", -1.0)
        await_failures([])


def test_a_refused_report_of_a_task_is_a_failure(stage: ScriptedStage) -> None:
    stage.meta.refusals = [grpc.StatusCode.PERMISSION_DENIED]
    stage.meta.tasks.put(stage.task())

    with stage.worker(Here()) as worker:
        wait_until(lambda: worker.progress.failures() == ["merging: scripted"], "it is refused")


def test_a_task_this_release_does_not_understand_fails_before_any_work(
    stage: ScriptedStage,
) -> None:
    task = stage.task()
    task.promoted_columns.add(name="c", attribute="a")
    stage.meta.tasks.put(task)

    with stage.worker(Here(lambda _: pytest.fail("it ran"))):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.FailSegmentMergeTaskRequest)
    assert "does not know" in report.error_message


def test_an_idle_worker_keeps_polling_and_ends_when_asked(stage: ScriptedStage) -> None:
    with stage.worker(Here()):
        _await_polls(stage, 5)


def test_the_worker_can_be_told_where_the_objects_are(stage: ScriptedStage) -> None:
    task = stage.task()
    task.cloud_object_prefix.bucket.path = "no/such/folder"
    stage.meta.tasks.put(task)

    with stage.worker(Here(), object_store=stage.store.location):
        report = stage.meta.reports.get(timeout=DEADLINE_SECS)

    assert isinstance(report, pb.CompleteSegmentMergeTaskRequest)


def _await_polls(stage: ScriptedStage, count: int) -> None:
    """Wait for some more polls."""
    while stage.meta.polls.acquire(blocking=False):
        pass
    for _ in range(count):
        assert stage.meta.polls.acquire(timeout=DEADLINE_SECS)
