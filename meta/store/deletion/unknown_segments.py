"""Proof that records of merged segments without a row are held elsewhere.

That no row names an object says nothing about it: the database may be older than the object, after
a restore. Rows must say that the babies it was made of are merged, and then the segments that are
live in its time range hold its records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.deletion import kept_files
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.locks.held_datasets import is_held
from meta.store.versions.clock import ago
from segments.keys import AttemptKey, MergedKey, join_key, parse_key

HOLDERS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class UnknownSegment:
    """Content of a footer: the last offset of each stream, and time bounds in nanoseconds.

    `modified_at_nanos` is the time of the object by the store's clock.
    """

    object_key: str
    stream_ends: Mapping[UUID, int]
    start_ns: int
    end_ns: int
    modified_at_nanos: int


# From the first step of a purge on, nobody can bring the dataset back.
_PURGED = text(
    "SELECT id::text FROM datasets WHERE id = ANY(cast(:ids AS uuid[])) AND purged_at IS NOT NULL"
)
_DATASET = text(f"""
    SELECT key, end_ns < (extract(epoch FROM {ago("nullif(event_retention_secs, 0)")})
                          * 1000000000)::bigint AND NOT {is_held("datasets")}
    FROM datasets, (SELECT cast(:end_ns AS bigint) AS end_ns) AS segment
    WHERE id = :dataset AND deleted_at IS NULL
""")  # noqa: S608
# An entry, a registration of a segment that still has a descendant, or the end of a stream that
# retired says that a dataset has merged a stream so far.
_NUM_MERGED = text("""
    SELECT count(*) FROM unnest(cast(:streams AS uuid[]), cast(:lasts AS bigint[])) AS k (s, last)
    WHERE EXISTS (SELECT FROM stream_datasets e WHERE e.stream_id = s
                  AND e.dataset_id = :dataset AND e.merged_offset >= last)
       OR EXISTS (SELECT FROM registrations r WHERE r.stream_id = s
                  AND r.dataset_id = :dataset AND r.end_offset >= last)
       OR EXISTS (SELECT FROM ingest_streams i WHERE i.id = s
                  AND i.retired_at IS NOT NULL AND i.stopped_offset >= last)
""")
# A hidden segment may have held the records, and the object be the last that does.
_IS_HIDDEN = text("""
    SELECT EXISTS (SELECT FROM segments s JOIN losses l ON l.segment_id = s.id
                   WHERE s.dataset_key = :key AND s.tombstone_version IS NOT NULL
                     AND s.start_ns <= :end_ns AND s.end_ns >= :start_ns)
""")
# After a restore a collector commits offsets again whose babies were merged and reaped after the
# backup. Rows then say that the dataset has merged them, but the segment alone has their records.
# Once the restore is reconciled, none is left. The hour is for the difference of the store's clock.
_IS_FROM_BEFORE_RESTORE = text("""
    SELECT EXISTS (SELECT FROM witness_state
                   WHERE restored_at IS DISTINCT FROM reconciled_at
                     AND restored_at > timestamptz 'epoch' - interval '1 hour'
                                       + (:nanos / 1000) * interval '1 microsecond')
""")
_HOLDERS = text("""
    SELECT prefix, object_name FROM segments
    WHERE dataset_key = :key AND tombstone_version IS NULL
      AND start_ns <= :end_ns AND end_ns >= :start_ns
    ORDER BY end_ns, id LIMIT :most
""")


def of_purged_datasets(tx: Transaction, keys: Sequence[str]) -> set[str]:
    """The keys of merged segments whose dataset is deleted permanently."""
    return kept_files.keys_of(tx, keys, _PURGED)


def find_holders(tx: Transaction, segment: UnknownSegment) -> tuple[str, ...] | None:
    """The objects that hold an unknown segment's records; None if rows do not prove it.

    No object holds them if all are past the dataset's retention of events.
    """
    name = parse_key(segment.object_key)
    if not isinstance(name, MergedKey | AttemptKey):
        return None
    values = {"dataset": UUID(name.dataset_id), "end_ns": segment.end_ns}
    dataset = tx.execute(_DATASET, values).one_or_none()
    if dataset is None:
        return None
    key, is_expired = dataset
    if is_expired:
        return ()
    if tx.execute(_IS_FROM_BEFORE_RESTORE, {"nanos": segment.modified_at_nanos}).scalar_one():
        return None
    if not segment.stream_ends or not _is_merged(tx, segment, UUID(name.dataset_id)):
        return None
    bounds = {"key": key, "start_ns": segment.start_ns, "end_ns": segment.end_ns}
    if tx.execute(_IS_HIDDEN, bounds).scalar_one():
        return None
    rows = tx.execute(_HOLDERS, {**bounds, "most": HOLDERS_MAX + 1}).all()
    if not 0 < len(rows) <= HOLDERS_MAX:
        return None
    return tuple(join_key(prefix, object_name) for prefix, object_name in rows)


def _is_merged(tx: Transaction, segment: UnknownSegment, dataset_id: UUID) -> bool:
    """True if rows say that the dataset has merged every stream as far as the segment holds it."""
    values = {
        "dataset": dataset_id,
        "streams": pg_arrays.uuids(list(segment.stream_ends)),
        "lasts": pg_arrays.numbers(list(segment.stream_ends.values())),
    }
    return bool(tx.execute(_NUM_MERGED, values).scalar_one() == len(segment.stream_ends))
