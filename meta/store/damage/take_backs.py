"""Reverts of replacements: the original is hidden again, as long as its grace lasts.

A replacement of other bytes takes no part in merges while it is live, so that its records stay
apart.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text

from meta.errors import NothingToRepair
from meta.store.access import audit
from meta.store.catalog import datasets
from meta.store.damage import losses, segment_repairs
from meta.store.damage.losses import Acceptance, Loss
from meta.store.engine.pool import Transaction
from meta.store.pins import pins
from meta.store.segments import burial, stats
from meta.store.segments.segments import SegmentRow
from meta.store.versions import versions


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A replacement with its tombstone, the original that is hidden, and the loss."""

    replacement: SegmentRow
    original: SegmentRow
    loss: Loss


# A merge of one segment leaves the same lineage, but no row of the ledger.
_ORIGINAL = text("""
    SELECT o.id, o.tombstone_version, o.tombstone_at = 'infinity' AS is_hidden,
           o.tombstone_version > d.deletion_horizon AS is_kept
    FROM segments n JOIN segment_lineage l ON l.output_id = n.id
         JOIN segments o ON o.id = l.input_id JOIN datasets d ON d.key = o.dataset_key
    WHERE n.id = :segment AND EXISTS (
        SELECT FROM losses x
        WHERE x.segment_id = o.id AND x.withdrawn_version = n.created_version)
    FOR UPDATE OF o
""")


def take_back(tx: Transaction, segment_id: UUID, acceptance: Acceptance) -> TakenBack:
    """Tombstone a replacement and hide its original; a repetition returns the first result.

    Raises NotFound, NothingToRepair unless it is live and its original is within its grace.
    """
    segment = segment_repairs.get(tx, segment_id)
    keys = datasets.lock_shared(tx, [UUID(segment.dataset_id)])
    # Under this lock no original that is hidden here is handed out for deletion.
    pins.lock_horizons(tx, list(keys.values()))
    cancelled = segment_repairs.cancel_task(tx, segment_id)
    row = segment_repairs.lock(tx, segment_id)
    original = tx.execute(_ORIGINAL, {"segment": segment_id}).one_or_none()
    if original is None:
        raise NothingToRepair(
            "the segment replaces none that is still there", segment_id=segment_id
        )
    if not row.is_live:
        return _repeated(tx, segment_id, original)
    if original.is_hidden or not original.is_kept:
        raise NothingToRepair("the grace of the original is over", segment_id=original.id)
    audit.note(tx, "TakeBackReplacement", segment_id, f"{acceptance.actor}: {acceptance.reason}")
    version = versions.allocate(tx)
    burial.bury(tx, [segment_id], version)
    tx.execute(segment_repairs.HIDE, {"segment": original.id})
    hidden = segment_repairs.get(tx, original.id)
    losses.write(tx, [segment_repairs.lost(hidden)], version, acceptance)
    stats.add(tx, cancelled)
    return _result(tx, segment_id, original.id)


def _repeated(tx: Transaction, segment_id: UUID, original: Row[*tuple[Any, ...]]) -> TakenBack:
    result = _result(tx, segment_id, original.id)
    if not original.is_hidden or result.loss.version != result.replacement.tombstone_version:
        raise NothingToRepair(
            "the replacement is not live: it was merged or deleted", segment_id=segment_id
        )
    return result


def _result(tx: Transaction, segment_id: UUID, original_id: UUID) -> TakenBack:
    return TakenBack(
        segment_repairs.get(tx, segment_id),
        segment_repairs.get(tx, original_id),
        losses.of_segment(tx, original_id)[-1],
    )
