"""Rows that contradict one another: the checks of CheckConsistency that need no listing.

Each check goes through its table in the order of a key, in pages: a statement reads a bounded
number of rows, however many there are. Rows that change during a check are judged in one page or
the next.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from sqlalchemy import TextClause, text

from meta.store.checks import object_checks, recounts
from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets
from segments.inventory.findings import Finding

ROWS_AT_ONCE = 10_000
FINDINGS_MAX = 1_000
# The key behind which a page begins; the columns are those of the check's table.
Position: TypeAlias = tuple[Any, ...]
_NIL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Findings of a page, and the beginning of the next; None after the last one."""

    findings: tuple[Finding, ...]
    next_position: Position | None


@dataclass(frozen=True, slots=True)
class _Check:
    """A check of a table in pages of its key: from behind `:a0, ...` to `:z0, ...`.

    `last` is behind every key. Rows of other tables are looked up one by one: a join might read
    these tables from their beginning.
    """

    table: str
    key: str
    first: Position
    last: Position
    find: TextClause
    # Whether a page begins with the last row of the one before.
    overlaps: bool = False

    def end(self) -> TextClause:
        """Find the last key of a page that is not the last one."""
        names = ", ".join(f":a{index}" for index in range(len(self.first)))
        return text(
            f"SELECT {self.key} FROM {self.table}"  # noqa: S608
            f" WHERE ({self.key}) {'>=' if self.overlaps else '>'} ({names})"
            f" ORDER BY {self.key} OFFSET :skip LIMIT 1"
        )


_UUID_MAX = UUID(int=2**128 - 1)
_INT64_MAX, _INT16_MAX = 2**63 - 1, 2**15 - 1
_OFFSET_ORDER = _Check(
    "ingest_streams",
    "id",
    (_NIL,),
    (_UUID_MAX,),
    text(f"""
    SELECT s.id::text, format('deleted %s, merged %s to %s, committed %s, stopped %s',
           s.deleted_offset, e.low, e.high, h.committed_offset, s.stopped_offset)
    FROM ingest_streams s
    CROSS JOIN LATERAL (
        SELECT * FROM stream_heads WHERE stream_id = s.id OFFSET 0) h
    CROSS JOIN LATERAL (
        SELECT {merged_offsets.lowest_in("s", "h")} AS low, max(merged_offset) AS high
        FROM stream_datasets WHERE stream_id = s.id) e
    WHERE s.id > :a0 AND s.id <= :z0
      AND (s.deleted_offset > coalesce(e.low, h.committed_offset)
           OR e.high > h.committed_offset OR h.committed_offset > s.stopped_offset)
    ORDER BY s.id LIMIT :most
    """),  # noqa: S608
)
# The last row of a page is the first of the next one, so each is compared with the one before it.
# Gaps are real only if nothing was forgotten: above the history floor, without retention. The rows
# of one version are one step: those of a rebuild name the offsets of each live segment, and
# segments of different days hold parts of the same babies. A registration that began at an implied
# offset went on from the stored one, and no baby in between is of its dataset.
_CHAIN_KEY = 'stream_id, dataset_id, end_offset, "part"'
_OFFSET_CHAIN = _Check(
    "registrations",
    _CHAIN_KEY,
    (_NIL, _NIL, -1, -1),
    (_UUID_MAX, _UUID_MAX, _INT64_MAX, _INT16_MAX),
    text(f"""
    SELECT stream_id::text, format('dataset %s: a merge ends at %s, the next begins at %s',
           dataset_id, coalesce(last_end, moved_from), start_offset)
    FROM (
        SELECT r.stream_id, r.dataset_id, r.start_offset, r.moved_from,
               coalesce(r.moved_from, r.start_offset) AS stored_offset,
               lag(r.end_offset) OVER chain AS last_end, lag(r.version) OVER chain AS last_version
        FROM (SELECT stream_id, dataset_id, version, min(start_offset) AS start_offset,
                     min(moved_from) AS moved_from, max(end_offset) AS end_offset
              FROM registrations
              WHERE ({_CHAIN_KEY}) >= (:a0, :a1, :a2, :a3)
                AND ({_CHAIN_KEY}) <= (:z0, :z1, :z2, :z3)
              GROUP BY stream_id, dataset_id, version) r
        WINDOW chain AS (PARTITION BY r.stream_id, r.dataset_id ORDER BY r.end_offset)) c
    JOIN datasets d ON d.id = c.dataset_id
    WHERE c.last_end > c.stored_offset
       OR EXISTS (SELECT FROM baby_segments b WHERE b.stream_id = c.stream_id
                  AND b."offset" > c.moved_from AND b."offset" <= c.start_offset
                  AND c.dataset_id = ANY(b.dataset_ids))
       OR (c.last_end < c.stored_offset AND c.last_version > (SELECT history_floor FROM meta_state)
           AND coalesce(d.event_retention_secs, 0) = 0
           AND coalesce(d.created_retention_secs, 0) = 0 AND d.purged_at IS NULL
           AND (SELECT e.base_offset < c.last_end FROM stream_datasets e
                WHERE e.stream_id = c.stream_id AND e.dataset_id = c.dataset_id))
    LIMIT :most
    """),  # noqa: S608
    overlaps=True,
)
_DEAD_INPUTS = _Check(
    "merge_task_inputs",
    "segment_id",
    (_NIL,),
    (_UUID_MAX,),
    text("""
    SELECT i.task_id::text, format('its input %s is not live', i.segment_id)
    FROM merge_task_inputs i
    WHERE i.segment_id > :a0 AND i.segment_id <= :z0
      AND (SELECT s.tombstone_version IS NULL FROM segments s WHERE s.id = i.segment_id) IS NOT TRUE
    ORDER BY i.segment_id LIMIT :most
    """),
)
# Faults that the comparison by object key does not see.
_IDENTITY = _Check(
    "segments",
    "id",
    (_NIL,),
    (_UUID_MAX,),
    text("""
    SELECT s.id::text, format(
           'its object %s/%s is not registered for it, or of another dataset',
           s.prefix, s.object_name)
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id > :a0 AND s.id <= :z0 AND s.tombstone_version IS NULL AND (
        (SELECT i.segment_id = s.id AND i.state = 1 FROM object_identities i
         WHERE i.object_key = (s.prefix || '/' || s.object_name) COLLATE "C") IS NOT TRUE
        OR NOT starts_with(s.prefix || '/' || s.object_name, 'dataset/' || d.id || '/merged/'))
    ORDER BY s.id LIMIT :most
    """),
)
# Damage to objects that readers and nurseries still need.
_DAMAGED = _Check(
    "damaged_objects",
    "object_key",
    ("",),
    ("\U0010ffff",),
    text(f"""
    SELECT coalesce(segment_id, stream_id), object_key || ': ' || damage
    FROM ({object_checks.DAMAGED}) d WHERE object_key > :a0 AND object_key <= :z0
    ORDER BY object_key LIMIT :most
    """),  # noqa: S608
)
# The index of streams that are not retired is avoided, because it has another order.
_NUM_STREAMS = text("""
    SELECT count(*) FILTER (WHERE retired_at IS NULL) FROM (
        SELECT retired_at FROM ingest_streams WHERE id > :a0 AND id <= :z0 ORDER BY id OFFSET 0) s
""")
_CHECKS = {
    "OFFSET_ORDER": _OFFSET_ORDER,
    "OFFSET_CHAIN": _OFFSET_CHAIN,
    "TASK_INPUT_DEAD": _DEAD_INPUTS,
    "SEGMENT_IDENTITY": _IDENTITY,
    "OBJECT_DAMAGED": _DAMAGED,
}
KINDS = (*_CHECKS, "STATS")


