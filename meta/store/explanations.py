"""Reads of ExplainMergePlan: live segments with their open task or quarantine."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store import audit
from meta.store.engine import Transaction
from meta.store.segment_rows import NUM_COLUMNS, ROW_COLUMNS, SegmentRow


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    """A live segment, when it was created, and the open task it is an input of, if any."""

    segment: SegmentRow
    created_ns: int
    task_id: UUID | None
    is_quarantined: bool


_READ = text(f"""
    SELECT {ROW_COLUMNS}, (extract(epoch FROM s.created_at) * 1000000000)::bigint,
           i.task_id, s.quarantined_at IS NOT NULL
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
         LEFT JOIN merge_task_inputs i ON i.segment_id = s.id
    WHERE s.dataset_key = :key AND s.tombstone_version IS NULL
    ORDER BY s.start_ns, s.id LIMIT :most
""")  # noqa: S608
_RELEASE = text(
    "UPDATE segments SET quarantined_at = NULL WHERE id = :segment AND quarantined_at IS NOT NULL"
)


def read(tx: Transaction, dataset_key: int, most: int) -> list[ExplainedRow]:
    """Live segments of a dataset by start time."""
    rows = tx.execute(_READ, {"key": dataset_key, "most": most}).all()
    return [ExplainedRow(SegmentRow._make(row[:NUM_COLUMNS]), *row[NUM_COLUMNS:]) for row in rows]


def release(tx: Transaction, segment_id: UUID) -> bool:
    """Let a quarantined segment be merged again; False if it was not in quarantine."""
    released = tx.execute(_RELEASE, {"segment": segment_id}).rowcount > 0
    if released:
        audit.note(tx, "ReleaseSegment", segment_id)
    return released
