"""Where the records of a stream are: offsets at a version, one baby, usage."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import operations_pb2_grpc


class StreamCalls(operations_pb2_grpc.OperationsServiceServicer):
    """The stream calls of OperationsService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
