"""Floors of streams and stored offsets of entries, raised to what is implied.

Neither changes a reply: a floor shortens searches, a stored offset is for servers of release 0.2.0.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams.merged_offsets import SECONDS, lowest_in
from meta.store.versions.clock import ago

HEADS_AT_ONCE = 200
_LOCK_PENDING = text("""
    SELECT stream_id FROM stream_heads WHERE stream_id = ANY(:ids) AND is_pending
    FOR UPDATE SKIP LOCKED
""")
# A statement of its own: its snapshot is younger than the locks, so it sees every commit and entry.
_RAISE = text(f"""
    UPDATE stream_heads h
    SET merged_floor = greatest(h.merged_floor, f.floor), is_pending = f.floor < h.committed_offset
    FROM (SELECT s.id, {lowest_in("s", "x")} AS floor FROM ingest_streams s
          JOIN stream_heads x ON x.stream_id = s.id
          WHERE s.id = ANY(cast(:ids AS uuid[]))) f
    WHERE h.stream_id = f.id AND (f.floor > h.merged_floor OR f.floor = h.committed_offset)
    RETURNING is_pending
""")  # noqa: S608
# Due: the first baby above the stored offset was reaped a while ago, or is forgotten already.
_REBASE = text(f"""
    UPDATE stream_datasets e SET merged_offset = p.deleted_offset, base_offset = p.deleted_offset,
      merged_ingest_time_nanos = coalesce((
        SELECT {SECONDS.format("b.committed_at")} FROM baby_segments b
        WHERE b.stream_id = p.stream_id AND b."offset" = p.deleted_offset),
        e.merged_ingest_time_nanos)
    FROM (
      SELECT due.stream_id, due.dataset_id, s.deleted_offset
      FROM unnest(cast(:streams AS uuid[]), cast(:datasets AS uuid[])) AS page (s, d)
        -- Looked up, so that the page leads.
        CROSS JOIN LATERAL (SELECT * FROM ingest_streams WHERE id = page.s OFFSET 0) s
        CROSS JOIN LATERAL (
          SELECT stream_id, dataset_id FROM stream_datasets x
          WHERE x.stream_id = page.s AND x.dataset_id = page.d
            AND x.merged_offset < s.deleted_offset AND NOT EXISTS (
              SELECT FROM baby_segments b
              WHERE b.stream_id = x.stream_id AND b."offset" = x.merged_offset + 1
                AND b.reaped_at >= {ago(":age")})
          OFFSET 0) due
      FOR UPDATE OF due SKIP LOCKED) p
    WHERE e.stream_id = p.stream_id AND e.dataset_id = p.dataset_id
""")  # noqa: S608


def raise_floors(tx: Transaction, stream_ids: Sequence[UUID]) -> int:
    """Raise the floors of streams with a backlog; returns how many have none any more."""
    ids = list(tx.execute(_LOCK_PENDING, {"ids": list(stream_ids)}).scalars())
    if not ids:
        return 0
    return list(tx.execute(_RAISE, {"ids": ids}).scalars()).count(False)


def rebase(tx: Transaction, keys: Sequence[tuple[UUID, UUID]], age_secs: float) -> int:
    """Store the reaped offset for those of some entries that are far behind it; returns how many.

    A server of release 0.2.0 reads stored offsets, and would look for babies that are reaped and
    forgotten.
    """
    streams, datasets = [key[0] for key in keys], [key[1] for key in keys]
    values = {"streams": streams, "datasets": datasets, "age": age_secs}
    return tx.execute(_REBASE, values).rowcount
