"""Merge debt: the small segments of each dataset that no merge has taken yet and that one will."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.merging.merge_planning import DAY_NANOS

# Datasets that a report names: those with the most segments.
DATASETS_MAX = 1_000
# Small segments of one dataset that are counted, and its open tasks.
SEGMENTS_MAX = 50_000
TASKS_MAX = 10_000
# The conditions of the planner's index.
_SMALL = (
    "tombstone_version IS NULL AND quarantined_at IS NULL AND compressed_size_bytes < 268435456"
)
_NANOS = "(extract(epoch FROM {}) * 1000000)::bigint * 1000"


def _days(segments: str) -> str:
    """Days of datasets with more small segments than the planner leaves.

    The others are not debt: no merge worker could lower it.
    """
    return f"""
        SELECT dataset_key, count(*) FILTER (WHERE merge_count = 0) AS segments,
          min(created_at) FILTER (WHERE merge_count = 0) AS oldest FROM {segments}
        GROUP BY dataset_key, start_ns / {DAY_NANOS}
        HAVING count(*) > CASE WHEN max(created_at) <= now() - make_interval(secs => :quiet_secs)
                          THEN :files_quiet ELSE :files_max END"""  # noqa: S608


_READ = text(f"""
    SELECT d.id::text, s.segments FROM (
      SELECT dataset_key, sum(segments) AS segments
      FROM ({_days(f"segments WHERE {_SMALL}")}) days
      GROUP BY dataset_key HAVING sum(segments) >= :least
      ORDER BY sum(segments) DESC LIMIT :most) s
    JOIN datasets d ON d.key = s.dataset_key WHERE d.deleted_at IS NULL
""")  # noqa: S608
_WINDOW = f"""(SELECT dataset_key, start_ns, created_at, merge_count FROM segments
    WHERE dataset_key = :key AND {_SMALL} ORDER BY start_ns, id LIMIT :window) small"""  # noqa: S608
_OF_DATASET = text(f"""
    SELECT coalesce(sum(segments), 0)::bigint, coalesce({_NANOS.format("min(oldest)")}, 0)
    FROM ({_days(_WINDOW)}) days
""")  # noqa: S608
_OPEN_TASKS = text(f"""
    SELECT count(*), count(*) FILTER (WHERE failures > 0),
      coalesce({_NANOS.format("min(created_at)")}, 0), (array_agg(id ORDER BY id))[1:10]
    FROM (SELECT id, failures, created_at FROM merge_tasks WHERE dataset_key = :key AND state = 1
          ORDER BY id LIMIT :most) open
""")  # noqa: S608
# The index has the excluded segments of all datasets, which are few.
_EXCLUDED = text(f"""
    SELECT id, {_NANOS.format("quarantined_at")} FROM segments
    WHERE quarantined_at IS NOT NULL AND tombstone_version IS NULL AND dataset_key = :key
    ORDER BY id LIMIT :most
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class DayLimits:
    """The number of small segments that merges leave to a day, and to a quiet one."""

    files_max: int
    files_quiet: int
    quiet_secs: float


def read(tx: Transaction, least: int, limits: DayLimits) -> dict[str, int]:
    """Count the small segments without a merge, on the days that are over their limit.

    Of datasets with at least `least` of them, by id as text.
    """
    values = {"least": least, "most": DATASETS_MAX, **asdict(limits)}
    rows = tx.execute(_READ, values).all()
    return {str(dataset_id): int(segments) for dataset_id, segments in rows}


@dataclass(frozen=True, slots=True)
class DatasetDebt:
    """Small segments of a dataset that await a merge, and the creation of the oldest; 0 = none."""

    segments: int
    oldest_nanos: int


@dataclass(frozen=True, slots=True)
class OpenTasks:
    """Open tasks of a dataset, those that have failed before, and ids of the first ones."""

    number: int
    failed: int
    oldest_nanos: int
    first_ids: Sequence[UUID]


def of_dataset(tx: Transaction, dataset_key: int, limits: DayLimits) -> DatasetDebt:
    """Count the debt of one dataset, by the rule of `read`, among its first small segments."""
    values = {"key": dataset_key, "window": SEGMENTS_MAX, **asdict(limits)}
    return DatasetDebt(*tx.execute(_OF_DATASET, values).one())


def open_tasks(tx: Transaction, dataset_key: int) -> OpenTasks:
    """Count the open tasks of a dataset."""
    number, failed, oldest_nanos, ids = tx.execute(
        _OPEN_TASKS, {"key": dataset_key, "most": TASKS_MAX}
    ).one()
    return OpenTasks(number, failed, oldest_nanos, ids or ())


def excluded(tx: Transaction, dataset_key: int, most: int) -> list[tuple[UUID, int]]:
    """Return some segments that are excluded from merging, each with the time of its exclusion."""
    rows = tx.execute(_EXCLUDED, {"key": dataset_key, "most": most})
    return [(segment_id, since_nanos) for segment_id, since_nanos in rows]
