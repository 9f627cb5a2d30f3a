"""Merge debt: the small segments of each dataset that no merge has taken yet."""

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# Datasets that a report names: those with the most segments.
DATASETS_MAX = 1_000
# The first conditions are those of the planner's index.
_READ = text("""
    SELECT d.id::text, s.segments FROM (
      SELECT dataset_key, count(*) AS segments FROM segments
      WHERE tombstone_version IS NULL AND quarantined_at IS NULL
        AND compressed_size_bytes < 268435456 AND merge_count = 0
      GROUP BY dataset_key HAVING count(*) >= :least
      ORDER BY count(*) DESC LIMIT :most) s
    JOIN datasets d ON d.key = s.dataset_key WHERE d.deleted_at IS NULL
""")


def read(tx: Transaction, least: int) -> dict[str, int]:
    """Count the segments below the target size that nurseries wrote and no merge has replaced.

    Of datasets with at least `least` of them, by id as text.
    """
    rows = tx.execute(_READ, {"least": least, "most": DATASETS_MAX}).all()
    return {str(dataset_id): int(segments) for dataset_id, segments in rows}
