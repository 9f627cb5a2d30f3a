"""Live segments, bytes and written bytes of the measured datasets, and of all others together.

The datasets of a tenant have their names once it has allowed that; others are its `other`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, bindparam

from meta.access import DEFAULT_TENANT
from meta.store.catalog import shown_names
from meta.store.costs.ledger import MERGED, OF_NURSERIES
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.segments.stats import TIER_STARTS

# The label of the others; a dataset or a tenant of this name is one of them.
OTHER = "other"
# Tenants that have their names as labels, the oldest ones.
TENANTS_MAX = 200


class GaugeLabels(NamedTuple):
    """A tenant, and a dataset of it."""

    tenant: str
    dataset: str


# Of datasets that nothing is known of, which every installation may have.
OTHERS = GaugeLabels("default", OTHER)
_TENANTS = f"""
    tenants_shown AS MATERIALIZED (
      SELECT key, CASE WHEN number <= {TENANTS_MAX} THEN name ELSE :other END AS name,
        number <= {TENANTS_MAX} AND (key = {DEFAULT_TENANT}
          OR EXISTS (SELECT FROM metric_names n WHERE n.tenant_key = key)) AS has_names
      FROM (SELECT key, name, row_number() OVER (ORDER BY key) AS number
            FROM tenants WHERE purged_at IS NULL) t)
"""  # noqa: S608
# Of the rows `d` of datasets, `g` of their tenants and `m` of measured datasets.
_LABELS = f"""
    coalesce(g.name, :other) AS tenant,
    CASE WHEN m.dataset_id IS NULL OR NOT coalesce(g.has_names, false) THEN :other
         ELSE {shown_names.in_tenant("d")} END AS dataset
"""
_JOINED = """
    LEFT JOIN tenants_shown g ON g.key = d.tenant_key
    LEFT JOIN measured_datasets m ON m.dataset_id = d.id
"""
_TOTALS = scope.statement(f"""
    WITH {_TENANTS}
    SELECT {_LABELS}, sum(s.live_segments)::bigint, sum(s.live_compressed_size_bytes)::bigint
    FROM datasets d JOIN dataset_stats s ON s.dataset_key = d.key {_JOINED}
    WHERE d.deleted_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2
""")  # noqa: S608
_LABELS_OF = scope.statement(f"""
    WITH {_TENANTS}
    SELECT d.id, {_LABELS} FROM datasets d {_JOINED} WHERE d.id = ANY(:ids)
""").bindparams(bindparam("ids", type_=ARRAY(Uuid)))  # noqa: S608
# Of today and yesterday: on each day of the ledger something is written before it is merged.
_WRITTEN = scope.statement(f"""
    WITH {_TENANTS}
    SELECT {_LABELS},
      coalesce(sum(c.bytes) FILTER (WHERE c.kind = {OF_NURSERIES}), 0)::bigint,
      sum(c.bytes)::bigint
    FROM costs c JOIN datasets d ON d.id = c.dataset_id {_JOINED}
    WHERE c.day >= (now() AT TIME ZONE 'UTC')::date - 1
      AND c.kind IN ({OF_NURSERIES}, {MERGED})
    GROUP BY 1, 2 ORDER BY 1, 2
""")  # noqa: S608
# The rows of the page are those behind the last one, in the order of their index.
_TIERS = scope.statement(f"""
    WITH {_TENANTS}, page AS MATERIALIZED (
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
      LEFT JOIN (SELECT {_LABELS}, s.tier, sum(s.segments)::bigint, sum(s.size_bytes)::bigint
                 FROM sums s JOIN datasets d ON d.key = s.dataset_key {_JOINED}
                 WHERE d.deleted_at IS NULL GROUP BY 1, 2, 3) t ON true
    ORDER BY 5, 6, 7
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class MeasuredTotals:
    """Live segments of a dataset, or of several, and their compressed bytes."""

    labels: GaugeLabels
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
    """Segments and bytes of a page by labels and tier; the next page is behind `last`, if any."""

    tiers: dict[tuple[GaugeLabels, int], tuple[int, int]]
    last: SegmentPosition | None


def totals(tx: Transaction) -> list[MeasuredTotals]:
    """Return live segments and bytes by labels."""
    rows = tx.execute(_TOTALS, {"other": OTHER})
    return [MeasuredTotals(GaugeLabels(*row[:2]), *row[2:]) for row in rows]


def labels_of(tx: Transaction, dataset_ids: Iterable[UUID]) -> dict[UUID, GaugeLabels]:
    """Return the labels of datasets."""
    rows = tx.execute(_LABELS_OF, {"other": OTHER, "ids": list(dataset_ids)})
    return {row[0]: GaugeLabels(*row[1:]) for row in rows}


class DatasetWrites(NamedTuple):
    """Bytes that nurseries wrote, and those of nurseries and merges."""

    labels: GaugeLabels
    by_nurseries: int
    size_bytes: int


def written(tx: Transaction) -> list[DatasetWrites]:
    """Return what was written today and yesterday, by labels."""
    rows = tx.execute(_WRITTEN, {"other": OTHER})
    return [DatasetWrites(GaugeLabels(*row[:2]), *row[2:]) for row in rows]


def tiers(tx: Transaction, behind: SegmentPosition, most: int) -> TierPage:
    """Count live segments behind a position by tier, `most` of them."""
    values = {"other": OTHER, "starts": list(TIER_STARTS), "most": most}
    rows = tx.execute(_TIERS, values | behind._asdict()).all()
    counts = {
        (GaugeLabels(*row[4:6]), row[6]): (row[7], row[8]) for row in rows if row[4] is not None
    }
    is_last = not rows or rows[0][0] < most
    return TierPage(counts, None if is_last else SegmentPosition(*rows[0][1:4]))
