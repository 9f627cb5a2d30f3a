"""A gateway that two tenants share, each with a dataset `shop/web` of one record."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from meta.client import MetaClient
from meta.config import Settings
from meta.roles import Role
from meta.v1 import catalog_pb2, operations_pb2
from segplane.gateway.console.settings import ConsoleSettings
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.groups import create_group
from tests.support.meta.resources import ResourceDriver
from tests.support.meta.tenants import (
    TwoTenants,
    guarded_for_tenants,
    new_token,
    operator_in,
    two_tenants,
)
from tests.support.nursery.drivers import CollectorDriver, nursery

NAMES = ("payments", "search")
_STATE = operations_pb2.GetServerStateRequest()
GATEWAY_TOKEN = "token-of-the-gateway"
NO_CONSOLE = ConsoleSettings()


@dataclass(frozen=True)
class SharedGateway:
    """A gateway, its meta, and for each tenant the id of its dataset and an admin's token."""

    tenants: TwoTenants
    gateway: GatewayServer
    datasets: dict[str, str]
    tokens: dict[str, str]
    tenant_ids: dict[str, str]

    def get(self, tenant: str, path: str, **headers: str) -> Answer:
        """Ask for a path with a tenant's token."""
        return self.gateway.get(path, **self.headers(tenant), **headers)

    def headers(self, tenant: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[tenant]}"}

    def bodies(self, tenant: str, text: str = "['shop/web'] | project body") -> list[str]:
        """Run a query that returns texts."""
        answer = self.gateway.query(text, headers=self.headers(tenant))
        assert answer.status == 200, answer.body
        return [row["body"] for row in answer.json]


def fill(operator: MetaClient, client: MetaClient, name: str) -> str:
    """Create `shop/web` with a record, and a view; returns the dataset's id."""
    create_group(client, "shop")
    dataset = ResourceDriver(client).make("dataset", "shop/web")
    CollectorDriver(operator, dataset, tenant_client=client).send(f"of {name}")
    client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="clicks"))
    return dataset


@contextmanager
def shared_gateway(
    settings: Settings, pool: SharedPool, console: ConsoleSettings = NO_CONSOLE
) -> Iterator[SharedGateway]:
    """Run both over a new meta."""
    Path("/", settings.location.path).mkdir(exist_ok=True)
    with guarded_for_tenants(settings) as guard, two_tenants(guard) as tenants:
        datasets = {name: fill(guard.admin, getattr(tenants, name), name) for name in NAMES}
        nursery(guard.admin).cycle()
        tokens, tenant_ids = {}, {}
        for name in NAMES:
            with operator_in(guard, name) as operator:
                tokens[name] = new_token(operator, Role.TENANT_ADMIN, "ann").plaintext_token
            caller = getattr(tenants, name).operations.GetServerState(_STATE).caller
            tenant_ids[name] = caller.tenant_id
        token = guard.token(Role.GATEWAY).plaintext_token
        gateway = GatewayServer(
            guard.address,
            token,
            pool=pool,
            auth_token=GATEWAY_TOKEN,
            meta_auth_token=token,
            console=console,
            replay_token=guard.token(Role.ADMIN).plaintext_token,
        )
        try:
            yield SharedGateway(tenants, gateway, datasets, tokens, tenant_ids)
        finally:
            gateway.close()
