"""Content of the stages of the pipeline, each looked at up to a bound."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.segments import stats

STREAMS_MAX = 20_000
BABIES_MAX = 100_000
TASKS_MAX = 2_000
TOMBSTONED_MAX = 2_000


@dataclass(frozen=True, slots=True)
class StageContent:
    """Items of a stage; the time in nanoseconds, 0 = none."""

    items: int
    size_bytes: int
    oldest_nanos: int
    is_at_least: bool


_OLDEST = "coalesce((extract(epoch FROM min({})) * 1000000)::bigint * 1000, 0)"
# Above the floor of a stream, which is raised every 15 s, some dataset may not have merged.
_COMMITTED = text(f"""
    WITH pending AS MATERIALIZED (
      SELECT h.stream_id, h.committed_offset, greatest(h.merged_floor, s.deleted_offset) AS floor
      FROM (SELECT * FROM stream_heads WHERE is_pending AND committed_offset > merged_floor
            ORDER BY stream_id LIMIT :streams_max) h
        CROSS JOIN LATERAL (
          SELECT deleted_offset, retired_at FROM ingest_streams WHERE id = h.stream_id OFFSET 0) s
      WHERE s.retired_at IS NULL
    ), share AS MATERIALIZED (
      SELECT cast(:babies_max AS bigint) / greatest(count(*), 1) AS most FROM pending
    )
    SELECT coalesce(sum(b.items), 0)::bigint, coalesce(sum(b.size_bytes), 0)::bigint,
      {_OLDEST.format("b.oldest")},
      coalesce(bool_or(b.last < p.committed_offset), false)
        OR (SELECT count(*) FROM pending) >= :streams_max
    FROM pending p CROSS JOIN LATERAL (
      SELECT count(*) AS items, sum(size_bytes) AS size_bytes, min(committed_at) AS oldest,
        max("offset") AS last
      FROM (SELECT * FROM baby_segments WHERE stream_id = p.stream_id AND "offset" > p.floor
            ORDER BY "offset" LIMIT (SELECT most FROM share)) w) b
""")  # noqa: S608
_COMPACTING = text(f"""
    SELECT coalesce(sum(segment_count), 0)::bigint,
      coalesce(sum(total_compressed_size), 0)::bigint, {_OLDEST.format("created_at")},
      count(*) >= :most
    FROM (SELECT * FROM merge_tasks WHERE state = 1 ORDER BY dataset_key, id LIMIT :most) t
""")  # noqa: S608
_TOMBSTONED = text(f"""
    SELECT count(*), coalesce(sum(compressed_size_bytes), 0)::bigint,
      {_OLDEST.format("tombstone_at")}, count(*) >= :most
    FROM (SELECT compressed_size_bytes, tombstone_at FROM segments
          WHERE tombstone_version IS NOT NULL ORDER BY dataset_key, tombstone_at, id
          LIMIT :most) s
""")  # noqa: S608


def committed(tx: Transaction) -> StageContent:
    """Baby segments that some dataset has not merged."""
    values = {"streams_max": STREAMS_MAX, "babies_max": BABIES_MAX}
    return StageContent(*tx.execute(_COMMITTED, values).one())


def compacting(tx: Transaction) -> StageContent:
    """Inputs of open merge tasks."""
    return StageContent(*tx.execute(_COMPACTING, {"most": TASKS_MAX}).one())


def visible(tx: Transaction) -> StageContent:
    """Live segments of live datasets, from their counters."""
    totals = stats.read(tx, None)
    return StageContent(totals.live_segments, totals.live_compressed_size_bytes, 0, False)


def tombstoned(tx: Transaction) -> StageContent:
    """Tombstoned segments whose objects are not deleted yet."""
    return StageContent(*tx.execute(_TOMBSTONED, {"most": TOMBSTONED_MAX}).one())
