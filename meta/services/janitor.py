"""JanitorService: statistics, and the life of merge tasks."""

import grpc

from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.planner import Candidate, Policy, plan
from meta.rpc import Transactions
from meta.services import checks, convert
from meta.store import datasets, merge_planning, merge_tasks, stats
from meta.store.engine import Transaction
from meta.store.merge_planning import SegmentFilter
from meta.store.merge_tasks import MergeTask, TaskKind
from meta.v1 import janitor_pb2, janitor_pb2_grpc

TASKS_MAX = 1_000
MIN_CLAIMED_SECS_DEFAULT = 3_600
_Filters = janitor_pb2.CreateMergeTasksRequest | janitor_pb2.GetSegmentSizeStatsRequest


class JanitorServicer(janitor_pb2_grpc.JanitorServiceServicer):
    """JanitorService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
        self._policy = Policy()

    def CreateMergeTasks(
        self, request: janitor_pb2.CreateMergeTasksRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.CreateMergeTasksResponse:
        """Plan merges and create their tasks, one dataset a transaction."""
        wanted = _segment_filter(request)
        keys = self._dataset_keys(request.dataset_name, request.HasField("dataset_name"))
        tasks_created = segments_included = 0
        for key in keys:
            tasks, inputs = self._transactions.write(
                lambda tx, key=key: self._plan(tx, key, wanted)  # type: ignore[misc]
            )
            tasks_created += tasks
            segments_included += inputs
        return janitor_pb2.CreateMergeTasksResponse(
            tasks_created=tasks_created, segments_included=segments_included
        )

    def UnclaimMergeTask(
        self, request: janitor_pb2.UnclaimMergeTaskRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.UnclaimMergeTaskResponse:
        """Take a task from its worker, who is fenced from then on."""
        task_id = checks.uuid(request.task_id, "task_id")
        age = checks.count(request.min_claimed_secs, "min_claimed_secs") or MIN_CLAIMED_SECS_DEFAULT
        unclaimed = self._transactions.write(lambda tx: merge_tasks.unclaim(tx, task_id, age))
        return janitor_pb2.UnclaimMergeTaskResponse(unclaimed=unclaimed)

    def GetJanitorStats(
        self, request: janitor_pb2.GetJanitorStatsRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.GetJanitorStatsResponse:
        """Read the totals of one dataset or of all."""
        name = _optional_name(request.dataset_name, request.HasField("dataset_name"))

        def work(tx: Transaction) -> stats.Totals:
            return stats.read(tx, None if name is None else datasets.get(tx, name).key)

        totals = self._transactions.read(work)
        return janitor_pb2.GetJanitorStatsResponse(
            segment_count=totals.live_segments,
            outstanding_merge_tasks=totals.open_tasks,
            total_size_bytes=totals.live_size_bytes,
            total_compressed_size_bytes=totals.live_compressed_size_bytes,
            segments_incl_tombstoned=totals.all_segments,
        )

    def ListMergeTasks(
        self, request: janitor_pb2.ListMergeTasksRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.ListMergeTasksResponse:
        """List open tasks, oldest first."""
        name = _optional_name(request.dataset_name, request.HasField("dataset_name"))

        def work(tx: Transaction) -> list[MergeTask]:
            key = None if name is None else datasets.get(tx, name).key
            return merge_tasks.list_open(tx, key, TASKS_MAX)

        tasks = self._transactions.read(work)
        return janitor_pb2.ListMergeTasksResponse(tasks=[_summary(task) for task in tasks])

    def GetMergeTask(
        self, request: janitor_pb2.GetMergeTaskRequest, context: grpc.ServicerContext
    ) -> janitor_pb2.GetMergeTaskResponse:
        """Read one task, finished ones too while they are kept."""
        task_id = checks.uuid(request.task_id, "task_id")
        task = self._transactions.read(lambda tx: merge_tasks.find(tx, task_id))
        if task is None:
            raise NotFound("there is no such merge task", task_id=task_id)
        return _details(task)

    def _plan(self, tx: Transaction, dataset_key: int, wanted: SegmentFilter) -> tuple[int, int]:
        if not merge_planning.lock_dataset(tx, dataset_key):
            return 0, 0
        rows = merge_planning.candidates(tx, dataset_key, wanted)
        candidates = [Candidate(*row.planned()) for row in rows]
        groups = plan(candidates, self._policy, merge_planning.now_nanos(tx))
        chosen = [[one.segment_id for one in group.inputs] for group in groups]
        return merge_planning.create_tasks(tx, chosen, TaskKind.MERGE, merges_added=1)

    def _dataset_keys(self, name: str, is_set: bool) -> list[int]:
        wanted = _optional_name(name, is_set)

        def work(tx: Transaction) -> list[int]:
            if wanted is not None:
                return [datasets.get(tx, wanted).key]
            return [dataset.key for dataset in datasets.list_live(tx)]

        return self._transactions.read(work)


def _optional_name(name: str, is_set: bool) -> str | None:
    return checks.name(name, "dataset_name") if is_set else None


def _segment_filter(request: _Filters) -> SegmentFilter:
    for field in ("max_compressed_size", "min_age_secs", "max_age_secs"):
        checks.count(getattr(request, field), field)
    has_both = request.HasField("min_age_secs") and request.HasField("max_age_secs")
    if has_both and request.max_age_secs < request.min_age_secs:
        raise InvalidArgument("max_age_secs is below min_age_secs", field="max_age_secs")
    return SegmentFilter(
        max_compressed_size=(
            request.max_compressed_size if request.HasField("max_compressed_size") else None
        ),
        min_age_secs=request.min_age_secs if request.HasField("min_age_secs") else None,
        max_age_secs=request.max_age_secs if request.HasField("max_age_secs") else None,
    )


def _summary(task: MergeTask) -> janitor_pb2.MergeTaskSummary:
    return janitor_pb2.MergeTaskSummary(
        task_id=str(task.id),
        dataset_id=str(task.dataset_id),
        segment_count=task.segment_count,
        assigned_to_worker=task.worker_id or "",
        created_at=convert.time_text(task.created_at),
        assigned_at=convert.time_text(task.claimed_at),
    )


def _details(task: MergeTask) -> janitor_pb2.GetMergeTaskResponse:
    return janitor_pb2.GetMergeTaskResponse(
        task_id=str(task.id),
        dataset_id=str(task.dataset_id),
        segment_count=task.segment_count,
        assigned_to_worker=task.worker_id or "",
        created_at=convert.time_text(task.created_at),
        smallest_segment_size=task.smallest_size,
        largest_segment_size=task.largest_size,
        smallest_segment_compressed_size=task.smallest_compressed_size,
        largest_segment_compressed_size=task.largest_compressed_size,
        earliest_time=convert.nanos_text(task.start_ns),
        latest_time=convert.nanos_text(task.end_ns),
        total_size=task.total_size,
        total_compressed_size=task.total_compressed_size,
        assigned_at=convert.time_text(task.claimed_at),
    )
