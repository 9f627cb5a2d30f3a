"""Amounts that backups keep: tombstoned segments past their grace, counted in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from meta.store.deletion.due import GRACE_BEFORE
from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction


@dataclass(slots=True)
class KeptAmount:
    """Segments that a backup keeps, and those that no other one does; bytes are compressed."""

    kept_segments: int = 0
    kept_bytes: int = 0
    sole_segments: int = 0
    sole_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BackupUse:
    """Segments of a dataset that backups keep past their grace; times in nanoseconds."""

    segments: int
    backups: int
    oldest_nanos: int
    last_end_nanos: int


# The backups that keep a segment are consecutive ones in the order of their versions.
_MEASURE = text(f"""
    SELECT number_before, number_through, count(*), sum(compressed_size_bytes)::bigint
    FROM (
      SELECT width_bucket(s.created_version - 1, v.ascending) AS number_before,
        width_bucket(s.tombstone_version - 1, v.ascending) AS number_through,
        s.compressed_size_bytes
      FROM (SELECT cast(:versions AS bigint[]) AS ascending) v CROSS JOIN datasets d
        JOIN segments s ON s.dataset_key = d.key
      WHERE s.tombstone_version > v.ascending[1] AND s.tombstone_at < {GRACE_BEFORE}) s
    WHERE number_before < number_through
    GROUP BY 1, 2
""")  # noqa: S608
_OF_DATASET = text(f"""
    SELECT count(*), coalesce(max(b.number), 0),
      coalesce((extract(epoch FROM min(b.oldest)) * 1000000)::bigint * 1000, 0),
      coalesce((extract(epoch FROM max(b.last_end)) * 1000000)::bigint * 1000, 0)
    FROM datasets d JOIN segments s ON s.dataset_key = d.key CROSS JOIN LATERAL (
      SELECT count(*) AS number, min(created_at) AS oldest, max(ends_at) AS last_end
      FROM backups k WHERE s.created_version <= k.version AND k.version < s.tombstone_version) b
    WHERE d.key = :key AND s.tombstone_version > (SELECT min(version) FROM backups)
      AND s.tombstone_at < {GRACE_BEFORE} AND b.number > 0
""")  # noqa: S608


def measure(tx: Transaction, versions: Sequence[int], grace_secs: float) -> list[KeptAmount]:
    """Measure what backups of these ascending versions keep, in their order."""
    amounts = [KeptAmount() for _ in versions]
    values = {"versions": pg_arrays.numbers(versions), "grace": grace_secs}
    for before, through, segments, size_bytes in tx.execute(_MEASURE, values) if versions else ():
        for amount in amounts[before:through]:
            amount.kept_segments += segments
            amount.kept_bytes += size_bytes
        if through - before == 1:
            amounts[before].sole_segments += segments
            amounts[before].sole_bytes += size_bytes
    return amounts


def of_dataset(tx: Transaction, dataset_key: int, grace_secs: float) -> BackupUse:
    """Count the segments of a dataset that backups keep."""
    return BackupUse(*tx.execute(_OF_DATASET, {"key": dataset_key, "grace": grace_secs}).one())
