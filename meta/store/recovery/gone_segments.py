"""Live segments whose objects are not in the bucket, and tokens that a restore revoked again."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from meta.store.catalog import shown_names
from meta.store.engine import scope
from meta.store.engine.pool import Transaction

_LIVE = scope.statement(f"""
    SELECT s.id, d.id::text, {shown_names.of("d")}, s.number_of_events
    FROM segments s JOIN datasets d ON d.key = s.dataset_key
    WHERE s.id = ANY(:ids) AND s.tombstone_version IS NULL AND d.deleted_at IS NULL ORDER BY s.id
""")  # noqa: S608
_LIVE_COUNT = text("""
    SELECT coalesce(sum(k.live_segments), 0)
    FROM dataset_stats k JOIN datasets d ON d.key = k.dataset_key WHERE d.id = :dataset
""")
# A restore and its revocations are one transaction, so they have one time.
_REVOKED = text("""
    SELECT kind, t.id::text, t.name FROM witness_state w JOIN (
      SELECT 'ingest' AS kind, id, name, revoked_at FROM ingest_tokens
      UNION ALL SELECT 'access', id, subject, revoked_at FROM access_tokens
    ) t ON t.revoked_at = w.restored_at ORDER BY kind, t.id LIMIT :most
""")


@dataclass(frozen=True, slots=True)
class SegmentAtStake:
    """A live segment and its dataset."""

    id: UUID
    dataset_id: str
    dataset_name: str
    records: int


@dataclass(frozen=True, slots=True)
class RevokedToken:
    """A token that was revoked again after the restore; its kind is "ingest" or "access"."""

    kind: str
    id: str
    name: str


def live_among(tx: Transaction, segment_ids: Sequence[str]) -> list[SegmentAtStake]:
    """Those of some segments that are live, in datasets that are not deleted."""
    rows = tx.execute(_LIVE, {"ids": [UUID(segment_id) for segment_id in segment_ids]})
    return [SegmentAtStake(*row) for row in rows]


def count_live(tx: Transaction, dataset_id: str) -> int:
    """Count the live segments of a dataset."""
    return int(tx.execute(_LIVE_COUNT, {"dataset": UUID(dataset_id)}).scalar_one())


def revoked_again(tx: Transaction, most: int) -> list[RevokedToken]:
    """The tokens that the last restore revoked again, at most `most`."""
    return [RevokedToken(*row) for row in tx.execute(_REVOKED, {"most": most})]
