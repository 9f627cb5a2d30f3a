"""Completed merges: the outputs take their inputs' place at one version."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import insert

from meta.errors import MetaError, NotFound, RaceLost
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_failures, merge_tasks
from meta.store.merging.merge_failures import Outcome
from meta.store.merging.merge_tasks import MergeTaskRow, TaskInput, TaskState
from meta.store.registration import bound_columns
from meta.store.segments import burial, object_keys, segments, stats
from meta.store.segments.segments import Claim, NewSegment
from meta.store.tables.segments import segment_lineage
from meta.store.versions import versions
from meta.store.versions.versions import Version
from segments.keys import attempt_prefix, store_of


@dataclass(frozen=True, slots=True)
class Done:
    """The same outputs were taken before."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The outputs are refused and have to be dropped. `reason` as docs/contract.md lists it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Swap:
    """A completion that holds all its locks and waits for its version."""

    task: MergeTaskRow
    outputs: tuple[Claim, ...]
    inputs: tuple[TaskInput, ...]


@dataclass(frozen=True, slots=True)
class InputsGone:
    """A task that lost an input: it is cancelled once no lock is waited for any more."""

    task: MergeTaskRow


@dataclass(frozen=True, slots=True)
class Completion:
    """One call: a task and its complete outputs, at least one, all of one dataset."""

    task_id: UUID
    outputs: tuple[NewSegment, ...]


CompletionResult = Done | Rejected
Prepared = Swap | InputsGone | CompletionResult
_LINK = insert(segment_lineage)


def prepare(tx: Transaction, task_id: UUID, outputs: tuple[NewSegment, ...]) -> Prepared:
    """Check and lock everything but the version. Raises NotFound for an unknown task.

    It touches no counters: those are changed after the version is drawn.
    """
    # Ahead of the task, in the order of locks; a deleted dataset has cancelled its tasks.
    bound_field_ids = datasets.lock_bound(tx, outputs[0].dataset_id)
    task = merge_tasks.lock(tx, task_id)
    if task is None:
        raise NotFound("there is no such merge task", task_id=task_id)
    if task.state == TaskState.COMPLETED:
        return _completed_before(tx, task, outputs)
    if rejected := _fence(task, outputs):
        return rejected
    inputs = merge_tasks.lock_live_inputs(tx, task.id)
    if len(inputs) < task.segment_count:
        return InputsGone(task)
    if rejected := _compare(inputs, outputs) or _lacking(bound_field_ids, outputs):
        return rejected
    claims = segments.claim(tx, outputs)
    if all(claim.refusal is None and claim.registered_at is None for claim in claims):
        return Swap(task, claims, tuple(inputs))
    segments.release(tx, claims)
    return _refused(claims)


def complete_batch(
    tx: Transaction, batch: Sequence[Completion]
) -> list[CompletionResult | MetaError]:
    """Complete tasks that differ, all at one version; each is answered in order, errors too."""
    prepared: dict[UUID, Prepared | MetaError] = {}
    for completion in sorted(batch, key=lambda completion: completion.task_id):
        try:
            prepared[completion.task_id] = prepare(tx, completion.task_id, completion.outputs)
        except MetaError as error:
            prepared[completion.task_id] = error
    swaps = [swap for swap in prepared.values() if isinstance(swap, Swap)]
    if swaps:
        version = versions.allocate(tx)
        for swap in swaps:
            apply(tx, swap, version)
    gone = [answer.task for answer in prepared.values() if isinstance(answer, InputsGone)]
    stats.add(tx, merge_tasks.cancel(tx, gone))
    return [_answer(prepared[completion.task_id]) for completion in batch]


def apply(tx: Transaction, swap: Swap, version: Version) -> None:
    """Insert the outputs and tombstone the inputs at `version`."""
    task, output_ids = swap.task, [output.segment_id for output in swap.outputs]
    segments.insert(tx, swap.outputs, version, merge_count=task.output_merge_count)
    burial.bury(tx, [segment.segment_id for segment in swap.inputs], version)
    tx.execute(
        _LINK,
        [{"input_id": i.segment_id, "output_id": o} for i in swap.inputs for o in output_ids],
    )
    merge_failures.end_attempt(tx, task.id, task.attempt, Outcome.COMPLETED)
    merge_tasks.close(tx, task, TaskState.COMPLETED, output_ids)


def _answer(prepared: Prepared | MetaError) -> CompletionResult | MetaError:
    if isinstance(prepared, Swap):
        return Done()
    if isinstance(prepared, InputsGone):
        return Rejected("INPUTS_GONE", "an input is no longer live; the task is cancelled")
    return prepared


def _refused(claims: Sequence[Claim]) -> Rejected:
    """The verdict over the first output whose key is not free. Raises RaceLost."""
    for claim in claims:
        if isinstance(claim.refusal, RaceLost):
            # No judgement of the outputs: the next try finds the key free.
            raise claim.refusal
    for claim in claims:
        if claim.refusal is not None:
            return Rejected(claim.refusal.reason, claim.refusal.message)
    return Rejected("KEY_TAKEN", "an output is registered as a segment of its own")


def _completed_before(
    tx: Transaction, task: MergeTaskRow, outputs: Sequence[NewSegment]
) -> Done | Rejected:
    # The keys decide: the outputs may be merged away or even deleted by now.
    keys = [output.object_key for output in outputs]
    known = object_keys.find(tx, keys)
    ids = [known[key].segment_id if key in known else None for key in keys]
    if ids == [task.output_segment_id, *(task.more_output_ids or ())]:
        return Done()
    return Rejected("TASK_NOT_OPEN", "the task was completed with another output")


def _fence(task: MergeTaskRow, outputs: Sequence[NewSegment]) -> Rejected | None:
    if task.state != TaskState.OPEN:
        return Rejected("TASK_NOT_OPEN", f"the task is {TaskState(task.state).name.lower()}")
    if task.dataset_id != outputs[0].dataset_id:
        return Rejected(
            "OUTPUT_MISMATCH", f"the dataset is {outputs[0].dataset_id}, not {task.dataset_id}"
        )
    if task.worker_id is None:
        return Rejected("TASK_FENCED", "no worker holds the task")
    # The dataset may have been moved since the claim: any store is right.
    of_attempt = str(task.dataset_id), str(task.id), task.attempt
    for key in (output.object_key for output in outputs):
        prefix = attempt_prefix(*of_attempt, store_of(key))
        if not key.startswith(prefix):
            return Rejected("TASK_FENCED", f"a key is not under {prefix}")
    return None


def _lacking(bound_field_ids: frozenset[int], outputs: Sequence[NewSegment]) -> Rejected | None:
    """Refuse outputs of a layout from before a binding: an input may have more columns."""
    refused = bound_columns.refusal(outputs, bound_field_ids)
    return None if refused is None else Rejected(refused.reason, str(refused))


def _compare(inputs: Sequence[TaskInput], outputs: Sequence[NewSegment]) -> Rejected | None:
    """Conservation: the outputs together have the events of the inputs, in their time bounds."""
    events = sum(segment.number_of_events for segment in inputs)
    written = sum(output.number_of_events for output in outputs)
    if written != events:
        return Rejected("OUTPUT_MISMATCH", f"the output has {written} events, not {events}")
    start, end = (
        min(segment.start_ns for segment in inputs),
        max(segment.end_ns for segment in inputs),
    )
    for output in outputs:
        if output.start_ns < start or output.end_ns > end:
            return Rejected(
                "OUTPUT_MISMATCH",
                f"the range [{output.start_ns}, {output.end_ns}] leaves [{start}, {end}]",
            )
    return None
