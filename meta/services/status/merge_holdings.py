"""Stages of merges: segments and tasks that wait, workers that do not take them, rewrites."""

from collections import Counter
from collections.abc import Iterator

from meta.planning.planner import Candidate, Eligibility, eligibilities
from meta.self_report import SILENT_SECS
from meta.services.status.holdings import COUNTED_MAX, Explained, holding
from meta.store.merging import merge_debt, merge_planning
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.rewrites import rewrite_jobs
from meta.store.rewrites.rewrite_jobs import JobState
from meta.store.workers import seen, settings
from meta.v1 import status_pb2 as pb

KIND = "merge_worker"
WORKERS_MAX = 100
# Small segments that are judged as the planner judges them.
JUDGED_MAX = 10_000
_REASONS = {
    Eligibility.ELIGIBLE: "for the next planning",
    Eligibility.DAY_NOT_QUIET: "until their day is quiet",
    Eligibility.FEW_SEGMENTS: "of days with few of them",
    Eligibility.LARGE_ENOUGH: "of the target size",
}


def find(explained: Explained) -> Iterator[pb.Holding]:
    """Yield what keeps segments from being merged or rewritten."""
    tx, key, server = explained.tx, explained.dataset.key, explained.server
    debt = server.debts.of_dataset(tx, key)
    tasks = merge_debt.open_tasks(tx, key)
    if debt.segments or tasks.number:
        if not explained.reports_now(KIND):
            yield holding(
                pb.HOLDING_STAGE_NO_MERGE_WORKER,
                explained.reports[KIND].seen_nanos,
                amount=debt.segments,
            )
        yield from _limited(explained)
    if debt.segments:
        yield holding(
            pb.HOLDING_STAGE_MERGE_DEBT,
            debt.oldest_nanos,
            amount=debt.segments,
            limit=server.debts.bound,
            detail=_planned(explained),
        )
    if tasks.number:
        yield holding(
            pb.HOLDING_STAGE_OPEN_TASKS,
            tasks.oldest_nanos,
            subjects=tasks.first_ids,
            amount=tasks.number,
            detail=f"{tasks.failed} of them have failed before" if tasks.failed else "",
        )
    excluded = merge_debt.excluded(tx, key, COUNTED_MAX)
    if excluded:
        yield holding(
            pb.HOLDING_STAGE_EXCLUDED_SEGMENTS,
            min(since_nanos for _, since_nanos in excluded),
            subjects=[segment_id for segment_id, _ in excluded],
            amount=len(excluded),
        )
    yield from _paused(explained)


def _planned(explained: Explained) -> str:
    """Return how the merge planner judges the small segments that are in no task."""
    window = merge_planning.candidates(
        explained.tx, explained.dataset.key, SegmentFilter(), most=JUDGED_MAX
    )
    candidates = [Candidate(*row) for row in window]
    policy, now_nanos = explained.server.settings.merge_policy, explained.now_nanos
    counts = Counter(reason for _, reason in eligibilities(candidates, policy, now_nanos))
    parts = [f"{counts[reason]} {words}" for reason, words in _REASONS.items() if counts[reason]]
    return "in no task: " + ", ".join(parts) if parts else ""


def _limited(explained: Explained) -> Iterator[pb.Holding]:
    """Yield the merge workers if none of them takes tasks of the dataset."""
    worker_ids = seen.recent_ids(explained.tx, KIND, SILENT_SECS, WORKERS_MAX)
    in_force = settings.in_force_for(explained.tx, worker_ids)
    dataset_id = str(explained.dataset.id)
    if in_force and all(
        chosen.dataset_ids is not None and dataset_id not in chosen.dataset_ids
        for chosen in in_force.values()
    ):
        yield holding(pb.HOLDING_STAGE_WORKERS_LIMITED, subjects=worker_ids, amount=len(worker_ids))


def _paused(explained: Explained) -> Iterator[pb.Holding]:
    # Unfinished rewrites come first, and a dataset has one at most.
    for job in rewrite_jobs.list_newest(explained.tx, explained.dataset.id, 1):
        if job.state == JobState.PAUSED:
            yield holding(
                pb.HOLDING_STAGE_REWRITE_PAUSED,
                subjects=[job.id],
                amount=max(0, job.segments_total - job.segments_done),
            )
