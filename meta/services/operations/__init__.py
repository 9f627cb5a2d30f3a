"""OperationsService: one module per noun, joined here."""

from meta.services.operations.consistency import ConsistencyCalls
from meta.services.operations.datasets import DatasetAdminCalls
from meta.services.operations.merges import MergeCalls
from meta.services.operations.nurseries import NurseryShardCalls
from meta.services.operations.objects import ObjectCalls
from meta.services.operations.state import StateCalls
from meta.services.operations.streams import StreamCalls


class OperationsServicer(
    ConsistencyCalls,
    DatasetAdminCalls,
    MergeCalls,
    NurseryShardCalls,
    ObjectCalls,
    StateCalls,
    StreamCalls,
):
    """OperationsService; see docs/contract.md."""
