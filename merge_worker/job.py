"""The Spark job of one merge task: one stage, one Python task, no record through the JVM.

Each task is a job of its own: in a shared job a bad input would end the other tasks too.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from merge_worker.scratch import progress_writer, scratch_folder
from merge_worker.tasks import ClaimedTask, Failed, Merged, MergedOutput, Outcome
from segments.errors import SegmentsError
from segments.ids import new_uuid7
from segments.keys import join_key
from segments.merging.day_merge import MergedFile, merge_by_day
from segments.merging.merge import InputFailed, MergeOrder, merge_segments
from segments.named_stores import Stores
from segments.parquet.upload import upload_segment
from segments.spark.session import cancel_jobs, check_alive, check_versions, first_line
from segments.spark.versions import guarded
from segments.store.interface import ObjectStore
from segments.store.several import open_stores


class SparkMerger:
    """Runs merge tasks on one session; safe to share between threads."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, task: ClaimedTask) -> Outcome:
        """Merge one task's inputs into one verified object.

        An error of the merge is returned as Failed. Raises SparkDied, or SparkUnusable if an
        executor runs another release.
        """
        context = self._spark.sparkContext
        try:
            context.setJobGroup(_group(task), f"merge task {task.task_id}", interruptOnCancel=True)
            (outcome,) = context.parallelize([task], 1).mapPartitions(guarded(merge_all)).collect()
        except Exception as error:  # noqa: BLE001 - the top of a Spark job
            check_alive(self._spark)
            check_versions(error)
            # The task's process died, for instance of a lack of memory, or the job was cancelled.
            return Failed(f"the Spark job failed: {first_line(error)}")
        return outcome

    def check(self) -> None:
        """Raise SparkDied if no task can run any more."""
        check_alive(self._spark)

    def cancel(self, task: ClaimedTask) -> None:
        """Cancel a task's job; its `run` returns Failed soon after."""
        # If the JVM is gone there is nothing to cancel, and `run` reports it.
        with suppress(Exception):
            self._spark.sparkContext.cancelJobGroup(_group(task))

    def cancel_all(self) -> None:
        """Cancel all jobs."""
        cancel_jobs(self._spark)


def merge_all(tasks: Iterable[ClaimedTask]) -> Iterator[Outcome]:
    """Execute the tasks of a partition; each has one."""
    return map(merge, tasks)


def merge(
    task: ClaimedTask, open_location: Callable[[Stores], ObjectStore] = open_stores
) -> Outcome:
    """Execute one task in an executor; errors are returned, so that no other task is affected."""
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


def _upload(file: MergedFile, task: ClaimedTask, store: ObjectStore) -> MergedOutput:
    # Spark may rerun a lost task: each run writes under a fresh key.
    key = join_key(task.prefix, f"{new_uuid7()}.parquet")
    upload_segment(store, key, file.path, file.facts)
    return MergedOutput(key, file.facts)


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


def _group(task: ClaimedTask) -> str:
    return f"merge-{task.task_id}-{task.attempt}"
