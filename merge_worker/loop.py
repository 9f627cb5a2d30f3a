"""The merge worker's cycle: poll for a task, run it, report its completion or failure."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import structlog

from dataplane.dataset_layout import UnknownLayout
from dataplane.location import Locator
from dataplane.registration import create_segment
from merge_worker.config import Settings
from merge_worker.lease import Lease
from merge_worker.scratch import rows_done
from merge_worker.tasks import ClaimedTask, Failed, Merged, Outcome, claimed_task
from meta import metrics
from meta.client import MetaClient, location
from meta.errors import DeadlineExceeded, MetaError, Overloaded, RaceLost, Unavailable
from meta.process.installed import installed_release
from meta.process.shutdown import Shutdown
from meta.self_report import Progress
from meta.telemetry import about, span
from meta.v1.merge_task_pb2 import (
    CompleteSegmentMergeTaskRequest,
    FailSegmentMergeTaskRequest,
    PollForSegmentMergeTaskRequest,
    SegmentMergeTaskInfo,
)
from segments.keys import store_of
from segments.location import NamedStore, Stores

log = structlog.get_logger()
ERROR_BYTES_MAX = 8 * 1024
# The contract's lease of a claim without any heartbeat.
LEASE_SECS = 3_600.0
RETRY_SECS = 2.0
# The part of the work that fails with a task. A failed task is free again after an hour at most, so
# a worker that gets none for longer has none to fail.
MERGING, FAILURE_SECS = "merging", 4_000.0
# Files into which a merge of several days is divided; meta may allow fewer.
OUTPUTS_MAX = 64
# Worth a retry; any other error is meta's answer.
_TRANSIENT = (Unavailable, DeadlineExceeded, Overloaded, RaceLost)
# The dataset was bound to columns that the outputs lack: the next claim has the new layout.
_LAYOUT_CHANGED = "LAYOUT_CHANGED"
Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings that a thread heeds at its next poll."""

    # Threads beyond this number take no task; 0 = all take some.
    concurrent_tasks: int
    buffer_bytes_max: int
    # The datasets whose tasks it takes; empty = all.
    dataset_ids: tuple[str, ...]

    def allows(self, thread: int) -> bool:
        """True if the thread with this number, from 0, takes tasks."""
        return self.concurrent_tasks == 0 or thread < self.concurrent_tasks


def settings_in_force(settings: Settings, locator: Locator) -> InForce:
    """Ask meta if its last answer is too old; while it does not answer, that one stays in force."""
    try:
        locator.refresh()
    except MetaError as error:
        log.warning("worker_settings_not_read", reason=error.reason, error=error.message)
    given = locator.worker_settings
    return InForce(
        concurrent_tasks=given.concurrent_tasks or settings.concurrent_tasks,
        buffer_bytes_max=given.buffer_bytes_max or settings.buffer_bytes_max,
        dataset_ids=tuple(given.datasets.ids),
    )


class Merger(Protocol):
    """Executes merge tasks."""

    def run(self, task: ClaimedTask) -> Outcome:
        """Merge one task."""
        ...

    def check(self) -> None:
        """Raise if no task can be run any more."""
        ...

    def cancel(self, task: ClaimedTask) -> None:
        """Cancel a task that `run` is executing."""
        ...


