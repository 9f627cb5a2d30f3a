"""Ingest streams: their collector, their owner, their end, and their retirement.

A stream is two rows: `ingest_streams` (cold) and `stream_heads` (hot). Any change of the rules for
commits (a stop, a new or removed entry) locks the head, as CommitOffset does.

The owner of a stream is the principal whose collector registered it, and no other writes it. A
stream that a caller without a role of its own registered (an admin, or anyone on a server that
needs no credential) has no owner, and any caller that knows its id may continue with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta import access
from meta.access import Principal
from meta.errors import NotFound, RoleRefused
from meta.roles import Role
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.versions.versions import Version
from segments.ids import new_uuid7

# Names hold no control characters, so no owner can spell another's collector.
_SEPARATOR = "\x1f"
# The collector's own name in the column that `key_of` fills.
COLLECTOR_ID_SQL = "substr(s.collector_id, strpos(s.collector_id, chr(31)) + 1)"
_OWNER = text("SELECT principal FROM ingest_streams WHERE id = :id")


def owner_of(caller: Principal) -> str:
    """The owner of streams that a caller registers; "" = nobody."""
    return caller.subject if caller.role is Role.INGEST else ""


def owner_key(owner: str, collector_id: str) -> str:
    """Key that is unique among active streams: the collector's name, in its owner's own space.

    One column of 0.1.0, whose servers find streams without an owner in it as before.
    """
    return f"{owner}{_SEPARATOR}{collector_id}" if owner else collector_id


def check_owner(tx: Transaction, stream_id: UUID) -> None:
    """Raise NotFound or RoleRefused unless the caller may write to a stream."""
    caller = access.current.get()
    if caller.role is not Role.INGEST:
        return
    owner = tx.execute(_OWNER, {"id": stream_id}).scalar_one_or_none()
    if owner is None:
        raise NotFound("there is no such stream", stream_id=stream_id)
    if owner not in ("", caller.subject):
        raise RoleRefused("the stream belongs to another principal", role=caller.role.value)


@dataclass(frozen=True, slots=True)
class Head:
    """The hot half of a stream; committed_offset -1 = none yet."""

    stream_id: UUID
    committed_offset: int
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class StoredStream:
    """The cold half of a stream; stopped_offset is None while it is active."""

    id: UUID
    stopped_offset: int | None
    deleted_offset: int
    shard_hash: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of a stream; stopped_at_nanos None = now, by the database's clock."""

    final_offset: int
    stopped_at_nanos: int | None
    reason: int


_LOCK_HEADS = text(
    "SELECT stream_id, committed_offset, is_stopped FROM stream_heads"
    " WHERE stream_id = ANY(cast(:ids AS uuid[])) ORDER BY stream_id FOR UPDATE"
)
_LOCK_STREAM = text(
    "SELECT id, stopped_offset, deleted_offset, shard_hash FROM ingest_streams"
    " WHERE id = :id FOR UPDATE"
)
_ACTIVE = text(
    "SELECT id FROM ingest_streams WHERE collector_id = :collector AND stopped_offset IS NULL"
)
_INSERT = text("""
    WITH made AS (
      INSERT INTO ingest_streams (id, collector_id, principal, collector_string, shard_hash)
      VALUES (:id, :collector, :owner, :about, :shard_hash)
      ON CONFLICT (collector_id) WHERE stopped_offset IS NULL DO NOTHING RETURNING id)
    INSERT INTO stream_heads (stream_id) SELECT id FROM made RETURNING stream_id
""")
_TOUCH = text("UPDATE stream_heads SET last_activity_at = now() WHERE stream_id = :stream")
_STAMP = text(
    "UPDATE ingest_streams SET changed_version = :version WHERE id = ANY(cast(:ids AS uuid[]))"
)
_STOP = text("""
    UPDATE ingest_streams SET stopped_offset = :final, stop_reason = :reason, stopped_at_nanos =
      coalesce(:at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000)
    WHERE id = :stream
""")
_STOP_HEAD = text("UPDATE stream_heads SET is_stopped = true WHERE stream_id = :stream")
_NOTE_REMOVAL = text(
    "UPDATE stream_heads SET removal_count = removal_count + 1 WHERE stream_id = :stream"
)
_ADVANCE = text("""
    UPDATE stream_heads SET committed_offset = :committed, last_activity_at = clock_timestamp(),
      is_pending = true WHERE stream_id = :stream
""")
_REAP = text("""
    UPDATE ingest_streams SET deleted_offset = :deleted, deleted_ingest_time_nanos = :at
    WHERE id = :stream
""")
_RETIRE = text(
    "UPDATE ingest_streams SET retired_at = now()"
    " WHERE id = :stream AND retired_at IS NULL AND deleted_offset = stopped_offset"
    " AND NOT EXISTS (SELECT FROM stream_datasets WHERE stream_id = :stream)"
    " RETURNING id"
)

