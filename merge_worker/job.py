"""The Spark job of one merge task: one stage, one Python task, no record through the JVM.

Each task is a job of its own: in a shared one a poison input would end its neighbours' work.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from pyspark.sql import SparkSession

from merge_worker.scratch import note_rows, scratch_folder
from merge_worker.tasks import Failed, Merged, MergeTask, Outcome
from segments.errors import SegmentsError
from segments.ids import new_uuid7
from segments.keys import join_key
from segments.merging.merge import InputFailed, MergeOrder, merge_segments
from segments.parquet.upload import upload_segment
from segments.spark.session import cancel_jobs, check_alive, check_versions, first_line
from segments.spark.versions import guarded
from segments.store.open import open_store


class SparkMerger:
    """Runs merge tasks on one session; safe to share between threads."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, task: MergeTask) -> Outcome:
        """Merge one task's inputs into one verified object.

        What the merge does not like comes back as Failed; raises SparkDied, or SparkUnusable if an
        executor came that runs another release.
        """
        context = self._spark.sparkContext
        try:
            context.setJobGroup(_group(task), f"merge task {task.task_id}", interruptOnCancel=True)
            (outcome,) = context.parallelize([task], 1).mapPartitions(guarded(merge_all)).collect()
        except Exception as error:
            check_alive(self._spark)
            check_versions(error)
            # The task's process died, as of too little memory, or the job was cancelled.
            return Failed(f"the Spark job failed: {first_line(error)}")
        return outcome

    def check(self) -> None:
        """Raise SparkDied if no task can be run any more."""
        check_alive(self._spark)

    def cancel(self, task: MergeTask) -> None:
        """End a task's job; its `run` returns Failed soon after."""
        # With the JVM gone there is nothing to end, and `run` says so.
        with suppress(Exception):
            self._spark.sparkContext.cancelJobGroup(_group(task))

    def cancel_all(self) -> None:
        """End all jobs."""
        cancel_jobs(self._spark)


def merge_all(tasks: Iterable[MergeTask]) -> Iterator[Outcome]:
    """Do a partition's tasks: there is one in each."""
    return map(merge, tasks)


def merge(task: MergeTask) -> Outcome:
    """Do one task where it was sent to; errors are values, so that no neighbour suffers."""
    try:
        store = open_store(task.location)
        # Spark may run a lost task again: each run writes under a name of its own.
        key = join_key(task.prefix, f"{new_uuid7()}.parquet")
        with scratch_folder(task.work_dir, task.label) as folder:
            order = MergeOrder(
                task.dataset_id,
                task.producer,
                task.spec,
                task.buffer_bytes_max,
                note_rows(folder),
            )
            result = merge_segments(store, task.inputs, order, folder)
            upload_segment(store, key, folder / "merged.parquet", result.facts)
    except InputFailed as error:
        return Failed(error.message, error.segment_id)
    except SegmentsError as error:
        return Failed(f"{type(error).__name__}: {error}")
    except Exception as error:  # The top of a task: whatever it is, meta shall hear of it.
        return Failed(f"unexpected {type(error).__name__}: {error}")
    return Merged(key, result.facts, result.unconverted)


def _group(task: MergeTask) -> str:
    return f"merge-{task.task_id}-{task.attempt}"
