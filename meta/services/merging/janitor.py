"""JanitorService: statistics, planning and inspection of merge tasks."""

import time
from functools import partial

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.planning.planner import Candidate, plan
from meta.services.merging.dataset_turns import PLAN_SECS, DatasetTurns, end_of_work
from meta.services.messages import checks, convert
from meta.services.messages.filled import filled
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_claims, merge_failures, merge_planning, merge_tasks, size_tiers
from meta.store.merging.merge_failures import Attempt
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.merging.merge_tasks import MergeTaskRow, TaskKind
from meta.store.merging.size_tiers import SizeTier
from meta.store.rewrites import rewrite_all
from meta.store.segments import stats
from meta.v1 import janitor_pb2 as pb

TASKS_MAX = 1_000
# Bound of one call, so that many files do not hold up merges; the janitor calls every 10 s.
FILES_MAX = 100
ATTEMPTS_MAX = 20
MIN_CLAIMED_SECS_DEFAULT = 3_600
# A hundred years.
AGE_SECS_MAX = 3_155_760_000
# One call of RewriteAllSegments works for this long, or for half of its deadline.
REWRITE_SECS = 10.0
_Filters = pb.CreateMergeTasksRequest | pb.GetSegmentSizeStatsRequest


class JanitorServicer:
    """JanitorService; see docs/contract.md."""

    def __init__(
        self, transactions: Transactions, settings: Settings, plan_secs: float = PLAN_SECS
    ) -> None:
        self._transactions = transactions
        self._turns = DatasetTurns(transactions, plan_secs)
        self._settings = settings
        self._policy = settings.merge_policy

    def CreateMergeTasks(self, request: pb.CreateMergeTasksRequest) -> pb.CreateMergeTasksResponse:
        """Plan merges for a bounded time and create their tasks, a window of a dataset at once."""
        segment_filter = _segment_filter(request)
        name = checks.filter_name(request, "dataset_name")
        only = None if name is None else self._transactions.read(lambda tx: _key(tx, name))
        # These precede merges, in which the files would wait until enough segments have gathered.
        tasks_created = self._rewrite_mapped(only, segment_filter)
        segments_included = tasks_created
        for key in [only] if only is not None else self._turns.keys():
            start_ns: int | None = merge_planning.INT64_MIN
            while start_ns is not None:
                window = partial(self._plan, key, segment_filter, start_ns)
                tasks, inputs, start_ns = self._transactions.write(window)
                tasks_created += tasks
                segments_included += inputs
        return pb.CreateMergeTasksResponse(
            tasks_created=tasks_created, segments_included=segments_included
        )

    def RewriteAllSegments(
        self, request: pb.RewriteAllSegmentsRequest
    ) -> pb.RewriteAllSegmentsResponse:
        """Begin or continue a rewrite for a bounded time; to be called until `all_planned`."""
        name = checks.filter_name(request, "dataset_name")
        deadline = end_of_work(REWRITE_SECS)
        only = None if name is None else self._transactions.read(lambda tx: _key(tx, name))
        # The id, because the name may belong to another dataset at the next call.
        dataset_filter = "" if only is None else str(only)
        rewrite = self._transactions.write(
            lambda tx: rewrite_all.resume(tx, dataset_filter, only, name)
        )
        remaining = self._transactions.read(lambda tx: rewrite_all.datasets_left(tx, only, rewrite))
        created = 0
        while remaining and time.monotonic() < deadline:
            more = self._transactions.write(
                lambda tx: merge_planning.create_rewrites(
                    tx, remaining[0], lambda: rewrite_all.unplanned(tx, remaining[0], rewrite)
                )
            )
            created += more
            if not more:
                remaining.pop(0)
        return pb.RewriteAllSegmentsResponse(
            tasks_created=created, segments_included=created, all_planned=not remaining
        )

    def GetSegmentSizeStats(
        self, request: pb.GetSegmentSizeStatsRequest
    ) -> pb.GetSegmentSizeStatsResponse:
        """Count live segments by tiers of compressed size."""
        segment_filter = _segment_filter(request)
        name = checks.filter_name(request, "dataset_name")

        def work(tx: Transaction) -> list[SizeTier]:
            return size_tiers.read(tx, _key(tx, name), segment_filter)

        tiers = {tier.tier: tier for tier in self._transactions.read(work)}
        highest = max(tiers, default=-1)
        return pb.GetSegmentSizeStatsResponse(
            tiers=[_tier(number, tiers.get(number)) for number in range(highest + 1)]
        )

    def UnclaimMergeTask(self, request: pb.UnclaimMergeTaskRequest) -> pb.UnclaimMergeTaskResponse:
        """Revoke the claim of a task; its worker is fenced by the attempt number."""
        task_id = checks.uuid(request.task_id, "task_id")
        age = checks.count(request.min_claimed_secs, "min_claimed_secs") or MIN_CLAIMED_SECS_DEFAULT
        age = min(age, AGE_SECS_MAX)
        unclaimed = self._transactions.write(lambda tx: merge_claims.unclaim(tx, task_id, age))
        return pb.UnclaimMergeTaskResponse(unclaimed=unclaimed)

    def GetJanitorStats(self, request: pb.GetJanitorStatsRequest) -> pb.GetJanitorStatsResponse:
        """Read the totals of one dataset or of all."""
        name = checks.filter_name(request, "dataset_name")

        def work(tx: Transaction) -> stats.DatasetTotals:
            return stats.read(tx, _key(tx, name))

        totals = self._transactions.read(work)
        return pb.GetJanitorStatsResponse(
            segment_count=totals.live_segments,
            outstanding_merge_tasks=totals.open_tasks,
            total_size_bytes=totals.live_size_bytes,
            total_compressed_size_bytes=totals.live_compressed_size_bytes,
            segments_incl_tombstoned=totals.all_segments,
        )

    def ListMergeTasks(self, request: pb.ListMergeTasksRequest) -> pb.ListMergeTasksResponse:
        """List open tasks, oldest first."""
        name = checks.filter_name(request, "dataset_name")

        def work(tx: Transaction) -> list[MergeTaskRow]:
            return merge_tasks.list_open(tx, _key(tx, name), TASKS_MAX)

        tasks = self._transactions.read(work)
        return pb.ListMergeTasksResponse(tasks=[_summary(task) for task in tasks])

    def GetMergeTask(self, request: pb.GetMergeTaskRequest) -> pb.GetMergeTaskResponse:
        """Read one task; finished tasks are kept for a time."""
        task_id = checks.uuid(request.task_id, "task_id")

        def work(tx: Transaction) -> pb.GetMergeTaskResponse:
            task = merge_tasks.find(tx, task_id)
            if task is None:
                raise NotFound("there is no such merge task", task_id=task_id)
            reply = _details(task)
            reply.rows_done = merge_claims.rows_done(tx, task_id)
            reply.attempts.extend(map(_attempt, merge_failures.history(tx, task_id, ATTEMPTS_MAX)))
            return reply

        return self._transactions.read(work)

    def _plan(
        self, dataset_key: int, segment_filter: SegmentFilter, start_ns: int, tx: Transaction
    ) -> tuple[int, int, int | None]:
        """Plan a window of a dataset; counts tasks and inputs, and has the start of the next."""
        if not merge_planning.lock_dataset(tx, dataset_key):
            return 0, 0, None
        rows = merge_planning.candidates(tx, dataset_key, segment_filter, start_ns)
        candidates = [Candidate(*row) for row in rows]
        groups = plan(candidates, self._policy, merge_planning.now_nanos(tx))
        chosen = [[candidate.segment_id for candidate in group.inputs] for group in groups]
        tasks, inputs = merge_planning.create_tasks(tx, chosen, TaskKind.MERGE, merges_added=1)
        return tasks, inputs, merge_planning.next_window(rows, start_ns)

    def _rewrite_mapped(self, only: int | None, segment_filter: SegmentFilter) -> int:
        """Create a task for each of the oldest mapped files, which becomes a segment; count them.

        Every engine can read a segment.
        """
        files = self._transactions.read(
            lambda tx: merge_planning.mapped_files(tx, only, segment_filter, FILES_MAX)
        )
        created = 0
        for key, ids in files.items():
            rewrite = partial(merge_planning.create_rewrites, dataset_key=key, choose=ids.copy)
            created += self._transactions.write(rewrite)
        return created


