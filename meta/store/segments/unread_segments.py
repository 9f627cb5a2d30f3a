"""Live segments that were registered without facts, until somebody has read their footers."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, SmallInteger, Uuid, bindparam, text

from meta.store.engine.pool import Transaction
from meta.store.segments.segments import ROW_COLUMNS, SegmentRow

ID_MIN = UUID(int=0)
# Facts of a segment whose footer does not tell them.
UNTOLD = b""


@dataclass(frozen=True, slots=True)
class FactsRow:
    """Facts to store: a serialized SegmentFacts or UNTOLD, and bit n set for signal n."""

    segment_id: UUID
    facts: bytes
    signals: int | None


# The conditions of segments_unread_index.
_LIST = text(f"""
    SELECT {ROW_COLUMNS} FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.facts IS NULL AND s.tombstone_version IS NULL AND s.id > :after
    ORDER BY s.id LIMIT :most
""")  # noqa: S608
# Without a wait: a merge that completes locks its inputs in another order. A segment that is
# skipped is listed again.
_LOCK = text(f"""
    SELECT {ROW_COLUMNS} FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = ANY(:ids) AND s.facts IS NULL AND s.tombstone_version IS NULL
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED
""").bindparams(bindparam("ids", type_=ARRAY(Uuid)))  # noqa: S608
_STORE = text("""
    UPDATE segments SET facts = new.facts, signals = new.signals
    FROM unnest(:ids, :facts, :signals) AS new (id, facts, signals) WHERE segments.id = new.id
""").bindparams(
    bindparam("ids", type_=ARRAY(Uuid)),
    bindparam("facts", type_=ARRAY(LargeBinary)),
    bindparam("signals", type_=ARRAY(SmallInteger)),
)


def list_unread(tx: Transaction, after: UUID, most: int) -> list[SegmentRow]:
    """Up to `most` live segments without facts behind `after`, by id."""
    return list(map(SegmentRow._make, tx.execute(_LIST, {"after": after, "most": most})))


def lock(tx: Transaction, ids: Sequence[UUID]) -> list[SegmentRow]:
    """Lock those that are live and without facts still, and that nobody else has locked."""
    return list(map(SegmentRow._make, tx.execute(_LOCK, {"ids": list(ids)})))


def store(tx: Transaction, rows: Sequence[FactsRow]) -> None:
    """Store facts of locked segments."""
    if rows:
        values = {
            "ids": [row.segment_id for row in rows],
            "facts": [row.facts for row in rows],
            "signals": [row.signals for row in rows],
        }
        tx.execute(_STORE, values)
