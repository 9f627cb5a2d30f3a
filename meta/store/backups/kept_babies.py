"""Baby segments that a backup keeps: those that some dataset had not merged at its version."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets
from meta.store.versions.clock import ago


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of a stream, both ends inclusive."""

    first: int
    last: int


# A stream that merged something behind the version keeps all that is not reaped: what its datasets
# had merged at the version is not computed.
_KEEP = text(f"""
    INSERT INTO backup_streams (stream_id, backup_id, after_offset, through_offset, size_bytes)
    SELECT k.id, :backup, k.after_offset, k.committed_offset, coalesce(b.size_bytes, 0)
    FROM (
      SELECT s.id, h.committed_offset, CASE WHEN EXISTS (
          SELECT FROM offset_checkpoints c WHERE c.stream_id = s.id AND c.version > :version)
        THEN s.deleted_offset
        ELSE coalesce({merged_offsets.lowest_in("s", "h")}, s.deleted_offset) END AS after_offset
      FROM ingest_streams s
        CROSS JOIN LATERAL (SELECT * FROM stream_heads WHERE stream_id = s.id OFFSET 0) h
      WHERE s.retired_at IS NULL AND h.committed_offset > s.deleted_offset
      OFFSET 0) k
    CROSS JOIN LATERAL (
      SELECT sum(size_bytes)::bigint AS size_bytes FROM baby_segments
      WHERE stream_id = k.id AND "offset" > k.after_offset AND "offset" <= k.committed_offset) b
    WHERE k.after_offset < k.committed_offset
""")  # noqa: S608
# A merge behind the version makes nothing reapable before the grace has passed: half of it, so that
# no poll before the commit offers it. A removed stream or entry has no checkpoints any more.
_HALF = ago("coalesce(nullif(d.tombstone_grace_secs, 0), :grace) / 2")
_MAY_BE_REAPED = text(f"""
    SELECT EXISTS (SELECT FROM offset_checkpoints c LEFT JOIN datasets d ON d.id = c.dataset_id
                   WHERE c.version > :version AND c.created_at <= {_HALF})
      OR EXISTS (SELECT FROM stream_removals WHERE version > :version)
      OR (SELECT removals_floor > :version FROM meta_state)
""")  # noqa: S608
_READ = text("""
    SELECT s.stream_id, s.after_offset + 1, s.through_offset
    FROM backup_streams s JOIN backups k ON k.id = s.backup_id
    WHERE s.stream_id = ANY(cast(:streams AS uuid[]))
    ORDER BY s.stream_id, s.after_offset
""")


def keep(tx: Transaction, backup_id: UUID, version: int) -> None:
    """Keep the baby segments that were not merged at a version, up to those committed by now."""
    tx.execute(_KEEP, {"backup": backup_id, "version": version})


def may_be_reaped(tx: Transaction, version: int, grace_secs: float) -> bool:
    """True if baby segments that were not merged at a version may be reaped by now, or soon."""
    values = {"version": version, "grace": grace_secs}
    return bool(tx.execute(_MAY_BE_REAPED, values).scalar_one())


def read(tx: Transaction, stream_ids: Iterable[UUID]) -> Mapping[UUID, Sequence[OffsetRange]]:
    """The kept ranges of streams, ascending and disjoint; streams without any are not in it."""
    ids = list(stream_ids)
    ranges: dict[UUID, list[OffsetRange]] = {}
    for stream_id, first, last in tx.execute(_READ, {"streams": ids}) if ids else ():
        listed = ranges.setdefault(stream_id, [])
        if listed and first <= listed[-1].last + 1:
            listed[-1] = OffsetRange(listed[-1].first, max(listed[-1].last, last))
        else:
            listed.append(OffsetRange(first, last))
    return ranges
