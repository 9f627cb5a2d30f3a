"""Ends of streams: stopped, reaped, their entries removed, retired.

Each locks the head first, as CommitOffset does, then the stream, then its entries.
"""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import text

from meta.errors import MetaError, NotDrained, NotFound, StopMismatch
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets, routing, stream_datasets, streams
from meta.store.streams.streams import Head, Stop, StoredStream
from meta.store.versions import versions

REAPED_AT_ONCE = 1_000
# Stands for the whole stream in stream_removals.
WHOLE_STREAM = UUID(int=0)

# No stamps at all would say that it may hold records of any dataset.
_STOP_MESSAGE = text("""
    INSERT INTO baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records,
      dataset_ids)
    VALUES (:stream, :offset, 0, 0, 0, 0, '{}')
""")
_REAPED = text("""
    WITH page AS (
      SELECT "offset" FROM baby_segments
      -- The reaped ones stay a while, so the range has to start above them.
      WHERE stream_id = :stream AND "offset" > :above AND "offset" <= :through
        AND reaped_at IS NULL
      ORDER BY "offset" LIMIT :most),
    reaped AS (
      UPDATE baby_segments b SET reaped_at = now() FROM page
      WHERE b.stream_id = :stream AND b."offset" = page."offset")
    SELECT count(*), max("offset") FROM page
""")
_REMOVED = text("""
    INSERT INTO stream_removals (version, stream_id, dataset_id, shard_hash)
    VALUES (:version, :stream, :dataset, :shard_hash)
""")
# A baby without stamps went by the routing in force at its offset: per token the last period that
# began at or below it.
_AWAITED = text(
    'SELECT min(b."offset") FROM baby_segments b WHERE b.stream_id = :stream'
    ' AND b."offset" > :deleted AND (:dataset = ANY(b.dataset_ids)'
    " OR (b.dataset_ids IS NULL AND b.num_records > 0 AND EXISTS ("
    "  SELECT FROM (SELECT DISTINCT ON (token_id) logs_dataset_id AS l, traces_dataset_id AS t,"
    "   metrics_dataset_id AS m FROM routing_periods p"
    '   WHERE p.stream_id = b.stream_id AND p.from_offset <= b."offset"'
    "   ORDER BY token_id, from_offset DESC) r WHERE :dataset IN (r.l, r.t, r.m))))"
)


def stop(tx: Transaction, stream_id: UUID, end: Stop) -> None:
    """Close a stream; commits its stop message if that is the next offset.

    Raises NotFound, or StopMismatch with the offset that the stream ended or stands at.
    """
    head, stream = lock(tx, stream_id)
    if stream.stopped_offset is not None:
        if stream.stopped_offset != end.final_offset:
            raise StopMismatch(
                f"the stream stopped at offset {stream.stopped_offset}, not {end.final_offset}",
                stream_id=stream_id,
                stopped_offset=stream.stopped_offset,
            )
        return
    if end.final_offset not in (head.committed_offset, head.committed_offset + 1):
        raise StopMismatch(
            f"the committed offset is {head.committed_offset}, not {end.final_offset}",
            stream_id=stream_id,
            committed_offset=head.committed_offset,
        )
    if end.final_offset > head.committed_offset:
        tx.execute(_STOP_MESSAGE, {"stream": stream_id, "offset": end.final_offset})
        streams.advance(tx, stream_id, end.final_offset)
    streams.stop(tx, stream_id, end)
    _finish(tx, stream)


def reap(
    tx: Transaction, stream_id: UUID, offset: int, ingest_time_nanos: int, *, above: int = -1
) -> int | None:
    """Record that a stream's babies up to an offset are deleted; never backwards.

    The head is locked, so a call marks a page of rows only: it returns the offset above which the
    next call continues, and None once the stream's own offset has moved. Raises NotFound, or
    NotDrained if some entry has not merged so far.
    """
    head, stream = lock(tx, stream_id)
    if offset <= stream.deleted_offset:
        return None
    lowest = merged_offsets.lowest_of(tx, stream_id)
    merged = head.committed_offset if lowest is None else lowest
    if offset > merged:
        raise NotDrained(
            f"babies above {merged} are not merged",
            stream_id=stream_id,
            merged_offset=merged,
            deleted_offset=stream.deleted_offset,
        )
    span = {"above": max(above, stream.deleted_offset), "through": offset}
    count, last = tx.execute(_REAPED, {"stream": stream_id, "most": REAPED_AT_ONCE, **span}).one()
    if count == REAPED_AT_ONCE:
        return int(last)
    streams.reap(tx, stream_id, offset, ingest_time_nanos)
    _finish(tx, stream)
    return None


def remove_entry(tx: Transaction, stream_id: UUID, dataset_id: UUID, merged_offset: int) -> None:
    """Remove an entry for which nothing more comes; one that is not there is fine.

    `merged_offset` is the one that the caller knows. Raises NotDrained.
    """
    try:
        _, stream = lock(tx, stream_id)
    except NotFound:
        return
    locked = stream_datasets.lock(tx, [(stream_id, dataset_id)])
    if not locked:
        return
    refusal = _refusal(tx, stream, dataset_id, locked[stream_id, dataset_id], merged_offset)
    if refusal is not None:
        raise refusal
    streams.note_removal(tx, stream_id)
    stream_datasets.delete_one(tx, stream_id, dataset_id)
    _finish(tx, stream, dataset_id)


def _refusal(
    tx: Transaction, stream: StoredStream, dataset_id: UUID, stored: int, merged_offset: int
) -> MetaError | None:
    """The refusal to remove an entry, or None."""
    ids: Mapping[str, object] = {
        "stream_id": stream.id,
        "dataset_id": dataset_id,
        "merged_offset": stored,
        "deleted_offset": stream.deleted_offset,
    }
    # Babies between the stored and the deleted offset are reaped, so none of them was the entry's.
    if not stored <= stream.deleted_offset == merged_offset:
        return NotDrained(
            f"merged offset {stored} and deleted offset {stream.deleted_offset} are not both"
            f" {merged_offset}",
            **ids,
        )
    values = {"stream": stream.id, "dataset": dataset_id, "deleted": merged_offset}
    awaited = tx.execute(_AWAITED, values).scalar_one()
    if awaited is not None:
        return NotDrained(f"the baby at offset {awaited} is not merged", **ids)
    if merged_offset == stream.stopped_offset:
        return None
    if routing.routes_to(tx, stream.id, dataset_id):
        return NotDrained("a token of the stream still routes to the dataset", **ids)
    return None


def lock(tx: Transaction, stream_id: UUID) -> tuple[Head, StoredStream]:
    """Lock both halves of a stream. Raises NotFound."""
    head = streams.lock_heads(tx, [stream_id]).get(stream_id)
    stream = streams.find_locked(tx, stream_id)
    if head is None or stream is None:
        raise NotFound("there is no such stream", stream_id=stream_id)
    return head, stream


def _finish(tx: Transaction, stream: StoredStream, removed: UUID | None = None) -> None:
    """Retire the stream if it is drained, draw the version, and tell pollers what went."""
    removed_streams = [removed] if removed is not None else []
    if streams.retire_if_drained(tx, stream.id):
        removed_streams.append(WHOLE_STREAM)
    version = versions.allocate(tx)
    streams.stamp(tx, [stream.id], version)
    for dataset_id in removed_streams:
        values = {"version": version, "stream": stream.id, "dataset": dataset_id}
        tx.execute(_REMOVED, {**values, "shard_hash": stream.shard_hash})
