"""NurseryService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import nursery_pb2_grpc


class NurseryServicer(nursery_pb2_grpc.NurseryServiceServicer):
    """NurseryService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
