"""MergeTaskService."""

from meta.config import Settings
from meta.rpc import Transactions
from meta.v1 import merge_task_pb2_grpc


class MergeTaskServicer(merge_task_pb2_grpc.MergeTaskServiceServicer):
    """MergeTaskService; see docs/contract.md."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings
