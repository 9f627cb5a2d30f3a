"""Additions to the contract: heartbeats, and the end of exclusions from merging."""

from meta.errors import NotFound
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.engine.pool import Transaction
from meta.store.merging import explanations, merge_claims, merge_tasks
from meta.store.segments import segments
from meta.v1 import operations_pb2 as pb


def heartbeat_merge_task(
    server: ServerParts, request: pb.HeartbeatMergeTaskRequest
) -> pb.HeartbeatMergeTaskResponse:
    """Extend the lease of a claim, or tell its worker to stop."""
    task_id = checks.uuid(request.task_id, "task_id")
    attempt = checks.count(request.attempt, "attempt")
    rows_done = checks.count(request.rows_done, "rows_done")
    lease_secs = server.settings.lifetimes.beat_lease

    def work(tx: Transaction) -> bool:
        is_yours = merge_claims.beat(
            tx, task_id, attempt, rows_done=rows_done, lease_secs=lease_secs
        )
        if not is_yours and merge_tasks.find(tx, task_id) is None:
            raise NotFound("there is no such merge task", task_id=task_id)
        return is_yours

    is_yours = server.transactions.write(work)
    return pb.HeartbeatMergeTaskResponse(
        still_yours=is_yours, lease_secs=int(lease_secs) if is_yours else 0
    )


def release_segment(
    server: ServerParts, request: pb.ReleaseSegmentRequest
) -> pb.ReleaseSegmentResponse:
    """Let a segment that is excluded from merging be merged again."""
    segment_id = checks.uuid(request.segment_id, "segment_id")

    def work(tx: Transaction) -> bool:
        if not segments.get_many(tx, [segment_id]):
            raise NotFound("there is no such segment", segment_id=segment_id)
        return explanations.release(tx, segment_id)

    success = server.transactions.write(work)
    return pb.ReleaseSegmentResponse(success=success)
