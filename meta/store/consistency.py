"""Reads of CheckConsistency: expected objects in key order, and rows that contradict each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam, text

from meta.store import object_checks
from meta.store.engine import Transaction
from meta.store.key_positions import ID_MAX, ID_MIN, baby_position, stream_bound
from segments.keys import BABIES_ROOT

ROWS_AT_ONCE = 2_000
FINDINGS_MAX = 1_000
# Behind every key that UTF-8 can spell.
LAST_KEY = "\U0010ffff"


class Expected(NamedTuple):
    """An object that a row refers to; `must_exist` is false where it may be deleted by now."""

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


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    """Rows that contradict one another; `kind` names a FindingKind without its prefix."""

    kind: str
    subject_id: str
    message: str


# What was handed out for deletion may be gone, and what came after the listing began is not in it.
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
_BABIES = text("""
    SELECT * FROM (
        SELECT 'ingest-stream/' || b.stream_id || '/' || lpad(b."offset"::text, 20, '0')
               COLLATE "C" AS object_key,
               b.stream_id::text, b.size_bytes,
               b.committed_at < :began AND b."offset" > coalesce((
                   SELECT min(e.merged_offset) FROM stream_datasets e
                   WHERE e.stream_id = b.stream_id), h.committed_offset)
        FROM baby_segments b JOIN ingest_streams s ON s.id = b.stream_id
             JOIN stream_heads h ON h.stream_id = b.stream_id
        WHERE b.stream_id BETWEEN :first AND :last AND b."offset" > s.deleted_offset
          AND (b.stream_id, b."offset") > (:behind, :behind_offset)
        ORDER BY b.stream_id, b."offset") babies
    WHERE object_key > :after AND object_key <= :through LIMIT :most
""")
_STREAMS = text(
    "SELECT id::text, deleted_offset, stopped_offset, retired_at IS NOT NULL"
    " FROM ingest_streams WHERE id = ANY(:ids)"
).bindparams(bindparam("ids", type_=ARRAY(Uuid)))
_CLOCK = text(
    "SELECT clock_timestamp(), (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"
)
_OFFSET_ORDER = text("""
    SELECT s.id::text, format('deleted %s, merged %s to %s, committed %s, stopped %s',
           s.deleted_offset, e.low, e.high, h.committed_offset, s.stopped_offset)
    FROM ingest_streams s JOIN stream_heads h ON h.stream_id = s.id
    CROSS JOIN LATERAL (
        SELECT min(merged_offset) AS low, max(merged_offset) AS high
        FROM stream_datasets WHERE stream_id = s.id) e
    WHERE s.deleted_offset > coalesce(e.low, h.committed_offset)
       OR e.high > h.committed_offset OR h.committed_offset > s.stopped_offset
    ORDER BY s.id LIMIT :most
""")
# Gaps are real only where nothing was forgotten: above the history floor, without retention.
_OFFSET_CHAIN = text("""
    SELECT stream_id::text, format('dataset %s: a merge ends at %s, the next begins at %s',
           dataset_id, last_end, start_offset)
    FROM (
        SELECT r.stream_id, r.dataset_id, r.start_offset,
               lag(r.end_offset) OVER chain AS last_end, lag(r.version) OVER chain AS last_version
        FROM (SELECT DISTINCT stream_id, dataset_id, start_offset, end_offset, version
              FROM registrations) r
        WINDOW chain AS (PARTITION BY r.stream_id, r.dataset_id ORDER BY r.end_offset)) c
    JOIN datasets d ON d.id = c.dataset_id
    WHERE c.last_end > c.start_offset
       OR (c.last_end < c.start_offset AND c.last_version > (SELECT history_floor FROM meta_state)
           AND coalesce(d.event_retention_secs, 0) = 0
           AND coalesce(d.created_retention_secs, 0) = 0 AND d.purged_at IS NULL
           AND EXISTS (SELECT FROM stream_datasets e WHERE e.stream_id = c.stream_id
                       AND e.dataset_id = c.dataset_id AND e.base_offset < c.last_end))
    LIMIT :most
