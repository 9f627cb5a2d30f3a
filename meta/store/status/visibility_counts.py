"""Time from the commit of a flush to its visibility, counted by bucket.

    registrations since the last round --> their flushes --> a row a dataset, 10 minutes and bucket

A background job counts once a minute, so that no registration waits for it. It looks at the newest
registrations of each dataset up to a bound: of a busy dataset the counts are a sample.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import pg_arrays
from meta.store.engine.pool import Transaction

DATASETS_MAX = 100
# A measured dataset stays until so many others have more bytes, so that no two take turns.
STAYS_UP_TO_RANK = 120
# Moved offsets of a dataset that a round looks at, the newest ones, and flushes of each, which are
# spread over it.
MOVES_MAX = 200
FLUSHES_OF_MOVE_MAX = 50
KEPT_HOURS = 26
# Upper bounds of the buckets in seconds: 0.25 s to 18 hours, each 1.41 times the one before.
BOUNDS = tuple(0.25 * 2 ** (number / 2) for number in range(37))

_CHOOSE = text("""
    WITH ranked AS (
      SELECT d.id, m.dataset_id IS NOT NULL AS is_measured,
        row_number() OVER (ORDER BY s.live_compressed_size_bytes DESC, d.id) AS rank
      FROM datasets d JOIN dataset_stats s ON s.dataset_key = d.key
        LEFT JOIN measured_datasets m ON m.dataset_id = d.id
      WHERE d.deleted_at IS NULL AND s.live_segments > 0
    ), chosen AS MATERIALIZED (
      SELECT id FROM ranked ORDER BY is_measured AND rank <= :stays DESC, rank LIMIT :most
    ), gone AS (
      DELETE FROM measured_datasets WHERE dataset_id NOT IN (SELECT id FROM chosen)
    )
    INSERT INTO measured_datasets (dataset_id, counted_version)
    SELECT c.id, coalesce((SELECT max(version) FROM registrations WHERE dataset_id = c.id), 0)
    FROM chosen c ORDER BY c.id ON CONFLICT DO NOTHING
""")
# Servers on one database skip the datasets that another one counts now.
_COUNT = text("""
    WITH due AS MATERIALIZED (
      SELECT dataset_id, counted_version FROM measured_datasets
      ORDER BY dataset_id FOR UPDATE SKIP LOCKED
    ), moves AS MATERIALIZED (
      SELECT r.* FROM due CROSS JOIN LATERAL (
        SELECT dataset_id, stream_id, start_offset, end_offset, version, created_at, segment_id
        FROM registrations
        WHERE dataset_id = due.dataset_id AND version > due.counted_version AND part = 0
        ORDER BY version DESC LIMIT :moves_max) r
    ), counted AS (
      INSERT INTO visibility_counts AS c (dataset_id, period_at, bucket, flushes)
      SELECT m.dataset_id, date_bin('10 minutes', m.created_at, 'epoch'),
        width_bucket(extract(epoch FROM m.created_at - b.committed_at)::float8,
                     cast(:bounds AS float8[])), count(*)
      FROM moves m CROSS JOIN LATERAL (
        SELECT b.committed_at
        FROM generate_series(m.start_offset + 1, m.end_offset,
                             1 + (m.end_offset - m.start_offset - 1) / :flushes_max) o
          CROSS JOIN LATERAL (
            SELECT committed_at, dataset_ids FROM baby_segments
            WHERE stream_id = m.stream_id AND "offset" = o OFFSET 0) b
        WHERE b.dataset_ids IS NULL OR m.dataset_id = ANY(b.dataset_ids)) b
      WHERE m.segment_id IS NOT NULL GROUP BY 1, 2, 3
      ON CONFLICT (dataset_id, period_at, bucket)
        DO UPDATE SET flushes = c.flushes + excluded.flushes
    )
    UPDATE measured_datasets d SET counted_version = last.version
    FROM (SELECT dataset_id, max(version) AS version FROM moves GROUP BY dataset_id) last
    WHERE d.dataset_id = last.dataset_id
""")
_EXPIRE = text("""
    DELETE FROM visibility_counts WHERE period_at < now() - make_interval(hours => :hours)
""")
_OF_LAST_HOUR = text("""
    SELECT dataset_id, (extract(epoch FROM period_at) * 1000000)::bigint * 1000, bucket, flushes
    FROM visibility_counts
    WHERE dataset_id = ANY(cast(:ids AS uuid[])) AND period_at > now() - interval '1 hour'
    ORDER BY dataset_id, period_at, bucket
""")


@dataclass(frozen=True, slots=True)
class VisibilityPeriod:
    """The same of ten minutes."""

    start_nanos: int
    flushes: int
    p50_nanos: int
    p99_nanos: int


@dataclass(frozen=True, slots=True)
class VisibilityTimes:
    """Flushes that became visible, and percentiles of the time that they took."""

    flushes: int
    p50_nanos: int
    p99_nanos: int
    periods: tuple[VisibilityPeriod, ...] = ()


NOT_MEASURED = VisibilityTimes(0, 0, 0)


def choose(tx: Transaction) -> None:
    """Choose the datasets that are measured: those with most bytes."""
    tx.execute(_CHOOSE, {"stays": STAYS_UP_TO_RANK, "most": DATASETS_MAX})


def count(tx: Transaction) -> None:
    """Count the flushes that became visible since the last round, and remove old counts."""
    values = {"moves_max": MOVES_MAX, "flushes_max": FLUSHES_OF_MOVE_MAX, "bounds": list(BOUNDS)}
    tx.execute(_COUNT, values)
    tx.execute(_EXPIRE, {"hours": KEPT_HOURS})


def of_last_hour(tx: Transaction, dataset_ids: Sequence[UUID]) -> dict[UUID, VisibilityTimes]:
    """Return the times of the datasets that are measured and had flushes."""
    counted: dict[UUID, dict[int, dict[int, int]]] = {}
    for dataset_id, start_nanos, bucket, flushes in tx.execute(
        _OF_LAST_HOUR, {"ids": pg_arrays.uuids(dataset_ids)}
    ):
        counted.setdefault(dataset_id, {}).setdefault(start_nanos, {})[bucket] = flushes
    return {dataset_id: _of_periods(periods) for dataset_id, periods in counted.items()}


def _of_periods(periods: Mapping[int, dict[int, int]]) -> VisibilityTimes:
    whole: Counter[int] = sum((Counter(counts) for counts in periods.values()), Counter())
    each = tuple(
        VisibilityPeriod(start_nanos, *astuple(times_of(counts))[:3])
        for start_nanos, counts in periods.items()
    )
    return replace(times_of(dict(sorted(whole.items()))), periods=each)


def times_of(counts: dict[int, int]) -> VisibilityTimes:
    """Return the times of flushes counted by the number of their bucket, in its order."""
    return VisibilityTimes(
        sum(counts.values()), _percentile_nanos(counts, 0.5), _percentile_nanos(counts, 0.99)
    )


def _percentile_nanos(counts: dict[int, int], share: float) -> int:
    """Return a percentile, as if the flushes of a bucket were spread evenly over it."""
    remaining = share * sum(counts.values())
    for bucket, flushes in counts.items():
        if remaining <= flushes:
            low = BOUNDS[bucket - 1] if bucket else 0.0
            high = BOUNDS[min(bucket, len(BOUNDS) - 1)]
            return round((low + (high - low) * remaining / flushes) * 1e9)
        remaining -= flushes
    return 0
