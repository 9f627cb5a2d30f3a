"""A worker that renews its lease without progress loses its claim."""

import pytest

from meta.store.merging import merge_claims
from meta.v1 import merge_task_pb2, operations_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.merge_leases import let_leases_pass
from tests.support.meta.segments import EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def beat(
    worker: WorkerDriver, task: merge_task_pb2.SegmentMergeTaskInfo, rows_done: int = 0
) -> operations_pb2.HeartbeatMergeTaskResponse:
    return worker.client.operations.HeartbeatMergeTask(
        operations_pb2.HeartbeatMergeTaskRequest(
            task_id=task.task_id, attempt=task.attempt, rows_done=rows_done
        )
    )


def test_a_claim_without_progress_ends_after_a_time_of_the_tasks_size(
    meta_server: MetaServer, writer: Writer, worker: WorkerDriver, dataset: str
) -> None:
    size = 16 * merge_claims.STALL_BYTES_PER_SEC
    writer.save(*(segment_of(dataset, EPOCH + n, compressed=size) for n in range(4)))
    worker.plan()
    task = worker.poll()
    # The inputs are 4 * 16 seconds of the least pace.
    stall_secs = merge_claims.STALL_SECS + 4 * 16

    def let_pass(secs: int) -> None:
        with meta_server.running.database.write() as tx:
            tx.exec_driver_sql(
                "UPDATE merge_tasks SET claimed_at = claimed_at - make_interval(secs => %(secs)s),"
                " progressed_at = progressed_at - make_interval(secs => %(secs)s)",
                {"secs": secs},
            )

    let_pass(stall_secs - 60)
    assert beat(worker, task).still_yours
    # A rise counts also where the time is over; less than before is none.
    let_pass(120)
    assert beat(worker, task, 5).still_yours
    let_pass(stall_secs - 60)
    assert beat(worker, task, 4).still_yours
    let_pass(120)
    assert not beat(worker, task, 4).still_yours
    assert not beat(worker, task, 5).still_yours
    let_leases_pass(meta_server)

    again = worker.poll()

    # The next claim begins anew.
    assert (again.task_id, again.attempt) == (task.task_id, task.attempt + 1)
    assert beat(worker, again).still_yours
