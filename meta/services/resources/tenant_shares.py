"""Shares of tenants: set, and written into replies."""

from typing import Literal

from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import tenant_shares, tenants
from meta.store.engine.pool import Transaction
from meta.v1 import resources_pb2 as pb

PERCENT_MAX = 100
_QUOTAS: tuple[Literal["datasets", "records_per_month", "bytes_per_sec"], ...] = (
    "datasets",
    "records_per_month",
    "bytes_per_sec",
)


def set_tenant_shares(
    server: ServerParts, request: pb.SetTenantSharesRequest
) -> pb.SetTenantSharesResponse:
    """Set the given shares of a tenant; those in effect already are fine."""
    identifier = checks.identifier(request)
    values: dict[str, int] = {
        n: checks.count(getattr(request, n), n, low=-1) for n in _QUOTAS if request.HasField(n)
    }
    if request.HasField("percent"):
        values["percent"] = checks.count(request.percent, "percent", high=PERCENT_MAX)

    def work(tx: Transaction) -> tuple[pb.TenantShares, pb.TenantShares]:
        tenant = tenants.get(tx, identifier)
        tenant_shares.change(tx, tenant, values)
        return messages(tx, tenant)

    shares, in_force = server.transactions.write(work)
    return pb.SetTenantSharesResponse(shares=shares, shares_in_force=in_force)


def messages(tx: Transaction, tenant: tenants.Tenant) -> tuple[pb.TenantShares, pb.TenantShares]:
    """The shares of a tenant as they were set, and those in force."""
    stored, in_force = tenant_shares.read(tx, tenant)
    return filled(pb.TenantShares, stored), filled(pb.TenantShares, in_force)
