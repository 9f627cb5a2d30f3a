"""Reads and writes of the planner: candidates of a dataset, and tasks over chosen groups."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.merging import merge_tasks
from meta.store.merging.merge_tasks import TaskKind
from meta.store.segments.foreign_files import MAPPED
from meta.store.versions.witness_state import IS_AWAITED

# A transaction plans a window of so many.
CANDIDATES_MAX = 50_000
DAY_NANOS = 86_400_000_000_000
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class SegmentFilter:
    """A filter of live segments; None does not filter. Age = now - created_at, bounds included."""

    max_compressed_size: int | None = None
    min_age_secs: int | None = None
    max_age_secs: int | None = None


class CandidateRow(NamedTuple):
    """A live segment that could be an input, as planner.Candidate; times in nanoseconds."""

    segment_id: UUID
    dataset_key: int
    start_ns: int
    end_ns: int
    created_ns: int
    compressed_size_bytes: int
    merge_count: int


FILTERED = """
    (cast(:max_compressed_size AS bigint) IS NULL
     OR s.compressed_size_bytes <= :max_compressed_size)
    AND (cast(:min_age_secs AS bigint) IS NULL
         OR s.created_at <= now() - make_interval(secs => :min_age_secs))
    AND (cast(:max_age_secs AS bigint) IS NULL
         OR s.created_at >= now() - make_interval(secs => :max_age_secs))
"""
# The conditions of segments_small_index, word by word.
_IS_SMALL = """s.tombstone_version IS NULL AND s.quarantined_at IS NULL
      AND s.compressed_size_bytes < 268435456"""
_IS_FREE = "NOT EXISTS (SELECT FROM merge_task_inputs i WHERE i.segment_id = s.id)"
# Steps from one dataset with small segments to the next along the index; the others cost nothing.
_DATASETS = text(f"""
    WITH RECURSIVE small AS (
      (SELECT s.dataset_key AS key FROM segments s
       WHERE s.dataset_key > :after AND {_IS_SMALL} ORDER BY 1 LIMIT 1)
      UNION ALL
      SELECT (SELECT s.dataset_key FROM segments s
              WHERE s.dataset_key > small.key AND {_IS_SMALL} ORDER BY 1 LIMIT 1)
      FROM small WHERE small.key IS NOT NULL)
    SELECT small.key FROM small
    WHERE EXISTS (SELECT FROM datasets d WHERE d.key = small.key AND d.deleted_at IS NULL)
    -- Two at least, or there is nothing to merge.
      AND (SELECT count(*) FROM (
      SELECT FROM segments s WHERE s.dataset_key = small.key AND {_IS_SMALL} AND {_IS_FREE}
      LIMIT 2) c) = 2
    -- In the order of the recursion, which ends with the limit.
    LIMIT :most
""")  # noqa: S608
_CANDIDATES = text(f"""
    SELECT s.id, s.dataset_key, s.start_ns, s.end_ns,
           (extract(epoch FROM s.created_at) * 1000000000)::bigint,
           s.compressed_size_bytes, s.merge_count
    FROM segments s
    WHERE s.dataset_key = :key AND s.start_ns >= :start_ns
      AND {_IS_SMALL} AND {_IS_FREE} AND {FILTERED} AND NOT {IS_AWAITED}
    ORDER BY s.start_ns, s.id LIMIT :most
""")  # noqa: S608
# Has the conditions of segments_foreign_index: nothing is read if no client registered files.
_MAPPED = text(f"""
    SELECT s.dataset_key, s.id
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.foreign_state = {MAPPED} AND s.tombstone_version IS NULL AND s.quarantined_at IS NULL
      AND d.deleted_at IS NULL AND (cast(:only AS integer) IS NULL OR s.dataset_key = :only)
      AND {_IS_FREE} AND {FILTERED} AND NOT {IS_AWAITED}
    ORDER BY s.id LIMIT :most
""")  # noqa: S608
# NO KEY UPDATE: one planning at a time, without blocking registrations.
_LOCK_DATASET = text(
    "SELECT key FROM datasets WHERE key = :key AND deleted_at IS NULL FOR NO KEY UPDATE"
)
_NOW = text("SELECT (extract(epoch FROM now()) * 1000000000)::bigint")


def lock_dataset(tx: Transaction, dataset_key: int) -> bool:
    """Plan a live dataset alone; False if it was deleted."""
    return tx.execute(_LOCK_DATASET, {"key": dataset_key}).one_or_none() is not None


def plannable_datasets(tx: Transaction, after: int, most: int) -> list[int]:
    """The next keys of live datasets with segments that could be merged, in order."""
    return list(tx.execute(_DATASETS, {"after": after, "most": most}).scalars())


def candidates(
    tx: Transaction,
    dataset_key: int,
    segment_filter: SegmentFilter,
    start_ns: int = INT64_MIN,
    most: int = CANDIDATES_MAX,
) -> list[CandidateRow]:
    """A window, in order of time, of live segments in no task that pass the filter."""
    values = {"key": dataset_key, "most": most, "start_ns": start_ns}
    rows = tx.execute(_CANDIDATES, {**values, **asdict(segment_filter)})
    return [CandidateRow(*row) for row in rows]


def mapped_files(
    tx: Transaction, only: int | None, segment_filter: SegmentFilter, most: int
) -> dict[int, list[UUID]]:
    """Mapped files of clients in no task, the oldest first, by the key of their dataset."""
    values = {"only": only, "most": most, **asdict(segment_filter)}
    files: dict[int, list[UUID]] = {}
    for dataset_key, segment_id in tx.execute(_MAPPED, values):
        files.setdefault(dataset_key, []).append(segment_id)
    return files


def next_window(window: Sequence[CandidateRow], start_ns: int) -> int | None:
    """The start of the window after this one; None if there is none.

    It starts with the last day of this one, which may be cut off, so that a day is planned whole.
    """
    if len(window) < CANDIDATES_MAX:
        return None
    last_ns = window[-1].start_ns
    day_ns = last_ns - last_ns % DAY_NANOS
    if day_ns > max(start_ns, window[0].start_ns):
        return day_ns
    return None if last_ns == INT64_MAX else last_ns + 1


def create_tasks(
    tx: Transaction,
    groups: Sequence[Sequence[UUID]],
    kind: TaskKind,
    *,
    merges_added: int,
    rewrite_id: UUID | None = None,
) -> tuple[int, int]:
    """Create one task per group whose segments are all live still; counts tasks and inputs."""
    live = merge_tasks.lock_candidates(tx, [segment for group in groups for segment in group])
    whole = [
        [live[segment] for segment in group]
        for group in groups
        if all(segment in live for segment in group)
    ]
    created = merge_tasks.create(tx, kind, whole, merges_added=merges_added, rewrite_id=rewrite_id)
    return created, sum(map(len, whole))


def create_rewrites(tx: Transaction, dataset_key: int, choose: Callable[[], Sequence[UUID]]) -> int:
    """Create a task for each segment that is chosen under the lock of its dataset; counts them."""
    if not lock_dataset(tx, dataset_key):
        return 0
    groups = [[segment_id] for segment_id in choose()]
    return create_tasks(tx, groups, TaskKind.REWRITE, merges_added=0)[0]


def now_nanos(tx: Transaction) -> int:
    """The database's time."""
    return int(tx.execute(_NOW).scalar_one())
