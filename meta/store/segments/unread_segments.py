"""Live segments that were registered without facts, until somebody has read their footers.

Objects that a client registered also get a state (`meta.store.segments.foreign_files`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.segments.foreign_files import UNREAD, UNREADABLE, WAS_SAVED, unread_file
from meta.store.segments.segments import ROW_COLUMNS, SegmentRow

ID_MIN = UUID(int=0)
# Facts of a segment whose footer does not tell them.
UNTOLD = b""


@dataclass(frozen=True, slots=True)
class FactsRow:
    """Facts to store: a serialized SegmentFacts or UNTOLD, and bit n set for signal n.

    `foreign_state` and `foreign_file` are those of an object that is not a segment, None for one.
    """

    segment_id: UUID
    facts: bytes
    signals: int | None
    foreign_state: int | None = None
    foreign_file: bytes | None = None


# Servers of 0.2.0 register without a state.
_COLUMNS = ROW_COLUMNS.replace(
    "s.foreign_file",
    f"coalesce(s.foreign_file, CASE WHEN {WAS_SAVED} THEN cast(:unread_file AS bytea) END)",
)
# The conditions of segments_unread_index and segments_foreign_index. A janitor of 0.2.0 records
# that it read an object and leaves its state.
_LIST = text(f"""
    SELECT {_COLUMNS} FROM (
        (SELECT * FROM segments WHERE facts IS NULL AND tombstone_version IS NULL AND id > :after
         ORDER BY id LIMIT :most)
        UNION
        (SELECT * FROM segments WHERE foreign_state = {UNREAD} AND tombstone_version IS NULL
         AND id > :after ORDER BY id LIMIT :most)
    ) s JOIN datasets d ON d.key = s.dataset_key
    ORDER BY s.id LIMIT :most
""")  # noqa: S608
_LIST_UNREADABLE = text(f"""
    SELECT {ROW_COLUMNS} FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.foreign_state = {UNREADABLE} AND s.tombstone_version IS NULL AND s.id > :after
    ORDER BY s.id LIMIT :most
""")  # noqa: S608
# It does not wait, because a merge that completes locks its inputs in another order. A segment that
# is skipped is listed again.
_LOCK = text(f"""
    SELECT {_COLUMNS} FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = ANY(cast(:ids AS uuid[])) AND (s.facts IS NULL OR s.foreign_state = 1)
      AND s.tombstone_version IS NULL
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED
""")  # noqa: S608
_STORE = text("""
    UPDATE segments SET facts = new.facts, signals = new.signals, foreign_state = new.state,
      foreign_file = new.file,
      quarantined_at = CASE WHEN new.state = 3 THEN coalesce(quarantined_at, clock_timestamp())
                            ELSE quarantined_at END
    FROM unnest(cast(:ids AS uuid[]), cast(:facts AS bytea[]), cast(:signals AS smallint[]),
                cast(:states AS smallint[]), cast(:files AS bytea[]))
      AS new (id, facts, signals, state, file)
    WHERE segments.id = new.id
""")


def list_unread(tx: Transaction, after: UUID, most: int) -> list[SegmentRow]:
    """Up to `most` live segments without facts behind `after`, by id."""
    values = {"after": after, "most": most, "unread_file": unread_file()}
    return list(map(SegmentRow._make, tx.execute(_LIST, values)))


def list_unreadable(tx: Transaction, after: UUID, most: int) -> list[SegmentRow]:
    """Up to `most` live segments that readers skip, behind `after`, by id."""
    values = {"after": after, "most": most}
    return list(map(SegmentRow._make, tx.execute(_LIST_UNREADABLE, values)))


def lock(tx: Transaction, ids: Sequence[UUID]) -> list[SegmentRow]:
    """Lock those that are live and without facts still, and that nobody else has locked."""
    values = {"ids": list(ids), "unread_file": unread_file()}
    return list(map(SegmentRow._make, tx.execute(_LOCK, values)))


def store(tx: Transaction, rows: Sequence[FactsRow]) -> None:
    """Store facts of locked segments."""
    if rows:
        values = {
            "ids": [row.segment_id for row in rows],
            "facts": [row.facts for row in rows],
            "signals": [row.signals for row in rows],
            "states": [row.foreign_state for row in rows],
            "files": [row.foreign_file for row in rows],
        }
        tx.execute(_STORE, values)
