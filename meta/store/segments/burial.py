"""Burial: live segments become tombstones at a version, invisible from it on."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction
from meta.store.segments import stats
from meta.store.versions.versions import Version

# The clock, not the transaction's start: its waiting time must not shorten the grace.
_BURY = text("""
    UPDATE segments SET tombstone_version = :version, tombstone_at = clock_timestamp()
    WHERE id = ANY(cast(:ids AS uuid[])) AND tombstone_version IS NULL
    RETURNING dataset_key, size_bytes, compressed_size_bytes, number_of_events
""")


def bury(tx: Transaction, segment_ids: Sequence[UUID], version: Version) -> int:
    """Make live segments invisible from `version` on; returns how many were live."""
    rows = tx.execute(_BURY, {"ids": pg_arrays.uuids(segment_ids), "version": version}).all()
    stats.add(
        tx,
        [
            stats.Change(
                row.dataset_key,
                live_segments=-1,
                live_size_bytes=-row.size_bytes,
                live_compressed_size_bytes=-row.compressed_size_bytes,
                live_records=-row.number_of_events,
            )
            for row in rows
        ],
    )
    return len(rows)
