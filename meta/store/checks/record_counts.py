"""First counts of live records, of datasets that servers of 0.3.0 wrote beside this release."""

from sqlalchemy import text

from meta.store.checks import recounts
from meta.store.engine.pool import Transaction

_NEXT = text("""
    SELECT dataset_key FROM dataset_stats
    WHERE NOT records_counted AND dataset_key > :after ORDER BY dataset_key LIMIT 1
""")
# One statement, because one snapshot must show both: what others add meanwhile is kept.
_COUNT = text("""
    WITH counted AS MATERIALIZED (
      SELECT k.dataset_key, k.live_records AS kept, (
          SELECT coalesce(sum(number_of_events), 0) FROM segments
          WHERE dataset_key = k.dataset_key AND tombstone_version IS NULL) AS records
      FROM dataset_stats k WHERE k.dataset_key = :key)
    UPDATE dataset_stats k
    SET live_records = k.live_records + (c.records - c.kept)::bigint, records_counted = true
    FROM counted c WHERE k.dataset_key = c.dataset_key AND NOT k.records_counted
""")


def count_next(tx: Transaction, after_key: int) -> int | None:
    """Count the records of the next dataset where they never were; returns its key, None = none.

    Each change keeps them from then on. No server that does not may run any more.
    """
    key: int | None = tx.execute(_NEXT, {"after": after_key}).scalar_one_or_none()
    if key is not None:
        recounts.take_turns(tx, key)
        tx.execute(_COUNT, {"key": key})
    return key
