"""Reads of ExplainMergePlan: live segments with their open task or exclusion."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ARRAY, SmallInteger, Uuid, bindparam, text

from meta.store.access import audit
from meta.store.engine.pool import Transaction
from meta.store.segments import foreign_files
from meta.store.segments.segments import (
    DURATION_CLASS_MAX,
    NUM_COLUMNS,
    ROW_COLUMNS,
    STORED_COLUMNS,
    SegmentRow,
)

# Sorts before every segment.
FIRST = (-(2**63), UUID(int=0))


@dataclass(frozen=True, slots=True)
class ExplainedRow:
    """A live segment, when it was created, and the open task it is an input of, if any."""

    segment: SegmentRow
    created_ns: int
    task_id: UUID | None
    is_excluded: bool


# Each class of duration is read up to the limit, so that no page reads all live segments.
_READ = text(f"""
    SELECT {ROW_COLUMNS}, (extract(epoch FROM s.created_at) * 1000000000)::bigint,
           i.task_id, s.quarantined_at IS NOT NULL
    FROM unnest(cast(:classes AS smallint[])) c (dur_class) CROSS JOIN LATERAL (
            SELECT {STORED_COLUMNS}, created_at, quarantined_at FROM segments
            WHERE dataset_key = :key AND dur_class = c.dur_class AND tombstone_version IS NULL
              AND (start_ns, id) > (:after_ns, :after_id)
            ORDER BY start_ns, id LIMIT :most) s
         JOIN datasets d ON d.key = :key
         LEFT JOIN merge_task_inputs i ON i.segment_id = s.id
    ORDER BY s.start_ns, s.id LIMIT :most
""").bindparams(  # noqa: S608
    bindparam("classes", list(range(DURATION_CLASS_MAX + 1)), type_=ARRAY(SmallInteger)),
    bindparam("after_id", type_=Uuid),
)
_FIND = text("""
    SELECT d.id, s.start_ns FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = :segment AND s.tombstone_version IS NULL AND d.deleted_at IS NULL
""")
_RELEASE = text(
    "UPDATE segments SET quarantined_at = NULL WHERE id = :segment AND quarantined_at IS NOT NULL"
)


def find(tx: Transaction, segment_id: UUID) -> tuple[UUID, int] | None:
    """Return the dataset and start time of a live segment of a live dataset."""
    row = tx.execute(_FIND, {"segment": segment_id}).one_or_none()
    return None if row is None else (row[0], row[1])


def read(
    tx: Transaction, dataset_key: int, most: int, after: tuple[int, UUID] = FIRST
) -> list[ExplainedRow]:
    """Live segments of a dataset by start time and id, behind a pair of these."""
    values = {"key": dataset_key, "most": most, "after_ns": after[0], "after_id": after[1]}
    rows = tx.execute(_READ, values).all()
    return [ExplainedRow(SegmentRow._make(row[:NUM_COLUMNS]), *row[NUM_COLUMNS:]) for row in rows]


def release(tx: Transaction, segment_id: UUID) -> bool:
    """Let an excluded segment be merged again; False if it was not excluded."""
    released = tx.execute(_RELEASE, {"segment": segment_id}).rowcount > 0
    if released:
        foreign_files.read_again(tx, segment_id)
        audit.note(tx, "ReleaseSegment", segment_id)
    return released
