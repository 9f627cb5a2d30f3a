"""Parts of a server that the functions of its own services work with."""

from dataclasses import dataclass, field

from meta.commits.change_feed import ChangeFeed
from meta.commits.merge_debts import MergeDebts
from meta.commits.merge_registrar import MergeRegistrar
from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.services.streams.recent_records import RecentRecords
from meta.store.access import creator_quotas, tenant_shares
from meta.store.access.token_secrets import TokenHasher


@dataclass(frozen=True, slots=True)
class ServerParts:
    """One server's transactions and settings, and what all of its calls share."""

    transactions: Transactions
    settings: Settings
    feed: ChangeFeed
    registrar: MergeRegistrar
    hasher: TokenHasher
    debts: MergeDebts
    reports: ProcessReports
    creators: RecentRecords[str] = field(
        default_factory=lambda: RecentRecords(creator_quotas.read_records)
    )
    tenant_records: RecentRecords[int] = field(
        default_factory=lambda: RecentRecords(tenant_shares.read_records)
    )
