"""JanitorService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import janitor_pb2_grpc


class JanitorServicer(janitor_pb2_grpc.JanitorServiceServicer):
    """JanitorService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
