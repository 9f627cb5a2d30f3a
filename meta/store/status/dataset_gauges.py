"""Live segments and bytes of the measured datasets, and of all others together."""

from dataclasses import dataclass

from meta.store.catalog import shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

# The label of the others; a dataset of this name is one of them.
OTHER = "other"
_TOTALS = scope.statement(f"""
    SELECT CASE WHEN m.dataset_id IS NULL THEN :other ELSE {shown_names.of("d")} END AS name,
      sum(s.live_segments)::bigint, sum(s.live_compressed_size_bytes)::bigint
    FROM datasets d JOIN dataset_stats s ON s.dataset_key = d.key
      LEFT JOIN measured_datasets m ON m.dataset_id = d.id
    WHERE d.deleted_at IS NULL GROUP BY 1 ORDER BY 1
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class MeasuredTotals:
    """Live segments of a dataset, or of several, and their compressed bytes."""

    name: str
    segments: int
    size_bytes: int


def totals(tx: Transaction) -> list[MeasuredTotals]:
    """Return a row for each measured dataset, and one for the others."""
    return [MeasuredTotals(*row) for row in tx.execute(_TOTALS, {"other": OTHER})]
