"""The gateway's own client of meta in each tenant, over one connection."""

from meta.client import MetaClient
from segplane.gateway.http.readers import DatasetScope
from segplane.gateway.http.recent_values import RecentValues

KEPT_MAX = 1_000


class TenantClients:
    """Clients by tenant, which may be dropped at any time; safe for many threads.

    `default` is the client that is closed with the gateway; its calls name the tenant `default`.
    """

    def __init__(self, default: MetaClient) -> None:
        self.default = default
        self._clients: RecentValues[str, MetaClient] = RecentValues(KEPT_MAX)

    def of(self, scope: DatasetScope) -> MetaClient:
        """Return the client whose calls name the tenant of a caller."""
        if not scope.tenant:
            return self.default
        client = self._clients.find(scope.tenant)
        if client is None:
            client = self.default.in_tenant(scope.tenant)
            self._clients.keep(scope.tenant, client)
        return client
