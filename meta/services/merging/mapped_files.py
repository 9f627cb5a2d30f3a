"""Rewrites of mapped files: a file of a client becomes a segment, which every engine can read."""

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from meta.commits.transactions import Transactions
from meta.store.engine.pool import Transaction
from meta.store.merging import merge_planning
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.merging.merge_tasks import TaskKind

# Bound of one call, so that many files do not hold up merges; the janitor calls every 10 s.
FILES_MAX = 100


def plan_rewrites(
    transactions: Transactions, only: int | None, segment_filter: SegmentFilter
) -> int:
    """Create a task for each of the oldest mapped files, of one dataset or of all; counts them."""
    files = transactions.read(
        lambda tx: merge_planning.mapped_files(tx, only, segment_filter, FILES_MAX)
    )
    return sum(transactions.write(partial(_plan, key, ids)) for key, ids in files.items())


def _plan(dataset_key: int, segment_ids: Sequence[UUID], tx: Transaction) -> int:
    if not merge_planning.lock_dataset(tx, dataset_key):
        return 0
    groups = [[segment_id] for segment_id in segment_ids]
    created, _ = merge_planning.create_tasks(tx, groups, TaskKind.REWRITE, merges_added=0)
    return created
