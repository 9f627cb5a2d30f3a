"""Streams of one dataset, and those in which its records await a nursery."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction
from meta.store.streams import merged_offsets

# Streams with a backlog that are searched, and baby segments of each. A search ends at the first
# baby segment of the dataset, which is near unless other datasets have a backlog in the stream.
STREAMS_MAX = 1_000
BABIES_MAX = 100

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
_FLOOR = "greatest(e.merged_offset, s.deleted_offset, h.merged_floor)"
_BACKLOG = text(f"""
    WITH behind AS MATERIALIZED (
      SELECT e.stream_id, h.committed_offset, {_FLOOR} AS floor
      FROM stream_datasets e
        CROSS JOIN LATERAL (
          SELECT * FROM stream_heads WHERE stream_id = e.stream_id AND is_pending OFFSET 0) h
        CROSS JOIN LATERAL (
          SELECT * FROM ingest_streams WHERE id = e.stream_id AND retired_at IS NULL OFFSET 0) s
      WHERE e.dataset_id = :dataset AND h.committed_offset > {_FLOOR}
      LIMIT :streams
    )
    SELECT k.stream_id, coalesce((extract(epoch FROM f.committed_at) * 1000000)::bigint * 1000, 0)
    FROM behind k LEFT JOIN LATERAL (
      SELECT b.committed_at FROM (
        SELECT * FROM baby_segments WHERE stream_id = k.stream_id AND "offset" > k.floor
        ORDER BY "offset" LIMIT :babies) b
      WHERE {merged_offsets.may_be_of("cast(:dataset AS uuid)")}
      ORDER BY b."offset" LIMIT 1) f ON true
    WHERE f.committed_at IS NOT NULL OR k.committed_offset - k.floor > :babies
    ORDER BY f.committed_at, k.stream_id
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class Sources:
    """Whether a token that is not revoked routes to a dataset, and whether a stream is active."""

    is_routed: bool
    has_stream: bool


@dataclass(frozen=True, slots=True)
class WaitingStream:
    """A stream with committed records of a dataset that no nursery has merged.

    `committed_at_nanos` is the time of the first baby segment that may hold some, and 0 if the
    search ended before there was one: the backlog of other datasets comes first.
    """

    stream_id: UUID
    committed_at_nanos: int


def sources(tx: Transaction, dataset_id: UUID) -> Sources:
    """Return whether records can come to a dataset."""
    return Sources(*tx.execute(_SOURCES, {"dataset": dataset_id}).one())


def waiting(tx: Transaction, dataset_id: UUID) -> Sequence[WaitingStream]:
    """Return the streams in which records of a dataset wait, those that wait longest first."""
    values = {"dataset": dataset_id, "streams": STREAMS_MAX, "babies": BABIES_MAX}
    return [WaitingStream(*row) for row in tx.execute(_BACKLOG, values)]
