"""Age of the oldest baby segment that a nursery has not merged, as the database has it.

It needs no nursery: those of a shard that nobody holds, or that has a fixed share, are together.
"""

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams.nursery_shards import SHARD_COUNT
from meta.store.versions.clock import NOW

STREAMS_MAX = 20_000
# The holder of the shards that no nursery has leased.
UNLEASED = "unleased"
# A nursery is named by its first shard, since its id is another one at every start. A nursery whose
# lease is over stays in the tables until another one asks for shards.
_READ = text(f"""
    WITH heads AS MATERIALIZED (
      SELECT stream_id, merged_floor FROM stream_heads
      WHERE is_pending AND committed_offset > merged_floor ORDER BY stream_id LIMIT :streams_max
    ), oldest AS MATERIALIZED (
      SELECT s.shard_hash % :shards AS shard, min(b.committed_at) AS committed_at
      FROM heads h CROSS JOIN LATERAL (
          SELECT shard_hash, deleted_offset FROM ingest_streams
          WHERE id = h.stream_id AND retired_at IS NULL OFFSET 0) s
        CROSS JOIN LATERAL (
          SELECT committed_at FROM baby_segments
          WHERE stream_id = h.stream_id AND "offset" > greatest(h.merged_floor, s.deleted_offset)
          ORDER BY "offset" LIMIT 1) b
      GROUP BY 1
    ), holders AS (
      SELECT shard, min(shard) OVER (PARTITION BY nursery_id)::text AS holder
      FROM nursery_shards s JOIN nurseries n ON n.id = s.nursery_id
      WHERE n.lease_until > clock_timestamp()
    )
    SELECT coalesce(h.holder, '{UNLEASED}'),
      coalesce(extract(epoch FROM {NOW} - min(o.committed_at)), 0)::float8
    FROM holders h FULL JOIN oldest o ON o.shard = h.shard GROUP BY 1 ORDER BY 1
""")  # noqa: S608


def read(tx: Transaction) -> dict[str, float]:
    """Return the seconds by nursery, named by the first of its shards; 0 = nothing waits."""
    rows = tx.execute(_READ, {"streams_max": STREAMS_MAX, "shards": SHARD_COUNT})
    return {holder: max(0.0, secs) for holder, secs in rows}