def _key(tx: Transaction, name: str | None) -> int | None:
    return None if name is None else datasets.get(tx, name).key


def _segment_filter(request: _Filters) -> SegmentFilter:
    most = checks.optional_count(request, "max_compressed_size")
    youngest = checks.optional_count(request, "min_age_secs")
    oldest = checks.optional_count(request, "max_age_secs")
    if oldest is not None and oldest < (youngest or 0):
        raise InvalidArgument("max_age_secs is below min_age_secs", field="max_age_secs")
    # Ages that Postgres can subtract from the current time.
    ages = (None if age is None else min(age, AGE_SECS_MAX) for age in (youngest, oldest))
    return SegmentFilter(most, *ages)


def _summary(task: MergeTaskRow) -> pb.MergeTaskSummary:
    return filled(pb.MergeTaskSummary, task, **_claim(task))


def _details(task: MergeTaskRow) -> pb.GetMergeTaskResponse:
    return filled(
        pb.GetMergeTaskResponse,
        task,
        **_claim(task),
        smallest_segment_size=task.smallest_size,
        largest_segment_size=task.largest_size,
        smallest_segment_compressed_size=task.smallest_compressed_size,
        largest_segment_compressed_size=task.largest_compressed_size,
        earliest_time=convert.nanos_text(task.start_ns),
        latest_time=convert.nanos_text(task.end_ns),
        more_output_segment_ids=map(str, task.more_output_ids or ()),
    )


def _claim(task: MergeTaskRow) -> dict[str, object]:
    """The id of a task and its claim by the names of messages."""
    return {
        "task_id": task.id,
        "assigned_to_worker": task.worker_id,
        "assigned_at": task.claimed_at,
    }


def _attempt(attempt: Attempt) -> pb.MergeAttempt:
    return filled(pb.MergeAttempt, attempt)


def _tier(number: int, tier: SizeTier | None) -> pb.SegmentSizeTier:
    low, high = size_tiers.tier_bounds(number)
    if tier is None:
        return pb.SegmentSizeTier(tier=number, tier_min=str(low), tier_max=str(high))
    return filled(
        pb.SegmentSizeTier,
        tier,
        tier_min=str(low),
        tier_max=str(high),
        avg_size=tier.total_size // tier.segment_count,
        earliest_time=convert.nanos_text(tier.start_ns),
        latest_time=convert.nanos_text(tier.end_ns),
    )