@dataclass(slots=True)
class Worker:
    """A merge worker's parts; every thread of it runs `work`."""

    settings: Settings
    meta: MetaClient
    merger: Merger
    shutdown: Shutdown
    # Set when the drain time after a shutdown is over: running tasks are abandoned.
    give_up: threading.Event
    locator: Locator
    progress: Progress = field(default_factory=Progress)
    # The last failure of a task, by the monotonic clock.
    failed_at: float = 0.0

    def work(self, thread: int = 0) -> None:
        """Execute merge tasks until shutdown, with increasing pauses while there are none."""
        rest_secs = self.settings.interval_secs
        while not self.shutdown.is_requested:
            self.merger.check()  # Before claiming: a task claimed in vain waits for its lease.
            in_force = settings_in_force(self.settings, self.locator)
            info = self._poll(in_force.dataset_ids) if in_force.allows(thread) else None
            if info is None:
                self.shutdown.wait(rest_secs)
                rest_secs = min(self.settings.interval_secs_max, rest_secs * 2)
                continue
            rest_secs = self.settings.interval_secs
            with (
                about([info.dataset_id]),
                span("merge_task", task_id=info.task_id, inputs=len(info.segments)),
            ):
                self._work_on(info, in_force.buffer_bytes_max)

    def _poll(self, dataset_ids: Sequence[str]) -> SegmentMergeTaskInfo | None:
        request = PollForSegmentMergeTaskRequest(
            worker_id=self.settings.worker_id, outputs_max=OUTPUTS_MAX, dataset_ids=dataset_ids
        )
        try:
            reply = self.meta.merge_task.PollForSegmentMergeTask(request)
        except MetaError as error:
            log.warning("merge_poll_failed", reason=error.reason, error=error.message)
            self.progress.failed(error.message)
            return None
        self.progress.made("polled for a merge task")
        if reply.HasField("task"):
            return reply.task
        if time.monotonic() - self.failed_at > FAILURE_SECS:
            self.progress.recovered(MERGING)
        return None

    def _work_on(self, info: SegmentMergeTaskInfo, buffer_bytes_max: int) -> None:
        log.info("merge_task_claimed", inputs=len(info.segments), **_ids(info))
        try:
            task = claimed_task(
                info,
                self._stores(info),
                f"segplane merge_worker {installed_release()}",
                self.settings.work_dir,
                buffer_bytes_max,
            )
        except UnknownLayout as error:
            # Nothing is wrong with the inputs: a worker of a later release may merge them.
            self._fail(info, Failed(str(error), is_deferred=True))
            return
        except ValueError as error:
            self._fail(info, Failed(str(error)))
            return
        lease_secs = float(info.lease_secs or LEASE_SECS)
        with Lease(
            self.meta,
            task.task_id,
            task.attempt,
            lease_secs,
            lambda: self.merger.cancel(task),
            lambda: rows_done(task.work_dir, task.label),
        ) as lease:
            outcome = self.merger.run(task)
            is_given_up = self._report(info, outcome, lease)
        if is_given_up:
            # No failure is reported: even an unreleased lease is shorter than that back-off.
            log.info("merge_task_given_up", is_free=lease.release(), **_ids(info))

    def _report(self, info: SegmentMergeTaskInfo, outcome: Outcome, lease: Lease) -> bool:
        """Report a task's outcome; true if the task is to be claimed again instead."""
        if lease.is_lost:
            _count("lost")
        elif isinstance(outcome, Merged):
            return self._complete(info, outcome) == _LAYOUT_CHANGED
        elif self.give_up.is_set() and lease.is_renewed:
            _count("given_up")
            return True
        else:
            self._fail(info, outcome)
        return False

    def _stores(self, info: SegmentMergeTaskInfo) -> Stores:
        """The stores of a task's objects, as the task says them."""
        prefixes = [info.cloud_object_prefix, *(s.cloud_object_key.prefix for s in info.segments)]
        places = {store_of(f"{p.prefix}/"): location(p.bucket) for p in prefixes}
        named_stores = tuple(NamedStore(name, at) for name, at in sorted(places.items()) if name)
        # The default store is not used if every object is in a named one.
        default = self.settings.object_store or places.get("") or named_stores[0].location
        return Stores(default, named_stores)

    def _complete(self, info: SegmentMergeTaskInfo, merged: Merged) -> str:
        """Report the outputs; returns meta's reason if it refuses them."""
        bucket = info.cloud_object_prefix.bucket
        first, *more = (
            create_segment(info.dataset_id, bucket, output.key, output.facts)
            for output in merged.outputs
        )
        request = CompleteSegmentMergeTaskRequest(
            task_id=info.task_id, merged_segment=first, more_segments=more
        )
        reply = self._persist(lambda: self.meta.merge_task.CompleteSegmentMergeTask(request))
        if reply is None:
            _count("unreported")
        elif reply.HasField("error"):
            # Final: the outputs are orphans now, which the janitor deletes.
            log.info(
                "merge_output_dropped",
                reason=reply.error.reason,
                error=reply.error.message,
                **_ids(info),
            )
            _count("dropped")
            return reply.error.reason
        else:
            size_bytes = sum(output.facts.compressed_size_bytes for output in merged.outputs)
            log.info(
                "merge_task_completed",
                outputs=len(merged.outputs),
                rows=sum(output.facts.rows for output in merged.outputs),
                compressed_size_bytes=size_bytes,
                unconverted=merged.unconverted,
                **_ids(info),
            )
            _count("completed")
            self.progress.made(f"merge task {info.task_id}", MERGING)
            metrics.MERGE_BYTES.inc(size_bytes)
        return ""

    def _fail(self, info: SegmentMergeTaskInfo, failed: Failed) -> None:
        log.warning(
            "merge_task_failed", error=failed.message, segment_id=failed.segment_id, **_ids(info)
        )
        _count("deferred" if failed.is_deferred else "failed")
        self._note_failure(failed.message)
        request = FailSegmentMergeTaskRequest(
            task_id=info.task_id,
            error_message=_cut(failed.message),
            attempt=info.attempt,
            failed_segment_id=failed.segment_id,
            is_deferred=failed.is_deferred,
            is_proven=failed.is_proven,
        )
        self._persist(lambda: self.meta.merge_task.FailSegmentMergeTask(request))

    def _persist(self, call: Callable[[], Reply]) -> Reply | None:
        """Retry a call until meta answers or the drain ends; None without a success."""
        while True:
            try:
                return call()
            except _TRANSIENT as error:
                log.warning("merge_report_delayed", reason=error.reason, error=error.message)
                self.progress.failed(error.message)
                if self.give_up.wait(RETRY_SECS):
                    return None
            except MetaError as error:
                log.error("merge_report_refused", reason=error.reason, error=error.message)
                self._note_failure(error.message)
                return None

    def _note_failure(self, message: str) -> None:
        """Report a failure until a task is merged, or could have been tried again."""
        self.failed_at = time.monotonic()
        self.progress.failed(message, MERGING)


def _ids(info: SegmentMergeTaskInfo) -> dict[str, str | int]:
    return {"task_id": info.task_id, "dataset_id": info.dataset_id, "attempt": info.attempt}


def _count(outcome: str) -> None:
    metrics.MERGE_TASKS.labels(outcome).inc()


def _cut(message: str) -> str:
    """Reduce text to what meta accepts: no control characters, at most 8 KiB."""
    printable = "".join(c if c.isprintable() else " " for c in message)
    return printable.encode("utf-8", "replace")[:ERROR_BYTES_MAX].decode("utf-8", "ignore")
