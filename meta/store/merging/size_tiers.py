"""Live segments by tiers of compressed size, counted page by page."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text

from meta.store.engine import call_scope, scope
from meta.store.engine.pool import Transaction
from meta.store.merging.merge_planning import SegmentFilter
from meta.store.segments.stats import INT64_MAX, TIER_STARTS

# A statement reads so many segments.
ROWS_AT_ONCE = 10_000


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

    def plus(self, other: "SizeTier") -> "SizeTier":
        """The tier over the segments of both."""
        return SizeTier(
            self.tier,
            self.segment_count + other.segment_count,
            min(INT64_MAX, self.total_size + other.total_size),
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
            min(self.start_ns, other.start_ns),
            max(self.end_ns, other.end_ns),
        )


class _Creation(NamedTuple):
    """A place in the order of creation."""

    created_at: datetime
    segment_id: UUID


_DATASETS = scope.statement(f"""
    SELECT key FROM datasets
    WHERE deleted_at IS NULL AND (cast(:key AS integer) IS NULL OR key = :key)
      AND (cast(:visible AS uuid[]) IS NULL OR id = ANY(:visible))
      AND {scope.reaches("datasets")}
    ORDER BY key
""")  # noqa: S608
_BOUNDS = text("""
    SELECT now() - make_interval(secs => :max_age_secs),
           now() - make_interval(secs => :min_age_secs)
""")
# The size is compared behind the limit, so that a page never reads more than its rows.
_READ = text("""
    WITH page AS MATERIALIZED (
        SELECT created_at, id, compressed_size_bytes AS size, start_ns, end_ns
        FROM segments
        WHERE dataset_key = :key AND tombstone_version IS NULL
          AND (created_at, id) > (:after_at, :after_id) AND created_at <= :newest
        ORDER BY created_at, id LIMIT :most)
    SELECT c.num_rows, l.created_at, l.id, t.*
    FROM (SELECT created_at, id FROM page ORDER BY created_at DESC, id DESC LIMIT 1) l
         CROSS JOIN (SELECT count(*) AS num_rows FROM page) c
         LEFT JOIN (
            SELECT width_bucket(size, cast(:starts AS bigint[])), count(*),
                   least(sum(size), 9223372036854775807)::bigint, min(size), max(size),
                   min(start_ns), max(end_ns)
            FROM page WHERE cast(:max_size AS bigint) IS NULL OR size <= :max_size
            GROUP BY 1) t ON true
""")


def tier_bounds(tier: int) -> tuple[int, int]:
    """A tier's bounds in bytes: from, inclusive, to, exclusive."""
    return (TIER_STARTS[tier - 1] if tier else 0), 4**tier * TIER_STARTS[0]


def read(
    tx: Transaction,
    dataset_key: int | None,
    segment_filter: SegmentFilter,
    *,
    rows_at_once: int = ROWS_AT_ONCE,
) -> list[SizeTier]:
    """The tiers that hold a segment, smallest first, in one snapshot: the transaction is a read."""
    values = asdict(segment_filter)
    oldest, newest = tx.execute(_BOUNDS, values).one()
    begin = _Creation(oldest or datetime.min.replace(tzinfo=UTC), UUID(int=0))
    fixed = {
        "newest": newest or datetime.max.replace(tzinfo=UTC),
        "starts": list(TIER_STARTS),
        "max_size": segment_filter.max_compressed_size,
        "most": rows_at_once,
    }
    tiers: dict[int, SizeTier] = {}
    chosen = {"key": dataset_key, "visible": scope.visible_ids()}
    for key in tx.execute(_DATASETS, chosen).scalars().all():
        behind: _Creation | None = begin
        while behind is not None:
            call_scope.check_caller()
            behind = _add_page(tx, tiers, behind, {**fixed, "key": key})
    return [tier for _, tier in sorted(tiers.items())]


def _add_page(
    tx: Transaction, tiers: dict[int, SizeTier], behind: _Creation, values: dict[str, object]
) -> _Creation | None:
    """Add a page of a dataset's segments to the tiers; the place of the next page, if any."""
    after = {"after_at": behind.created_at, "after_id": behind.segment_id}
    rows = tx.execute(_READ, {**values, **after}).all()
    for row in rows:
        if row[3] is not None:
            tier = SizeTier(*row[3:])
            segments = tiers.get(tier.tier)
            tiers[tier.tier] = tier if segments is None else segments.plus(tier)
    if not rows or rows[0].num_rows < values["most"]:
        return None
    return _Creation(rows[0].created_at, rows[0].id)
