"""SegmentDeletionService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import segment_deletion_pb2_grpc


class SegmentDeletionServicer(segment_deletion_pb2_grpc.SegmentDeletionServiceServicer):
    """SegmentDeletionService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
