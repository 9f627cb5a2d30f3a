"""OperationsService: one module per noun, joined here."""

from meta.commits.change_feed import ChangeFeed
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.access.access_tokens import AccessCalls
from meta.services.access.audit_log import AuditCalls
from meta.services.access.server_state import StateCalls
from meta.services.catalog.dataset_settings import DatasetAdminCalls
from meta.services.checks.consistency import ConsistencyCalls
from meta.services.checks.object_checks import ObjectCheckCalls
from meta.services.checks.repairs import RepairCalls
from meta.services.damage.damage import DamageCalls
from meta.services.damage.quarantine import QuarantineCalls
from meta.services.deletion.objects import ObjectCalls
from meta.services.iceberg.tables import TableCalls
from meta.services.lookup.changes import ChangeCalls
from meta.services.lookup.unmerged_babies import UnmergedBabyCalls
from meta.services.merging.exclusions import MergeCalls
from meta.services.merging.merge_plan import MergePlanCalls
from meta.services.pins.pins import PinCalls
from meta.services.registration.merge_registrar import MergeRegistrar
from meta.services.registration.registrations import RegistrationCalls
from meta.services.rewrites.rewrite_jobs import RewriteCalls
from meta.services.segments.unread_segments import UnreadSegmentCalls
from meta.services.streams.nursery_shards import NurseryShardCalls
from meta.services.streams.stream_offsets import StreamCalls


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
