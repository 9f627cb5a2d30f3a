"""Reads of CheckConsistency: expected objects in key order, and facts about streams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.store.checks.stored_objects import ID_MAX, ID_MIN, baby_position, stream_bound
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets
from segments.keys import BABIES_ROOT

ROWS_AT_ONCE = 2_000
# Sorts behind every key in UTF-8.
LAST_KEY = "\U0010ffff"


class Expected(NamedTuple):
    """An object that a row refers to; `must_exist` is false if it may be deleted by now."""

    object_key: str
    subject_id: str
    size_bytes: int
    must_exist: bool


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """The offsets of a stream that decide which of its babies are garbage."""

    deleted_offset: int
    stopped_offset: int | None
    is_retired: bool


# Objects handed out for deletion may be gone, and those written after the listing began are not in
# it.
_SEGMENTS = text("""
    SELECT i.object_key, s.id::text, s.compressed_size_bytes,
           s.created_at < :began
           AND (s.tombstone_version IS NULL OR s.tombstone_version > d.deletion_horizon)
           AND NOT EXISTS (SELECT FROM losses l WHERE l.segment_id = s.id)
    FROM object_identities i JOIN segments s ON s.id = i.segment_id
         JOIN datasets d ON d.key = s.dataset_key
    WHERE i.object_key > :after AND i.object_key <= :through AND i.state = 1
    ORDER BY i.object_key LIMIT :most
""")
# A baby that every dataset has merged may be deleted before its stream's deleted offset shows it.
_BABIES = text(f"""
    WITH page AS MATERIALIZED (
      SELECT * FROM (
        SELECT 'ingest-stream/' || b.stream_id || '/' || lpad(b."offset"::text, 20, '0')
               COLLATE "C" AS object_key, b.stream_id, b."offset", b.size_bytes, b.committed_at
        FROM baby_segments b JOIN ingest_streams s ON s.id = b.stream_id
        WHERE b.stream_id BETWEEN :first AND :last AND b."offset" > s.deleted_offset
          AND (b.stream_id, b."offset") > (:behind, :behind_offset)
        ORDER BY b.stream_id, b."offset") babies
      WHERE object_key > :after AND object_key <= :through LIMIT :most
    ), floors AS MATERIALIZED (
      SELECT k.id, coalesce({merged_offsets.lowest("k.id")}, h.committed_offset) AS merged
      FROM (SELECT DISTINCT stream_id AS id FROM page) k JOIN stream_heads h ON h.stream_id = k.id)
    SELECT object_key, stream_id::text, size_bytes, committed_at < :began AND "offset" > merged
    FROM page JOIN floors ON id = stream_id ORDER BY stream_id, "offset"
""")  # noqa: S608
_STREAMS = text(
    "SELECT id::text, deleted_offset, stopped_offset, retired_at IS NOT NULL"
    " FROM ingest_streams WHERE id = ANY(:ids)"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_CLOCK = text(
    "SELECT clock_timestamp(), (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"
)


def clock(tx: Transaction) -> tuple[datetime, int]:
    """The database's time, also as nanoseconds."""
    moment, nanos = tx.execute(_CLOCK).one()
    return moment, nanos


def expected_segments(tx: Transaction, after: str, through: str, began: datetime) -> list[Expected]:
    """Objects of segments with keys in (after, through], in order, at most ROWS_AT_ONCE."""
    values = {"after": after, "through": through, "began": began, "most": ROWS_AT_ONCE}
    return list(map(Expected._make, tx.execute(_SEGMENTS, values)))


def expected_babies(tx: Transaction, after: str, through: str, began: datetime) -> list[Expected]:
    """Objects of committed, unreaped babies with keys in (after, through], at most ROWS_AT_ONCE."""
    if through <= BABIES_ROOT or after > BABIES_ROOT + LAST_KEY:
        return []
    behind, behind_offset = baby_position(after)
    values = {
        "after": after,
        "through": through,
        "began": began,
        "first": stream_bound(after, ID_MIN),
        "last": stream_bound(through, ID_MAX),
        "behind": behind,
        "behind_offset": behind_offset,
        "most": ROWS_AT_ONCE,
    }
    return list(map(Expected._make, tx.execute(_BABIES, values)))


def stream_facts(tx: Transaction, stream_ids: Sequence[str]) -> dict[str, StreamFacts]:
    """The streams that are known."""
    ids = [UUID(stream_id) for stream_id in stream_ids]
    return {row[0]: StreamFacts(*row[1:]) for row in tx.execute(_STREAMS, {"ids": ids})}
