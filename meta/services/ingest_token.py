"""IngestTokenService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import ingest_token_pb2_grpc


class IngestTokenServicer(ingest_token_pb2_grpc.IngestTokenServiceServicer):
    """IngestTokenService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
