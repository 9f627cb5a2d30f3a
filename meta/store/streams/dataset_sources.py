"""Sources of one dataset: ingest tokens that route to it, and active streams."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction

# One index of tokens for each signal.
_ROUTED = " OR ".join(
    f"EXISTS (SELECT FROM ingest_tokens WHERE {signal}_dataset_id = :dataset"
    " AND revoked_at IS NULL)"
    for signal in ("logs", "traces", "metrics")
)
# Entries lead, and each stream is looked up: there are far more streams than those of a dataset.
_SOURCES = text(f"""
    SELECT {_ROUTED}, EXISTS (
      SELECT FROM stream_datasets e CROSS JOIN LATERAL (
        SELECT FROM ingest_streams WHERE id = e.stream_id AND stopped_offset IS NULL OFFSET 0) s
      WHERE e.dataset_id = :dataset)
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class Sources:
    """Whether a token that is not revoked routes to a dataset, and whether a stream is active."""

    is_routed: bool
    has_stream: bool


def sources(tx: Transaction, dataset_id: UUID) -> Sources:
    """Return whether records can come to a dataset."""
    return Sources(*tx.execute(_SOURCES, {"dataset": dataset_id}).one())
