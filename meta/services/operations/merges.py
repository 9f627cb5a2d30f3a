"""Additions to the contract: heartbeats, explanations and the merge quarantine."""

from collections import Counter
from typing import TypeAlias

import grpc

from meta.config import Settings
from meta.errors import NotFound
from meta.planner import Candidate, DayKey, Eligibility, Policy, day_key, eligibilities
from meta.services import checks, convert
from meta.services.convert import REPLY_BYTES_MAX
from meta.store import datasets, explanations, merge_leases, merge_planning, merge_tasks, segments
from meta.store.engine import Transaction
from meta.store.explanations import ExplainedRow
from meta.store.merge_planning import SegmentFilter
from meta.store.segment_rows import SegmentRow
from meta.transactions import Transactions
from meta.v1 import operations_pb2 as pb
from meta.v1 import operations_pb2_grpc

EXPLAINED_DEFAULT = 1_000
EXPLAINED_MAX = 10_000
_Explained: TypeAlias = tuple[ExplainedRow, "pb.MergeEligibility.ValueType", str]


class MergeCalls(operations_pb2_grpc.OperationsServiceServicer):
    """The merge calls of OperationsService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def HeartbeatMergeTask(
        self, request: pb.HeartbeatMergeTaskRequest, context: grpc.ServicerContext
    ) -> pb.HeartbeatMergeTaskResponse:
        """Extend the lease of a claim, or tell its worker to stop."""
        task_id = checks.uuid(request.task_id, "task_id")
        attempt = checks.count(request.attempt, "attempt")
        rows_done = checks.count(request.rows_done, "rows_done")
        lease_secs = self._settings.lifetimes.beat_lease

        def work(tx: Transaction) -> bool:
            is_yours = merge_leases.beat(
                tx, task_id, attempt, rows_done=rows_done, lease_secs=lease_secs
            )
            if not is_yours and merge_tasks.find(tx, task_id) is None:
                raise NotFound("there is no such merge task", task_id=task_id)
            return is_yours

        is_yours = self._transactions.write(work)
        return pb.HeartbeatMergeTaskResponse(
            still_yours=is_yours, lease_secs=int(lease_secs) if is_yours else 0
        )

    def ExplainMergePlan(
        self, request: pb.ExplainMergePlanRequest, context: grpc.ServicerContext
    ) -> pb.ExplainMergePlanResponse:
        """For each live segment, why it is or is not in a merge task."""
        name = None
        if request.HasField("dataset_name"):
            name = checks.name(request.dataset_name, "dataset_name")
        most = checks.limit(request.limit, default=EXPLAINED_DEFAULT, most=EXPLAINED_MAX)
        policy = self._settings.merge_policy
        explained = self._transactions.read(lambda tx: _explain(tx, name, most, policy))
        reply = pb.ExplainMergePlanResponse()
        size_bytes = 0
        for row, eligibility, reason in explained:
            explanation = pb.SegmentExplanation(
                segment=convert.segment_info(self._settings.location, row.segment),
                eligibility=eligibility,
                task_id="" if row.task_id is None else str(row.task_id),
                reason=reason,
            )
            size_bytes += explanation.ByteSize() + 8
            if size_bytes > REPLY_BYTES_MAX:
                break
            reply.segments.append(explanation)
        return reply

    def ReleaseSegment(
        self, request: pb.ReleaseSegmentRequest, context: grpc.ServicerContext
    ) -> pb.ReleaseSegmentResponse:
        """Release a segment from the merge quarantine."""
        segment_id = checks.uuid(request.segment_id, "segment_id")

        def work(tx: Transaction) -> bool:
            if not segments.get_many(tx, [segment_id]):
                raise NotFound("there is no such segment", segment_id=segment_id)
            return explanations.release(tx, segment_id)

        success = self._transactions.write(work)
        return pb.ReleaseSegmentResponse(success=success)


def _explain(tx: Transaction, name: str | None, most: int, policy: Policy) -> list[_Explained]:
    """Explain the segments of one dataset or of all, up to `most`."""
    chosen = [datasets.get(tx, name)] if name is not None else datasets.list_live(tx)
    now_ns = merge_planning.now_nanos(tx)
    explained: list[_Explained] = []
    for dataset in chosen:
        rows = explanations.read(tx, dataset.key, most - len(explained))
        if rows:
            candidates = merge_planning.candidates(tx, dataset.key, SegmentFilter())
            explained += _explained(
                rows, [Candidate(*c.planned()) for c in candidates], policy, now_ns
            )
        if len(explained) >= most:
            break
    return explained


def _explained(
    rows: list[ExplainedRow], candidates: list[Candidate], policy: Policy, now_ns: int
) -> list[_Explained]:
    known = {
        str(candidate.segment_id): (candidate, eligibility)
        for candidate, eligibility in eligibilities(candidates, policy, now_ns)
    }
    day_counts = Counter(day_key(candidate) for candidate in candidates)
    explained: list[_Explained] = []
    for row in rows:
        if row.is_quarantined:
            answer = (
                pb.MERGE_ELIGIBILITY_QUARANTINED,
                "a merge could not read it; release it to try again",
            )
        elif row.task_id is not None:
            answer = pb.MERGE_ELIGIBILITY_IN_TASK, "it is an input of an open task"
        elif row.segment.id in known:
            answer = _by_plan(*known[row.segment.id], day_counts, policy)
        else:
            answer = _not_mergeable(row.segment, policy)
        explained.append((row, *answer))
    return explained


def _by_plan(
    candidate: Candidate, eligibility: Eligibility, day_counts: Counter[DayKey], policy: Policy
) -> tuple[pb.MergeEligibility.ValueType, str]:
    if eligibility is Eligibility.ELIGIBLE:
        return pb.MERGE_ELIGIBILITY_ELIGIBLE, eligibility.value
    counted = f"its day has {day_counts[day_key(candidate)]} segments below the target size"
    quiet_secs = policy.quiet_nanos / 1e9
    if eligibility is Eligibility.DAY_NOT_QUIET:
        return (
            pb.MERGE_ELIGIBILITY_TOO_YOUNG,
            f"{counted}: more than {policy.files_quiet} are merged after {quiet_secs:g} s without"
            " a new one",
        )
    return (
        pb.MERGE_ELIGIBILITY_TIER_NOT_FULL,
        f"{counted}: more than"
        f" {policy.files_max} are merged, and after {quiet_secs:g} s without a new"
        f" one more than {policy.files_quiet}",
    )


def _not_mergeable(
    segment: SegmentRow, policy: Policy
) -> tuple[pb.MergeEligibility.ValueType, str]:
    if segment.compressed_size_bytes >= policy.target_bytes:
        return (
            pb.MERGE_ELIGIBILITY_LARGE_ENOUGH,
            f"{segment.compressed_size_bytes} bytes are not below {policy.target_bytes}",
        )
    return pb.MERGE_ELIGIBILITY_TIER_NOT_FULL, "older segments of its dataset come first"
