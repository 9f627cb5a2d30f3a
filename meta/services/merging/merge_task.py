"""MergeTaskService: claims, completions, failures; checks of a merge's outputs."""

from itertools import count, pairwise

from meta.commits.group_commit import Committer
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, MetaError, NotFound
from meta.planning.planner import DAY_NANOS
from meta.services.messages import checks, convert, worker_settings
from meta.services.messages.filled import filled
from meta.store.engine.pool import Transaction
from meta.store.merging import (
    merge_claims,
    merge_completions,
    merge_failures,
    merge_tasks,
)
from meta.store.merging.merge_claims import Claimed, Poll, Polled
from meta.store.merging.merge_completions import Completion, CompletionResult, Done
from meta.store.merging.merge_tasks import MergeTaskRow, TaskKind, TaskState
from meta.store.segments.segments import NewSegment
from meta.v1 import common_pb2
from meta.v1 import merge_task_pb2 as pb
from segments.keys import attempt_prefix
from segments.location import Stores

OUTPUTS_MAX = 64
# Small tasks are claimed first, because they reduce the number of segments fastest. Every eighth
# poll takes the oldest task, so that large ones are not starved.
OLDEST_EVERY = 8
ERROR_BYTES_MAX = 8 * 1024


class MergeTaskServicer:
    """MergeTaskService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
        self._polls = count(1)
        self._committer: Committer[Completion, CompletionResult, Transaction] = Committer(
            name="complete_merge_task",
            begin=transactions.database.write,
            keys=lambda work: (work.task_id, *(output.object_key for output in work.outputs)),
            run_batch=merge_completions.complete_batch,
            run_alone=self._complete,
        )
        lease_secs = settings.lifetimes.claim_lease
        self._claims: Committer[Poll, Polled, Transaction] = Committer(
            name="poll_merge_task",
            begin=transactions.database.write,
            keys=lambda _: (),
            run_batch=lambda tx, polls: merge_claims.claim_batch(tx, polls, lease_secs),
            run_alone=self._poll_alone,
        )

    async def PollForSegmentMergeTask(
        self, request: pb.PollForSegmentMergeTaskRequest
    ) -> pb.PollForSegmentMergeTaskResponse:
        """Claim the next open task."""
        worker_id = checks.name(request.worker_id, "worker_id")
        outputs_max = checks.count(request.outputs_max, "outputs_max")
        checks.at_most(request.dataset_ids, "dataset_ids", worker_settings.DATASETS_MAX)
        dataset_ids = tuple([checks.uuid(i, "dataset_ids") for i in request.dataset_ids])
        is_oldest_first = next(self._polls) % OLDEST_EVERY == 0
        poll = Poll(worker_id, is_oldest_first, dataset_ids)
        claimed = (await self._claims.submit(poll)).claimed
        return pb.PollForSegmentMergeTaskResponse(
            task=None if claimed is None else self._info(claimed, outputs_max)
        )

    async def CompleteSegmentMergeTask(
        self, request: pb.CompleteSegmentMergeTaskRequest
    ) -> pb.CompleteSegmentMergeTaskResponse:
        """Replace the inputs by the outputs, in one transaction and at one version."""
        task_id = checks.uuid(request.task_id, "task_id")
        outputs = checked_outputs(request, self._settings.stores)

        return _reply(await self._committer.submit(Completion(task_id, outputs)))

    def _complete(self, completion: Completion) -> CompletionResult:
        def work(tx: Transaction) -> CompletionResult:
            (answer,) = merge_completions.complete_batch(tx, [completion])
            if isinstance(answer, MetaError):
                raise answer
            return answer

        return self._transactions.write(work)

    def FailSegmentMergeTask(
        self, request: pb.FailSegmentMergeTaskRequest
    ) -> pb.FailSegmentMergeTaskResponse:
        """Record that a claim failed, and why; the task waits for its next attempt."""
        task_id = checks.uuid(request.task_id, "task_id")
        checks.count(request.attempt, "attempt")
        failed_id = checks.optional_uuid(request.failed_segment_id, "failed_segment_id")
        # Free text of a worker: control characters are replaced instead of refused.
        error = _printable(request.error_message)

        def work(tx: Transaction) -> None:
            task = merge_tasks.lock(tx, task_id)
            if task is None:
                raise NotFound("there is no such merge task", task_id=task_id)
            if not _is_current(task, request.attempt):
                return
            if failed_id is not None and failed_id not in merge_tasks.input_ids(tx, task_id):
                raise InvalidArgument(
                    "failed_segment_id is not an input of the task", field="failed_segment_id"
                )
            merge_failures.fail(
                tx,
                task,
                error=error,
                failed_segment_id=failed_id,
                is_deferred=request.is_deferred,
                is_proven=request.is_proven,
                backoff_unit_secs=self._settings.lifetimes.fail_backoff,
            )

        self._transactions.write(work)
        return pb.FailSegmentMergeTaskResponse()

    def _poll_alone(self, poll: Poll) -> Polled:
        lease_secs = self._settings.lifetimes.claim_lease
        return self._transactions.write(lambda tx: merge_claims.claim_one(tx, poll, lease_secs))

    def _info(self, claimed: Claimed, outputs_max: int) -> pb.SegmentMergeTaskInfo:
        stores, task = self._settings.stores, claimed.task
        dataset_id = str(task.dataset_id)
        prefix = attempt_prefix(dataset_id, str(task.id), task.attempt, task.store)
        info = pb.SegmentMergeTaskInfo(
            task_id=str(task.id),
            dataset_id=dataset_id,
            cloud_object_prefix=convert.object_prefix(convert.place_of(stores, prefix), prefix),
            sharding_fields=convert.sharding_messages(claimed.layout.sharding_fields),
            attempt=task.attempt,
            promoted_columns=convert.promoted_messages(claimed.layout.promoted_columns),
            automatic_columns=[filled(common_pb2.AutomaticColumn, c) for c in claimed.automatic],
            lease_secs=int(self._settings.lifetimes.claim_lease),
            merge_count=task.output_merge_count,
            outputs_max=task_outputs_max(task, outputs_max),
        )
        convert.add_segments(info.segments, stores, claimed.inputs)
        return info


def _is_current(task: MergeTaskRow, attempt: int) -> bool:
    """True if the claim with this attempt number (0 = any) still holds the task."""
    is_held = task.state == TaskState.OPEN and task.worker_id is not None
    return is_held and attempt in (0, task.attempt)


def _reply(result: CompletionResult) -> pb.CompleteSegmentMergeTaskResponse:
    if isinstance(result, Done):
        return pb.CompleteSegmentMergeTaskResponse(success=pb.CompleteSegmentMergeTaskSuccess())
    error = pb.CompleteSegmentMergeTaskError(message=result.message, reason=result.reason)
    return pb.CompleteSegmentMergeTaskResponse(error=error)


def _printable(message: str) -> str:
    """The first 8 KiB, with line ends and tabs but without other control characters."""
    kept = "".join(c if c.isprintable() or c in "\n\t" else " " for c in message[:ERROR_BYTES_MAX])
    return kept.encode()[:ERROR_BYTES_MAX].decode(errors="ignore")


def checked_outputs(
    request: pb.CompleteSegmentMergeTaskRequest, stores: Stores
) -> tuple[NewSegment, ...]:
    """Check the outputs of a completion: one dataset, no key twice, no UTC day in two of them.

    Raises InvalidArgument.
    """
    segments = [("merged_segment", request.merged_segment)]
    segments += [(f"more_segments[{n}]", s) for n, s in enumerate(request.more_segments)]
    checks.at_most(request.more_segments, "more_segments", OUTPUTS_MAX - 1)
    outputs = tuple(convert.new_segment(stores, segment, field) for field, segment in segments)
    checks.distinct([output.object_key for output in outputs], "more_segments")
    if len({output.dataset_id for output in outputs}) > 1:
        raise InvalidArgument("the outputs are of several datasets", field="more_segments")
    for earlier, later in pairwise(sorted(outputs, key=lambda output: output.start_ns)):
        if later.start_ns // DAY_NANOS <= earlier.end_ns // DAY_NANOS:
            raise InvalidArgument(
                f"{earlier.object_key} and {later.object_key} share a UTC day",
                field="more_segments",
            )
    return outputs


def task_outputs_max(task: MergeTaskRow, worker_outputs_max: int) -> int:
    """Return how many outputs a worker may divide a task into: one, unless it merges several days.

    A rewrite keeps one file for one.
    """
    is_one_day = task.start_ns // DAY_NANOS == task.end_ns // DAY_NANOS
    if task.kind == TaskKind.REWRITE or is_one_day:
        return 1
    return max(1, min(OUTPUTS_MAX, worker_outputs_max))
