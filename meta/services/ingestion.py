"""IngestionService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import ingestion_pb2_grpc


class IngestionServicer(ingestion_pb2_grpc.IngestionServiceServicer):
    """IngestionService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