# Each counted as far as somebody needs to know.
_SIZE = text("""
    SELECT (SELECT count(*) FROM (
        SELECT FROM stream_datasets WHERE stream_id = :stream LIMIT :most) e),
      (SELECT count(*) FROM (SELECT FROM stream_tokens WHERE stream_id = :stream LIMIT :most) t),
      coalesce((SELECT committed_offset FROM stream_heads WHERE stream_id = :stream), -1)
""")


def size(tx: Transaction, stream_id: UUID, most: int) -> tuple[int, int, int]:
    """Count up to `most` entries and tokens; also the committed offset, -1 = nothing is."""
    entries, tokens, committed = tx.execute(_SIZE, {"stream": stream_id, "most": most}).one()
    return entries, tokens, committed


def find_or_create(
    tx: Transaction, collector_id: str, about: str, owner: str = ""
) -> tuple[UUID, bool]:
    """The active stream of an owner's collector, and whether this call made it.

    A second call for the same collector waits for the first one's commit and finds its stream.
    """
    collector_key = owner_key(owner, collector_id)
    existing_id = tx.execute(_ACTIVE, {"collector": collector_key}).scalar_one_or_none()
    if existing_id is not None:
        return existing_id, False
    stream_id = new_uuid7()
    values = {
        "id": stream_id,
        "collector": collector_key,
        "owner": owner,
        "about": about,
        # The last bits of a version 7 UUID are random.
        "shard_hash": stream_id.int & 0x7FFFFFFF,
    }
    if tx.execute(_INSERT, values).one_or_none() is not None:
        return stream_id, True
    return tx.execute(_ACTIVE, {"collector": collector_key}).scalar_one(), False


def lock_heads(tx: Transaction, stream_ids: Iterable[UUID]) -> dict[UUID, Head]:
    """Lock heads in the order of their ids; unknown streams are skipped."""
    rows = tx.execute(_LOCK_HEADS, {"ids": pg_arrays.uuids(stream_ids)})
    return {row[0]: Head(*row) for row in rows}


def find_locked(tx: Transaction, stream_id: UUID) -> StoredStream | None:
    """Lock the cold half of a stream, after its head."""
    row = tx.execute(_LOCK_STREAM, {"id": stream_id}).one_or_none()
    return None if row is None else StoredStream(*row)


def touch(tx: Transaction, stream_id: UUID) -> None:
    """Record that the collector of a stream is alive."""
    tx.execute(_TOUCH, {"stream": stream_id})


def advance(tx: Transaction, stream_id: UUID, committed_offset: int) -> None:
    """Move the committed offset of a locked head."""
    tx.execute(_ADVANCE, {"stream": stream_id, "committed": committed_offset})


def note_removal(tx: Transaction, stream_id: UUID) -> None:
    """Count on a locked head that an entry was removed."""
    tx.execute(_NOTE_REMOVAL, {"stream": stream_id})


def stop(tx: Transaction, stream_id: UUID, end: Stop) -> None:
    """Close a stream whose both halves are locked."""
    tx.execute(_STOP_HEAD, {"stream": stream_id})
    values = {"final": end.final_offset, "at": end.stopped_at_nanos, "reason": end.reason}
    tx.execute(_STOP, {"stream": stream_id, **values})


def reap(tx: Transaction, stream_id: UUID, deleted_offset: int, ingest_time_nanos: int) -> None:
    """Record how far a locked stream's babies are deleted."""
    values = {"deleted": deleted_offset, "at": ingest_time_nanos}
    tx.execute(_REAP, {"stream": stream_id, **values})


def retire_if_drained(tx: Transaction, stream_id: UUID) -> bool:
    """Retire a locked stream that is stopped, without entries and reaped to its end."""
    return tx.execute(_RETIRE, {"stream": stream_id}).one_or_none() is not None


def stamp(tx: Transaction, stream_ids: Iterable[UUID], version: Version) -> None:
    """Record the version at which locked streams last changed for nurseries."""
    tx.execute(_STAMP, {"ids": pg_arrays.uuids(stream_ids), "version": version})
