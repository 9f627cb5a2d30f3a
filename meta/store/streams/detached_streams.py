"""Active streams of a restored database, which no starting collector continues.

The database has forgotten the last offsets of these streams, and babies at them may be merged and
deleted by now. A collector that starts does not know them either: its records would take such an
offset, and a merged segment could not be distinguished from what a baby at it holds. So a restore
detaches all active streams, and a collector that starts registers another one. One that runs goes
on, because it knows its offsets. `segplane catalog reconcile` attaches or ends them.
"""

from uuid import UUID

from sqlalchemy import text

from meta.errors import StopMismatch
from meta.store.engine.pool import Transaction

# Behind a stream's id no collector's name finds the stream, and the name still shows.
IS_DETACHED = "starts_with({0}.collector_id, {0}.id::text || chr(31))"
_NAME = "substr({0}.collector_id, strpos({0}.collector_id, chr(31)) + 1)"
# The key by which a collector finds its stream: see streams.owner_key.
ATTACHED_KEY = (
    f"CASE WHEN {{0}}.principal = '' THEN {_NAME} ELSE {{0}}.principal || chr(31) || {_NAME} END"
)
_DETACH = text(f"""
    UPDATE ingest_streams s SET collector_id = s.id::text || chr(31) || {_NAME.format("s")},
      changed_version = (SELECT version FROM meta_state)
    WHERE stopped_offset IS NULL AND NOT {IS_DETACHED.format("s")}
""")  # noqa: S608
_OF_DATASET = text(f"""
    SELECT s.id FROM stream_datasets e CROSS JOIN LATERAL (
      SELECT * FROM ingest_streams WHERE id = e.stream_id OFFSET 0) s
    WHERE e.dataset_id = :dataset AND s.stopped_offset IS NULL AND {IS_DETACHED.format("s")}
    ORDER BY s.id LIMIT :most
""")  # noqa: S608
_IS_DETACHED = text(
    f"SELECT {IS_DETACHED.format('s')} FROM ingest_streams s WHERE s.id = :stream"  # noqa: S608
)


def check_may_end(tx: Transaction, stream_id: UUID) -> None:
    """Raise StopMismatch for a detached stream, whose end a nursery cannot see."""
    if tx.execute(_IS_DETACHED, {"stream": stream_id}).scalar_one_or_none():
        raise StopMismatch("the stream waits for `segplane catalog reconcile`", stream_id=stream_id)


def detach_all(tx: Transaction) -> int:
    """Detach every active stream from its collector; returns their number."""
    return tx.execute(_DETACH).rowcount


def of_dataset(tx: Transaction, dataset_id: UUID, most: int) -> list[UUID]:
    """Return some detached streams with an entry of a dataset, by id."""
    return list(tx.execute(_OF_DATASET, {"dataset": dataset_id, "most": most}).scalars())
