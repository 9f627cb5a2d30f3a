"""SegmentDeletionService: tombstoned segments due for deletion, and their confirmation."""

from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.messages import checks, convert
from meta.services.messages.filled import filled
from meta.store.deletion import tombstones
from meta.store.deletion.tombstones import Confirmation
from meta.v1 import segment_deletion_pb2 as pb

SEGMENTS_MAX = 1_000


class SegmentDeletionServicer:
    """SegmentDeletionService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def GetTombstonedSegmentsForDeletion(
        self, request: pb.GetTombstonedSegmentsForDeletionRequest
    ) -> pb.GetTombstonedSegmentsForDeletionResponse:
        """List segments due for deletion; commits the raised deletion horizon before the answer."""
        grace_secs = self._settings.lifetimes.tombstone_grace
        due = self._transactions.write(
            lambda tx: tombstones.hand_out(
                tx,
                grace_secs=grace_secs,
                most=SEGMENTS_MAX,
                percent_max=self._settings.deletion_percent_max,
            )
        )
        if due:
            self._transactions.database.continuity.look()
        stores = self._settings.stores
        return pb.GetTombstonedSegmentsForDeletionResponse(
            segments=[
                filled(
                    pb.TombstonedSegmentInfo,
                    segment,
                    cloud_object_key=convert.object_key(
                        stores, segment.prefix, segment.object_name
                    ),
                )
                for segment in due
            ]
        )

    def ConfirmTombstoneDeletion(
        self, request: pb.ConfirmTombstoneDeletionRequest
    ) -> pb.ConfirmTombstoneDeletionResponse:
        """Remove the rows of segments whose objects are deleted, all or none."""
        ids = checks.each(request.segment_ids, "segment_ids", SEGMENTS_MAX, checks.uuid)
        grace_secs = self._settings.lifetimes.tombstone_grace
        outcome = self._transactions.write(
            lambda tx: tombstones.confirm(tx, ids, grace_secs=grace_secs)
        )
        return _verdict(outcome)


def _verdict(outcome: Confirmation) -> pb.ConfirmTombstoneDeletionResponse:
    if outcome.live_ids:
        refused, reason, words = outcome.live_ids, "SEGMENT_LIVE", "segments are live"
    elif outcome.early_ids:
        refused, reason = outcome.early_ids, "GRACE_NOT_OVER"
        words = "segments were not handed out yet, or their grace lasts, or a brake holds them"
    else:
        success = pb.ConfirmTombstoneDeletionSuccess(deleted_count=outcome.deleted)
        return pb.ConfirmTombstoneDeletionResponse(success=success)
    ids = [str(segment_id) for segment_id in refused]
    shown = ", ".join(ids[:10]) + (", ..." if len(ids) > 10 else "")
    return pb.ConfirmTombstoneDeletionResponse(
        error=pb.ConfirmTombstoneDeletionError(
            message=f"{len(ids)} {words}: {shown}", reason=reason, segment_ids=ids
        )
    )