def read_page(
    tx: Transaction,
    kind: str,
    position: Position | None,
    most: int,
    *,
    rows_at_once: int = ROWS_AT_ONCE,
) -> LedgerPage:
    """The page of one of KINDS behind a position (None: the first), with `most` findings at most.

    The transaction is a read: all statements of a page see one snapshot.
    """
    if kind == "STATS":
        return _statistics(tx, position, rows_at_once)
    check = _CHECKS[kind]
    after = check.first if position is None else position
    end = _end(tx, check, after, rows_at_once)
    values = {**_named("a", after), **_named("z", end or check.last), "most": most}
    rows = tx.execute(check.find, values)
    findings = tuple(Finding(kind, message, "", subject) for subject, message in rows)
    return LedgerPage(findings, end)


def count_streams(
    tx: Transaction, position: Position | None, *, rows_at_once: int = ROWS_AT_ONCE
) -> tuple[int, Position | None]:
    """Count the streams of a page that are not retired; also the position of the next page."""
    after = _OFFSET_ORDER.first if position is None else position
    end = _end(tx, _OFFSET_ORDER, after, rows_at_once)
    values = {**_named("a", after), **_named("z", end or _OFFSET_ORDER.last)}
    return int(tx.execute(_NUM_STREAMS, values).scalar_one()), end


def _end(tx: Transaction, check: _Check, after: Position, rows_at_once: int) -> Position | None:
    """The last key of a page, None if the page is not full and so the last one."""
    values = {**_named("a", after), "skip": rows_at_once - 1}
    row = tx.execute(check.end(), values).one_or_none()
    return None if row is None else tuple(row)


def _statistics(tx: Transaction, position: Position | None, rows_at_once: int) -> LedgerPage:
    """Recount one dataset; the positions are keys of datasets."""
    kept = recounts.next_dataset(tx, 0 if position is None else position[0])
    if kept is None:
        return LedgerPage((), None)
    counted = recounts.count(tx, kept.key, rows_at_once)
    findings: tuple[Finding, ...] = ()
    if not kept.equals(counted):
        message = f"counted {recounts.describe(counted)}; kept {recounts.describe(kept.totals)}"
        findings = (Finding("STATS", message, "", str(kept.dataset_id)),)
    return LedgerPage(findings, (kept.key,))


def _named(letter: str, position: Position) -> dict[str, Any]:
    return {f"{letter}{index}": value for index, value in enumerate(position)}
