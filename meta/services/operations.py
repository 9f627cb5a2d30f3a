"""OperationsService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import operations_pb2_grpc


class OperationsServicer(operations_pb2_grpc.OperationsServiceServicer):
    """OperationsService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
