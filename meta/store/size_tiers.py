"""Live segments by tiers of compressed size."""

from dataclasses import dataclass

from sqlalchemy import text

from meta.store.engine import Transaction
from meta.store.merge_planning import FILTERED, SegmentFilter

MIB = 1024 * 1024
# Tier k begins at 4^(k-1) MiB; the last one reaches beyond any size.
TIER_STARTS = tuple(4**k * MIB for k in range(22))


@dataclass(frozen=True, slots=True)
class SizeTier:
    """Compressed sizes in bytes, event times in nanoseconds."""

    tier: int
    segment_count: int
    total_size: int
    smallest: int
    largest: int
    start_ns: int
    end_ns: int


_READ = text(f"""
    SELECT width_bucket(s.compressed_size_bytes, cast(:starts AS bigint[])) AS tier, count(*),
           least(sum(s.compressed_size_bytes), 9223372036854775807)::bigint,
           min(s.compressed_size_bytes), max(s.compressed_size_bytes),
           min(s.start_ns), max(s.end_ns)
    FROM segments s
    WHERE s.tombstone_version IS NULL AND {FILTERED}
      AND s.dataset_key IN (
        SELECT key FROM datasets WHERE deleted_at IS NULL
          AND (cast(:key AS integer) IS NULL OR key = :key))
    GROUP BY 1 ORDER BY 1
""")  # noqa: S608


def tier_bounds(tier: int) -> tuple[int, int]:
    """A tier's bounds in bytes: from, inclusive, to, exclusive."""
    return (4 ** (tier - 1) * MIB if tier else 0), 4**tier * MIB


def read(tx: Transaction, dataset_key: int | None, segment_filter: SegmentFilter) -> list[SizeTier]:
    """The tiers that hold a segment, smallest first."""
    values = {"key": dataset_key, "starts": list(TIER_STARTS), **segment_filter.values()}
    return [SizeTier(*row) for row in tx.execute(_READ, values)]
