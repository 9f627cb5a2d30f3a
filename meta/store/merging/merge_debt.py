"""Merge debt: the small segments of each dataset that no merge has taken yet and that one will."""

from dataclasses import asdict, dataclass

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.merging.merge_planning import DAY_NANOS

# Datasets that a report names: those with the most segments.
DATASETS_MAX = 1_000
# The first conditions are those of the planner's index. A day that has no more segments than the
# planner leaves is not debt: no merge worker could lower it.
_READ = text(f"""
    SELECT d.id::text, s.segments FROM (
      SELECT dataset_key, sum(segments) AS segments FROM (
        SELECT dataset_key, count(*) FILTER (WHERE merge_count = 0) AS segments FROM segments
        WHERE tombstone_version IS NULL AND quarantined_at IS NULL
          AND compressed_size_bytes < 268435456
        GROUP BY dataset_key, start_ns / {DAY_NANOS}
        HAVING count(*) > CASE WHEN max(created_at) <= now() - make_interval(secs => :quiet_secs)
                          THEN :files_quiet ELSE :files_max END) days
      GROUP BY dataset_key HAVING sum(segments) >= :least
      ORDER BY sum(segments) DESC LIMIT :most) s
    JOIN datasets d ON d.key = s.dataset_key WHERE d.deleted_at IS NULL
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
