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
