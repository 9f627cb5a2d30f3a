"""OperationsService: one module per noun, joined here."""

from meta.change_feed import ChangeFeed
from meta.config import Settings
from meta.services.merge_registrar import MergeRegistrar
from meta.services.operations.access import AccessCalls
from meta.services.operations.audit import AuditCalls
from meta.services.operations.changes import ChangeCalls
from meta.services.operations.consistency import ConsistencyCalls
from meta.services.operations.damage import DamageCalls
from meta.services.operations.datasets import DatasetAdminCalls
from meta.services.operations.merge_plan import MergePlanCalls
from meta.services.operations.merges import MergeCalls
from meta.services.operations.nurseries import NurseryShardCalls
from meta.services.operations.object_checks import ObjectCheckCalls
from meta.services.operations.objects import ObjectCalls
from meta.services.operations.pins import PinCalls
from meta.services.operations.quarantine import QuarantineCalls
from meta.services.operations.registrations import RegistrationCalls
from meta.services.operations.repairs import RepairCalls
from meta.services.operations.rewrites import RewriteCalls
from meta.services.operations.state import StateCalls
from meta.services.operations.streams import StreamCalls
from meta.services.operations.tables import TableCalls
from meta.services.operations.unmerged_babies import UnmergedBabyCalls
from meta.services.operations.unread_segments import UnreadSegmentCalls
from meta.transactions import Transactions


class OperationsServicer(
    AccessCalls,
    AuditCalls,
    ChangeCalls,
    ConsistencyCalls,
    DamageCalls,
    DatasetAdminCalls,
    MergeCalls,
    MergePlanCalls,
    NurseryShardCalls,
    ObjectCalls,
    ObjectCheckCalls,
    PinCalls,
    QuarantineCalls,
    RegistrationCalls,
    RepairCalls,
    RewriteCalls,
    StateCalls,
    StreamCalls,
    TableCalls,
    UnmergedBabyCalls,
    UnreadSegmentCalls,
):
    """OperationsService; see docs/contract.md."""

    def __init__(
        self,
        transactions: Transactions,
        settings: Settings,
        feed: ChangeFeed,
        registrar: MergeRegistrar,
    ) -> None:
        super().__init__(transactions, settings)
        self._feed = feed
        self._registrar = registrar
