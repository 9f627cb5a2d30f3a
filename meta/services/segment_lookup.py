"""SegmentLookupService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import segment_lookup_pb2_grpc


class SegmentLookupServicer(segment_lookup_pb2_grpc.SegmentLookupServiceServicer):
    """SegmentLookupService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
