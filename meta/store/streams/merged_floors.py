"""Floors of streams, raised to what is implied: no reply changes, and searches are shorter."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams.merged_offsets import lowest_in

HEADS_AT_ONCE = 200
_LOCK_PENDING = text("""
    SELECT stream_id FROM stream_heads WHERE stream_id = ANY(:ids) AND is_pending
    FOR UPDATE SKIP LOCKED
""")
# Its own statement: its snapshot is younger than the locks, so it sees every commit and entry.
_RAISE = text(f"""
    UPDATE stream_heads h
    SET merged_floor = greatest(h.merged_floor, f.floor), is_pending = f.floor < h.committed_offset
    FROM (SELECT s.id, {lowest_in("s", "x")} AS floor FROM unnest(cast(:ids AS uuid[])) AS w (id)
            -- Looked up: a join might read the heads of all streams.
            CROSS JOIN LATERAL (SELECT * FROM ingest_streams WHERE id = w.id OFFSET 0) s
            CROSS JOIN LATERAL (SELECT * FROM stream_heads WHERE stream_id = w.id OFFSET 0) x) f
    WHERE h.stream_id = f.id AND h.stream_id = ANY(cast(:ids AS uuid[]))
      AND (f.floor > h.merged_floor OR f.floor = h.committed_offset)
    RETURNING is_pending
""")  # noqa: S608


def raise_floors(tx: Transaction, stream_ids: Sequence[UUID]) -> int:
    """Raise the floors of streams with a backlog; returns how many have none any more."""
    ids = list(tx.execute(_LOCK_PENDING, {"ids": list(stream_ids)}).scalars())
    if not ids:
        return 0
    return list(tx.execute(_RAISE, {"ids": ids}).scalars()).count(False)
