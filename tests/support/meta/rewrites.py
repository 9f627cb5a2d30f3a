"""Driver of rewrites: creates and advances them, as a server does in the background."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from meta.client import MetaClient
from meta.store.engine.pool import Database
from meta.store.merging import merge_tasks
from meta.store.rewrites import rewrite_advance
from meta.store.segments import stats
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.segments import WorkerDriver

ROUNDS_MAX = 200


@dataclass(frozen=True)
class RewriteDriver:
    """Rewrites of one meta; the database is for what only time does."""

    client: MetaClient
    database: Database

    def create(
        self,
        dataset_id: str,
        *,
        job_id: str = "",
        span: tuple[int, int] | None = None,
        format_version: int = 0,
        inexact_bounds: bool = False,
        tasks_max: int = 0,
        bytes_per_sec: int = 0,
    ) -> pb.RewriteJob:
        time_range = None
        if span is not None:
            time_range = common_pb2.TimeRange(start_time=span[0], end_time=span[1])
        request = pb.CreateRewriteJobRequest(
            id=job_id or str(uuid4()),
            dataset_id=dataset_id,
            time_range=time_range,
            format_version=format_version,
            inexact_bounds=inexact_bounds,
            tasks_max=tasks_max,
            bytes_per_sec=bytes_per_sec,
        )
        return self.client.operations.CreateRewriteJob(request).rewrite

    def list(self) -> list[pb.RewriteJob]:
        request = pb.ListRewriteJobsRequest()
        return list(self.client.operations.ListRewriteJobs(request).rewrites)

    def get(self, job: pb.RewriteJob) -> pb.RewriteJob:
        return next(one for one in self.list() if one.id == job.id)

    def set_state(self, job: pb.RewriteJob, state: pb.RewriteJobState.ValueType) -> pb.RewriteJob:
        request = pb.UpdateRewriteJobRequest(id=job.id, state=state)
        return self.client.operations.UpdateRewriteJob(request).rewrite

    def formats(self, dataset_id: str) -> dict[int, int]:
        """Live segments by format."""
        request = pb.GetSegmentFormatsRequest(dataset_id=dataset_id)
        counts = self.client.operations.GetSegmentFormats(request).formats
        return {count.format_version: count.segments for count in counts}

    def advance(self, job: pb.RewriteJob) -> pb.RewriteJob:
        """Advance one rewrite, and whatever else is due."""
        self.make_due(job)
        self._advance_due()
        return self.get(job)

    def advance_all(self) -> None:
        """Advance every rewrite once."""
        self._execute("UPDATE rewrite_jobs SET due_at = clock_timestamp() WHERE state = 1")
        self._advance_due()

    def finish(self, job: pb.RewriteJob, work: Callable[[], object]) -> pb.RewriteJob:
        """Let workers work and the rewrite advance until it has ended."""
        for _ in range(ROUNDS_MAX):
            work()
            job = self.advance(job)
            if job.state not in (pb.REWRITE_JOB_STATE_RUNNING, pb.REWRITE_JOB_STATE_PAUSED):
                return job
        raise AssertionError(f"it does not end: {job}")

    def complete_one(self, worker: WorkerDriver, dataset_id: str) -> None:
        """Complete the one open task of a dataset, whatever waits before it."""
        self._execute("UPDATE merge_tasks SET free_at = now() + interval '1 h' WHERE kind = 1")
        task = worker.poll()
        assert task.dataset_id == dataset_id
        worker.complete(task.task_id, worker.output(task))
        self._execute("UPDATE merge_tasks SET free_at = NULL WHERE kind = 1 AND state = 1")

    def make_due(self, job: pb.RewriteJob) -> None:
        self._execute("UPDATE rewrite_jobs SET due_at = clock_timestamp() WHERE id = %s", job.id)

    def let_time_pass(self, job: pb.RewriteJob, secs: int) -> None:
        """Set when the rewrite was last advanced."""
        self._execute(
            "UPDATE rewrite_jobs SET advanced_at = clock_timestamp() - make_interval(secs => %s)"
            " WHERE id = %s",
            secs,
            job.id,
        )

    def let_leases_pass(self) -> None:
        self._execute(
            "UPDATE merge_tasks SET claimed_at = now() - interval '2 h', beat_at = NULL,"
            " free_at = now() - interval '1 s' WHERE worker_id IS NOT NULL AND state = 1"
        )

    def free_held_tasks(self) -> None:
        """Let the back-off of failed tasks pass."""
        self._execute(
            "UPDATE merge_tasks SET free_at = now() - interval '1 s'"
            " WHERE state = 1 AND worker_id IS NULL AND free_at IS NOT NULL"
        )

    def cancel_task(self, task_id: str) -> None:
        """Cancel a task, as the loss of an input does."""
        with self.database.write() as tx:
            task = merge_tasks.lock(tx, UUID(task_id))
            assert task is not None
            stats.add(tx, merge_tasks.cancel(tx, [task]))

    def _advance_due(self) -> None:
        for _ in range(ROUNDS_MAX):
            with self.database.write() as tx:
                if not rewrite_advance.advance(tx):
                    return

    def _execute(self, statement: str, *values: object) -> None:
        with self.database.write() as tx:
            tx.exec_driver_sql(statement, values)
