"""Merges as pages show them: attempts over time, one task, and one segment's way through them."""

from collections.abc import Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import janitor_pb2, operations_pb2
from meta.v1 import status_pb2 as pb
from segplane.health.lineage import LineageStep, Trace, trace_segment
from segplane.health.processes import span, tenths
from segplane.terminal.plain_text import size_text

MERGES_PATH = "/ui/merges"
ATTEMPTS_MAX, LANES_MAX = 100, 20
STEPS_MAX = 100
# The width of a lane, in the units of its SVG.
WIDTH = 1_000
_BAR_WIDTH_MIN = 2
_FAILED = ("failed", "lease_passed")
_STATES = {
    janitor_pb2.MERGE_TASK_STATE_OPEN: "open",
    janitor_pb2.MERGE_TASK_STATE_COMPLETED: "completed",
    janitor_pb2.MERGE_TASK_STATE_CANCELLED: "cancelled",
    janitor_pb2.MERGE_TASK_STATE_SPLIT: "split into two tasks",
}
_VERDICTS = {
    operations_pb2.MERGE_ELIGIBILITY_ELIGIBLE: "will be merged",
    operations_pb2.MERGE_ELIGIBILITY_IN_TASK: "is in a merge task",
    operations_pb2.MERGE_ELIGIBILITY_QUARANTINED: "is excluded from merging",
}


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """One attempt at a time of the database."""

    attempt: pb.ListedMergeAttempt
    now_nanos: int

    @property
    def address(self) -> str:
        """Return the address of its task."""
        return f"{MERGES_PATH}/task?id={self.attempt.task_id}"

    @property
    def is_running(self) -> bool:
        """Whether it lasts."""
        return not self.attempt.ended_at_nanos

    @property
    def state(self) -> str:
        """Return its outcome in words, or that it lasts."""
        if not self.is_running:
            return self.attempt.outcome.replace("_", " ")
        has_lease = self.attempt.held_until_nanos > self.now_nanos
        return "running" if has_lease else "its lease has passed"

    @property
    def has_failed(self) -> bool:
        """Whether it has failed, or its worker does not renew the lease."""
        if self.is_running:
            return self.attempt.held_until_nanos <= self.now_nanos
        return self.attempt.outcome in _FAILED

    @property
    def duration(self) -> str:
        """Return the time that it took, or has taken so far."""
        end_nanos = self.attempt.ended_at_nanos or self.now_nanos
        return tenths(end_nanos - self.attempt.claimed_at_nanos)

    @property
    def lease(self) -> str:
        """Return when its lease ends, or when the task may be claimed again; "" = neither."""
        remaining_nanos = self.attempt.held_until_nanos - self.now_nanos
        if remaining_nanos <= 0:
            return ""
        return f"{'lease ends' if self.is_running else 'again'} in {span(remaining_nanos)}"

    @property
    def inputs(self) -> str:
        """Return the number and bytes of its inputs."""
        return f"{self.attempt.segment_count:,} ({size_text(self.attempt.size_bytes)})"


@dataclass(frozen=True, slots=True)
class LaneBar:
    """One attempt on the lane of its worker."""

    x: int
    width: int
    style: str
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """The attempts of one worker, newest first."""

    worker_id: str
    bars: Sequence[LaneBar]
    attempts: int
    failed: int


@dataclass(frozen=True, slots=True)
class MergesPage:
    """All that the page shows."""

    attempts: Sequence[ShownAttempt]
    lanes: Sequence[Lane]
    workers: int
    since_nanos: int
    now_nanos: int
    open_tasks: int


@dataclass(frozen=True, slots=True)
class SegmentPage:
    """The way of a segment, and why it is or is not merged; "" = it is not visible any more."""

    segment_id: str
    trace: Trace
    verdict: str
    reason: str
    task_id: str

    @property
    def dataset(self) -> str:
        """Return the name of its dataset, or its id; "" = not known."""
        steps = [step for step in self.trace.steps if step.segment == self.segment_id]
        return next((step.dataset for step in steps if step.dataset), "")


def read_merges(client: MetaClient) -> MergesPage:
    """Read the newest attempts; raises MetaError."""
    reply = client.status.ListMergeAttempts(pb.ListMergeAttemptsRequest(limit=ATTEMPTS_MAX))
    stats = client.janitor.GetJanitorStats(janitor_pb2.GetJanitorStatsRequest())
    now_nanos = reply.database_time_nanos
    attempts = [ShownAttempt(attempt, now_nanos) for attempt in reply.attempts]
    since_nanos = min((each.attempt.claimed_at_nanos for each in attempts), default=now_nanos)
    workers = dict.fromkeys(each.attempt.worker_id for each in attempts)
    lanes = [_lane(worker, attempts, since_nanos, now_nanos) for worker in [*workers][:LANES_MAX]]
    return MergesPage(
        attempts, lanes, len(workers), since_nanos, now_nanos, stats.outstanding_merge_tasks
    )


def read_task(client: MetaClient, task_id: str) -> tuple[janitor_pb2.GetMergeTaskResponse, str]:
    """Read one task, and its state in words. Raises MetaError."""
    task = client.janitor.GetMergeTask(janitor_pb2.GetMergeTaskRequest(task_id=task_id))
    return task, _STATES.get(task.state, "unknown to this release")


def read_segment(client: MetaClient, segment_id: str) -> SegmentPage:
    """Follow one segment, and explain it if it is live. Raises MetaError."""
    trace = trace_segment(client, segment_id, STEPS_MAX)
    request = operations_pb2.ExplainMergePlanRequest(segment_id=segment_id)
    try:
        (explained,) = client.operations.ExplainMergePlan(request).segments
    except NotFound:
        return SegmentPage(segment_id, trace, _end(trace, segment_id), "", "")
    verdict = _VERDICTS.get(explained.eligibility, "is not merged now")
    return SegmentPage(segment_id, trace, verdict, explained.reason, explained.task_id)


def _end(trace: Trace, segment_id: str) -> str:
    """Return what became of a segment that is not live."""
    merged = (LineageStep.COMPACTED, LineageStep.REWRITTEN)
    successors = [step for step in trace.steps if step.step in merged and segment_id in step.inputs]
    if successors:
        return f"was merged into {successors[-1].segment}"
    return "is not visible any more"


def _lane(
    worker_id: str, attempts: Sequence[ShownAttempt], since_nanos: int, now_nanos: int
) -> Lane:
    length = max(1, now_nanos - since_nanos)
    listed = [each for each in attempts if each.attempt.worker_id == worker_id]
    bars = []
    for each in listed:
        begin = each.attempt.claimed_at_nanos - since_nanos
        end = (each.attempt.ended_at_nanos or now_nanos) - since_nanos
        x, end_x = (round(WIDTH * nanos / length) for nanos in (begin, end))
        style = "failed" if each.has_failed else "running" if each.is_running else "done"
        width = max(_BAR_WIDTH_MIN, end_x - x)
        bars.append(LaneBar(min(x, WIDTH - width), width, style, each.state))
    return Lane(worker_id, bars, len(listed), sum(each.has_failed for each in listed))