""")
_DEAD_INPUTS = text("""
    SELECT i.task_id::text, format('its input %s is not live', i.segment_id)
    FROM merge_task_inputs i LEFT JOIN segments s ON s.id = i.segment_id
    WHERE s.id IS NULL OR s.tombstone_version IS NOT NULL
    ORDER BY i.task_id LIMIT :most
""")
_STATS = text("""
    SELECT d.id::text, format('counted %s segments of %s bytes, %s compressed, %s with tombstones, '
           '%s open tasks; kept are %s, %s, %s, %s, %s',
           c.live, c.size, c.compressed, c.every, t.open,
           k.live_segments, k.live_size_bytes, k.live_compressed_size_bytes, k.all_segments,
           k.open_tasks)
    FROM datasets d JOIN dataset_stats k ON k.dataset_key = d.key
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE tombstone_version IS NULL) AS live,
               coalesce(sum(size_bytes) FILTER (WHERE tombstone_version IS NULL), 0) AS size,
               coalesce(sum(compressed_size_bytes) FILTER (WHERE tombstone_version IS NULL), 0)
                   AS compressed,
               count(*) AS every
        FROM segments WHERE dataset_key = d.key) c
    CROSS JOIN LATERAL (
        SELECT count(*) AS open FROM merge_tasks WHERE dataset_key = d.key AND state = 1) t
    WHERE (c.live, c.size, c.compressed, c.every, t.open)
          IS DISTINCT FROM (k.live_segments, k.live_size_bytes::numeric,
              k.live_compressed_size_bytes::numeric, k.all_segments, k.open_tasks)
    ORDER BY d.key LIMIT :most
""")
# What the comparison by object key does not see.
_IDENTITY = text("""
    SELECT s.id::text, format(
           'its object %s/%s is not registered for it, or of another dataset',
           s.prefix, s.object_name)
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.tombstone_version IS NULL AND (
        NOT EXISTS (
            SELECT FROM object_identities i
            WHERE i.object_key = (s.prefix || '/' || s.object_name) COLLATE "C"
              AND i.segment_id = s.id AND i.state = 1)
        OR NOT starts_with(s.prefix || '/' || s.object_name, 'dataset/' || d.id || '/merged/'))
    LIMIT :most
""")
# Over tables of any size, and nobody waits for them.
_PATIENCE = text("SET LOCAL statement_timeout = '30min'")
_NUM_STREAMS = text("SELECT count(*) FROM ingest_streams WHERE retired_at IS NULL")
# Of what readers and nurseries still need.
_DAMAGED = text(f"""
    SELECT coalesce(segment_id, stream_id), object_key || ': ' || damage
    FROM ({object_checks.DAMAGED}) d ORDER BY object_key LIMIT :most
""")  # noqa: S608
_LEDGER = {
    "OFFSET_ORDER": _OFFSET_ORDER,
    "OFFSET_CHAIN": _OFFSET_CHAIN,
    "TASK_INPUT_DEAD": _DEAD_INPUTS,
    "STATS": _STATS,
    "SEGMENT_IDENTITY": _IDENTITY,
    "OBJECT_DAMAGED": _DAMAGED,
}
LEDGER_KINDS = tuple(_LEDGER)


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


def count_streams(tx: Transaction) -> int:
    """Number of streams that are not retired."""
    return int(tx.execute(_NUM_STREAMS).scalar_one())


def stream_facts(tx: Transaction, stream_ids: Sequence[str]) -> dict[str, StreamFacts]:
    """The streams that are known."""
    ids = [UUID(stream_id) for stream_id in stream_ids]
    return {row[0]: StreamFacts(*row[1:]) for row in tx.execute(_STREAMS, {"ids": ids})}


def ledger_findings(tx: Transaction, kind: str) -> Iterator[LedgerFinding]:
    """Rows that contradict one another, of one of LEDGER_KINDS, at most FINDINGS_MAX."""
    tx.execute(_PATIENCE)
    for subject_id, message in tx.execute(_LEDGER[kind], {"most": FINDINGS_MAX}):
        yield LedgerFinding(kind, subject_id, message)
