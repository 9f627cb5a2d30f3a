"""What ExplainMergePlan reads: live segments with the task or quarantine that holds them."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.store import audit
from meta.store.engine import Transaction


class ExplainedRow(NamedTuple):
    """A live segment; times in nanoseconds, None = in no task."""

    id: UUID
    dataset_id: UUID
    start_ns: int
    end_ns: int
    size_bytes: int
    compressed_size_bytes: int
    number_of_events: int
    prefix: str
    object_name: str
    created_version: int
    tombstone_version: int | None
    merge_count: int
    created_ns: int
    task_id: UUID | None
    is_quarantined: bool


_READ = text("""
    SELECT s.id, d.id, s.start_ns, s.end_ns, s.size_bytes, s.compressed_size_bytes,
           s.number_of_events, s.prefix, s.object_name, s.created_version, s.tombstone_version,
           s.merge_count, (extract(epoch FROM s.created_at) * 1000000000)::bigint,
           i.task_id, s.quarantined_at IS NOT NULL
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
         LEFT JOIN merge_task_inputs i ON i.segment_id = s.id
    WHERE s.dataset_key = :key AND s.tombstone_version IS NULL
    ORDER BY s.start_ns, s.id LIMIT :most
""")
_RELEASE = text(
    "UPDATE segments SET quarantined_at = NULL WHERE id = :segment AND quarantined_at IS NOT NULL"
)


def read(tx: Transaction, dataset_key: int, most: int) -> list[ExplainedRow]:
    """Live segments of a dataset by start time."""
    rows = tx.execute(_READ, {"key": dataset_key, "most": most}).all()
    return list(map(ExplainedRow._make, rows))


def release(tx: Transaction, segment_id: UUID) -> bool:
    """Let a quarantined segment be merged again; False if it was not in quarantine."""
    released = tx.execute(_RELEASE, {"segment": segment_id}).rowcount > 0
    if released:
        audit.note(tx, "ReleaseSegment", segment_id)
    return released
