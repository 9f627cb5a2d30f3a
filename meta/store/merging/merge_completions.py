"""Completed merges: the outputs take their inputs' place at one version."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import insert

from meta.errors import KeyTaken, MetaError, NotFound, RaceLost
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_failures, merge_tasks
from meta.store.merging.merge_failures import Outcome
from meta.store.merging.merge_tasks import MergeTaskRow, TaskInput, TaskState
from meta.store.registration import parts, registrations
from meta.store.registration.bound_columns import BoundColumnsOfOutputs
from meta.store.registration.calls import BatchCall, Merge
from meta.store.registration.registration_state import lock_datasets
from meta.store.segments import burial, object_keys, segments, stats
from meta.store.segments.segments import NewSegment
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
    """A completion whose task and inputs are locked; its call has the outputs and their keys."""

    task: MergeTaskRow
    call: BatchCall
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
Prepared = Swap | InputsGone | CompletionResult | NotFound
# Parts that check the outputs. Rows, quarantined ranges and deduplication keys stay those of the
# inputs.
PARTS = (BoundColumnsOfOutputs,)
_LINK = insert(segment_lineage)


def complete_batch(
    tx: Transaction, batch: Sequence[Completion]
) -> list[CompletionResult | MetaError]:
    """Complete tasks that differ, all at one version; each is answered in order, errors too.

    Locks are taken in one order: datasets, tasks, their inputs, those of the parts, keys of
    segments, the version. Counters are changed after that.
    """
    ordered = sorted(batch, key=lambda completion: completion.task_id)
    calls = lock_datasets(tx, [Merge(c.outputs[0].dataset_id, c.outputs, ()) for c in ordered])
    prepared = {
        completion.task_id: _prepare(tx, completion.task_id, call)
        for completion, call in zip(ordered, calls, strict=True)
    }
    swaps = [swap for swap in prepared.values() if isinstance(swap, Swap)]
    _check_outputs(tx, [swap.call for swap in swaps])
    if swaps := [swap for swap in swaps if swap.call.is_open]:
        version = versions.allocate(tx)
        for swap in swaps:
            _apply(tx, swap, version)
    tasks = [answer.task for answer in prepared.values() if isinstance(answer, InputsGone)]
    stats.add(tx, merge_tasks.cancel(tx, tasks))
    return [_answer(prepared[completion.task_id]) for completion in batch]


def _prepare(tx: Transaction, task_id: UUID, call: BatchCall) -> Prepared:
    """Lock a task and its inputs, and compare the outputs with them."""
    outputs = call.merge.segments
    task = merge_tasks.lock(tx, task_id)
    if task is None:
        return NotFound("there is no such merge task", task_id=task_id)
    if task.state == TaskState.COMPLETED:
        return _completed_before(tx, task, outputs)
    if rejected := _fence(task, outputs):
        return rejected
    inputs = merge_tasks.lock_live_inputs(tx, task.id)
    if len(inputs) < task.segment_count:
        return InputsGone(task)
    return _compare(inputs, outputs) or Swap(task, call, tuple(inputs))


def _check_outputs(tx: Transaction, calls: Sequence[BatchCall]) -> None:
    """Have the parts check the calls, and claim the keys of those that they leave open."""
    own_parts = parts.lock(tx, calls, PARTS)
    for part in own_parts:
        part.check()
    registrations.claim(tx, [call for call in calls if call.is_open])
    for call in calls:
        call.answer = call.answer or _refusal(call)
    segments.release(tx, [c for call in calls if not call.is_open for c in call.claims])
    for part in own_parts:
        part.write()


def _apply(tx: Transaction, swap: Swap, version: Version) -> None:
    """Insert the outputs and tombstone the inputs at `version`."""
    task, outputs = swap.task, swap.call.claims
    output_ids = [output.segment_id for output in outputs]
    segments.insert(tx, outputs, version, merge_count=task.output_merge_count)
    burial.bury(tx, [segment.segment_id for segment in swap.inputs], version)
    tx.execute(
        _LINK,
        [{"input_id": i.segment_id, "output_id": o} for i in swap.inputs for o in output_ids],
    )
    merge_failures.end_attempt(tx, task.id, task.attempt, Outcome.COMPLETED)
    merge_tasks.close(tx, task, TaskState.COMPLETED, output_ids)


def _answer(prepared: Prepared) -> CompletionResult | MetaError:
    if isinstance(prepared, InputsGone):
        return Rejected("INPUTS_GONE", "an input is no longer live; the task is cancelled")
    if not isinstance(prepared, Swap):
        return prepared
    refusal = prepared.call.answer
    if not isinstance(refusal, MetaError):
        return Done()
    # A lost race for a key and a deleted dataset do not judge the outputs.
    if type(refusal) in (RaceLost, NotFound):
        return refusal
    return Rejected(refusal.reason, refusal.message)


def _refusal(call: BatchCall) -> MetaError | None:
    """The refusal of outputs whose keys are not free, or whose dataset is deleted."""
    if call.dataset is None:
        return NotFound("there is no such dataset", dataset_id=call.merge.dataset_id)
    refusals = [claimed.refusal for claimed in call.claims if claimed.refusal is not None]
    if refusals:
        # After a lost race the next try finds the key free.
        return next((r for r in refusals if isinstance(r, RaceLost)), refusals[0])
    if any(claimed.registered_at is not None for claimed in call.claims):
        return KeyTaken("an output is registered as a separate segment")
    return None


def _completed_before(
    tx: Transaction, task: MergeTaskRow, outputs: Sequence[NewSegment]
) -> Done | Rejected:
    # The keys decide: the outputs may be merged away or even deleted by now.
    keys = [output.object_key for output in outputs]
    registered = object_keys.find(tx, keys)
    ids = [registered[key].segment_id if key in registered else None for key in keys]
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
