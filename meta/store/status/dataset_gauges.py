"""Live segments, bytes and written bytes of the measured datasets, and of all others together.

Datasets of other tenants than `default` are among the others: their names are not the operator's.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from meta.access import DEFAULT_TENANT
from meta.store.catalog import shown_names
from meta.store.costs.ledger import MERGED, OF_NURSERIES
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.segments.stats import TIER_STARTS

# The label of the others; a dataset of this name is one of them.
OTHER = "other"
_NAME = f"""
    CASE WHEN m.dataset_id IS NULL OR d.tenant_key <> {DEFAULT_TENANT} THEN :other
         ELSE {shown_names.of("d")} END
"""
_TOTALS = scope.statement(f"""
    SELECT {_NAME} AS name, sum(s.live_segments)::bigint, sum(s.live_compressed_size_bytes)::bigint
    FROM datasets d JOIN dataset_stats s ON s.dataset_key = d.key
      LEFT JOIN measured_datasets m ON m.dataset_id = d.id
    WHERE d.deleted_at IS NULL GROUP BY 1 ORDER BY 1
""")  # noqa: S608
# Of today and yesterday: on each day of the ledger something is written before it is merged.
_WRITTEN = scope.statement(f"""
    SELECT {_NAME} AS name,
      coalesce(sum(c.bytes) FILTER (WHERE c.kind = {OF_NURSERIES}), 0)::bigint,
      sum(c.bytes)::bigint
    FROM costs c JOIN datasets d ON d.id = c.dataset_id
      LEFT JOIN measured_datasets m ON m.dataset_id = d.id
    WHERE c.day >= (now() AT TIME ZONE 'UTC')::date - 1
      AND c.kind IN ({OF_NURSERIES}, {MERGED})
    GROUP BY 1 ORDER BY 1
""")  # noqa: S608
# The rows of the page are those behind the last one, in the order of their index.
_TIERS = scope.statement(f"""
    WITH page AS MATERIALIZED (
        SELECT dataset_key, created_at, id, compressed_size_bytes AS size
        FROM segments
        WHERE tombstone_version IS NULL
          AND (dataset_key, created_at, id) > (:dataset_key, :created_at, :segment_id)
        ORDER BY dataset_key, created_at, id LIMIT :most
    ), sums AS (
        SELECT dataset_key, width_bucket(size, cast(:starts AS bigint[])) AS tier,
          count(*) AS segments, sum(size)::bigint AS size_bytes
        FROM page GROUP BY 1, 2
    )
    SELECT n.most, l.*, t.*
    FROM (SELECT count(*) AS most FROM page) n
      CROSS JOIN (SELECT dataset_key, created_at, id FROM page
                  ORDER BY dataset_key DESC, created_at DESC, id DESC LIMIT 1) l
      LEFT JOIN (SELECT {_NAME} AS name, s.tier, sum(s.segments)::bigint, sum(s.size_bytes)::bigint
                 FROM sums s JOIN datasets d ON d.key = s.dataset_key
                   LEFT JOIN measured_datasets m ON m.dataset_id = d.id
                 WHERE d.deleted_at IS NULL GROUP BY 1, 2) t ON true
    ORDER BY 5, 6
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class MeasuredTotals:
    """Live segments of a dataset, or of several, and their compressed bytes."""

    name: str
    segments: int
    size_bytes: int


class SegmentPosition(NamedTuple):
    """A segment in the order of datasets and creation."""

    dataset_key: int
    created_at: datetime
    segment_id: UUID


FIRST = SegmentPosition(-1, datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))


@dataclass(frozen=True, slots=True)
class TierPage:
    """Segments and bytes of a page by name and tier; the next page is behind `last`, if any."""

    tiers: dict[tuple[str, int], tuple[int, int]]
    last: SegmentPosition | None


def totals(tx: Transaction) -> list[MeasuredTotals]:
    """Return a row for each measured dataset, and one for the others."""
    return [MeasuredTotals(*row) for row in tx.execute(_TOTALS, {"other": OTHER})]


class DatasetWrites(NamedTuple):
    """Bytes that nurseries wrote, and those of nurseries and merges."""

    name: str
    by_nurseries: int
    size_bytes: int


def written(tx: Transaction) -> list[DatasetWrites]:
    """Return what was written today and yesterday of each measured dataset, and of the others."""
    return [DatasetWrites(*row) for row in tx.execute(_WRITTEN, {"other": OTHER})]


def tiers(tx: Transaction, behind: SegmentPosition, most: int) -> TierPage:
    """Count live segments behind a position by tier, `most` of them."""
    values = {"other": OTHER, "starts": list(TIER_STARTS), "most": most}
    rows = tx.execute(_TIERS, values | behind._asdict()).all()
    counts = {(row[4], row[5]): (row[6], row[7]) for row in rows if row[4] is not None}
    is_last = not rows or rows[0][0] < most
    return TierPage(counts, None if is_last else SegmentPosition(*rows[0][1:4]))
