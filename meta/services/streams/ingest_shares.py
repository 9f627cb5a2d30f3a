"""Parts of a collector that tenants may use, in replies of GetUsage."""

from collections.abc import Iterable

from meta.services.streams.recent_records import RecentRecords
from meta.store.access import tenant_shares
from meta.store.catalog.usage import TokenUsage
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2 as pb


def read(
    tx: Transaction, records: RecentRecords[int], usages: Iterable[TokenUsage]
) -> dict[int, pb.IngestShare]:
    """The parts of the tenants of datasets, by their keys; none for a caller of a tenant."""
    if scope.tenant_key() is not None:
        return {}
    used_by_key = {used.tenant_key: used for used in usages if used.tenant_id is not None}
    shares_by_key = {key: tenant_shares.made(used.shares) for key, used in used_by_key.items()}
    limited = {key for key, shares in shares_by_key.items() if shares.records_per_month}
    counts = records.read(tx, limited)
    return {
        key: pb.IngestShare(
            tenant_id=str(used_by_key[key].tenant_id),
            percent=shares.percent,
            bytes_per_sec=shares.bytes_per_sec,
            records_limit=shares.records_per_month or None,
            records=counts.get(key, 0),
        )
        for key, shares in shares_by_key.items()
    }
