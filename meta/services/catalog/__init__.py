"""CatalogService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import catalog_pb2_grpc


class CatalogServicer(catalog_pb2_grpc.CatalogServiceServicer):
    """CatalogService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
