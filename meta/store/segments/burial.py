"""Burial: live segments become tombstones at a version, invisible from it on."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import bindparam, func, update

from meta.store.engine.pool import Transaction
from meta.store.segments import stats
from meta.store.tables.segments import segments
from meta.store.versions.versions import Version

_BURY = (
    update(segments)
    .where(segments.c.id == func.any(bindparam("ids")))
    .where(segments.c.tombstone_version.is_(None))
    # The clock, not the transaction's start: its waiting time must not shorten the grace.
    .values(tombstone_version=bindparam("at_version"), tombstone_at=func.clock_timestamp())
    .returning(segments.c.dataset_key, segments.c.size_bytes, segments.c.compressed_size_bytes)
)


def bury(tx: Transaction, segment_ids: Sequence[UUID], version: Version) -> int:
    """Make live segments invisible from `version` on; returns how many were live."""
    rows = tx.execute(_BURY, {"ids": list(segment_ids), "at_version": version}).all()
    stats.add(
        tx,
        [
            stats.Change(
                row.dataset_key,
                live_segments=-1,
                live_size_bytes=-row.size_bytes,
                live_compressed_size_bytes=-row.compressed_size_bytes,
            )
            for row in rows
        ],
    )
    return len(rows)
