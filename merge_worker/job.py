"""The job of one merge task, alone in its process: a bad input ends no other task."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dataplane.costs.process import charge_task
from dataplane.task_runner import TaskRunner
from merge_worker.scratch import progress_writer, scratch_folder
from merge_worker.tasks import ClaimedTask, Failed, Merged, Outcome
from meta.costs.accumulator import Work
from meta.costs.spent import Measured, measured
from segments.errors import SegmentsError, TaskFailed
from segments.ids import new_uuid7
from segments.keys import join_key
from segments.location import Stores
from segments.merging.day_merge import MergedFile, merge_by_day
from segments.merging.merge import InputFailed, MergeOrder, merge_segments
from segments.parquet.upload import WrittenSegment, upload_segment
from segments.store.interface import ObjectStore
from segments.store.open import open_stores

# The labels of all tasks begin with this.
_LABELS = "merge-"


class TaskMerger:
    """Runs merge tasks by a runner; safe to share between threads."""

    def __init__(self, runner: TaskRunner) -> None:
        self._runner = runner

    def run(self, task: ClaimedTask) -> Outcome:
        """Merge one task's inputs into one verified object.

        An error of the merge is returned as Failed. Raises RunnerDied, or RunnerUnusable if an
        operator has to act.
        """
        try:
            function = partial(measured, merge)
            done: Measured[Outcome] = self._runner.run(
                function, task, _label(task), _description(task)
            )
        except TaskFailed as error:
            # The task's process died, for instance of a lack of memory, or was cancelled.
            return Failed(str(error))
        outputs = done.result.outputs if isinstance(done.result, Merged) else ()
        size_bytes = sum(output.facts.compressed_size_bytes for output in outputs)
        charge_task(Work.MERGE, {task.dataset_id: size_bytes}, done.spent)
        return done.result

    def check(self) -> None:
        """Raise RunnerDied if no task can run any more."""
        self._runner.check()

    def cancel(self, task: ClaimedTask) -> None:
        """Cancel a task; its `run` returns Failed soon after."""
        self._runner.cancel(_label(task))

    def cancel_all(self) -> None:
        """Cancel all tasks."""
        self._runner.cancel_all(_LABELS)


def merge(
    task: ClaimedTask, open_location: Callable[[Stores], ObjectStore] = open_stores
) -> Outcome:
    """Execute one task in its process; errors are returned, so that no other task is affected."""
    try:
        store = open_location(task.stores)
        with scratch_folder(task.work_dir, task.label) as folder:
            try:
                return _merge_in(folder, task, store)
            except InputFailed as error:
                is_proven = _fails_again(folder, task, store, error.segment_id)
                return Failed(error.message, error.segment_id, is_proven=is_proven)
    except SegmentsError as error:
        return Failed(f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - the top of a task reports every error
        return Failed(f"unexpected {type(error).__name__}: {error}")


def _merge_in(folder: Path, task: ClaimedTask, store: ObjectStore) -> Merged:
    order = _order(task, progress_writer(folder))
    result = merge_by_day(store, task.inputs, order, folder, task.outputs_max)
    outputs = tuple(_upload(file, task, store) for file in result.files)
    return Merged(outputs, result.unconverted)


def _upload(file: MergedFile, task: ClaimedTask, store: ObjectStore) -> WrittenSegment:
    # Spark may rerun a lost task: each run writes under a fresh key.
    key = join_key(task.prefix, f"{new_uuid7()}.parquet")
    upload_segment(store, key, file.path, file.facts)
    return WrittenSegment(key, file.facts)


def _fails_again(folder: Path, task: ClaimedTask, store: ObjectStore, segment_id: str) -> bool:
    """Read one input once more, alone: damage on the network does not prove a damaged object."""
    again = folder / "again"
    again.mkdir()
    inputs = [segment for segment in task.inputs if segment.segment_id == segment_id]
    try:
        merge_segments(store, inputs, _order(task), again)
    except InputFailed:
        return True
    except SegmentsError:
        return False
    return False


def _order(task: ClaimedTask, progress: Callable[[int], None] = lambda _rows: None) -> MergeOrder:
    return MergeOrder(task.dataset_id, task.producer, task.spec, task.buffer_bytes_max, progress)


def _label(task: ClaimedTask) -> str:
    return f"{_LABELS}{task.task_id}-{task.attempt}"


def _description(task: ClaimedTask) -> str:
    attempt = f"attempt {task.attempt}, {len(task.inputs)} segments"
    return f"merge task {task.task_id}: {attempt}, dataset {task.dataset_id}"
