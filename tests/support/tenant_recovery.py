"""Two tenants with equal names, whose records are in the bucket."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from meta.client import MetaClient
from meta.config import Settings
from meta.server import server
from segplane.read.lookup import all_datasets
from tests.support.meta.groups import create_group
from tests.support.meta.resources import ResourceDriver
from tests.support.meta.tenants import TenantDriver
from tests.support.nursery.drivers import CollectorDriver, nursery

TENANTS = ("payments", "search")


@dataclass(frozen=True)
class Clients:
    """A client of an operator, and of the same one in each tenant."""

    operator: MetaClient
    in_tenant: dict[str, MetaClient]

    def names(self) -> dict[str, str]:
        """The datasets of all tenants but the first one of meta, by their names."""
        datasets = all_datasets(self.operator, all_tenants=True)
        return {d.name: d.id for d in datasets if d.name != "default"}


@contextmanager
def running(settings: Settings, database_url: str = "") -> Iterator[Clients]:
    """Run a meta in this process."""
    url = database_url or settings.database.url
    Path("/", settings.location.path).mkdir(exist_ok=True)
    started = server.start(replace(settings, database=replace(settings.database, url=url)))
    address = f"127.0.0.1:{started.port}"
    try:
        with ExitStack() as stack:
            operator = stack.enter_context(MetaClient(address))
            in_tenant = {
                name: stack.enter_context(MetaClient(address, tenant=name)) for name in TENANTS
            }
            yield Clients(operator, in_tenant)
    finally:
        started.stop(2.0)


def make_tenants(clients: Clients) -> dict[str, CollectorDriver]:
    """Create the tenants, each with `shop/web`, one record in it; returns their collectors."""
    collectors = {}
    for name in TENANTS:
        TenantDriver(clients.operator).create(name)
        client = clients.in_tenant[name]
        create_group(client, "shop")
        dataset = ResourceDriver(client).make("dataset", "shop/web")
        collectors[name] = CollectorDriver(clients.operator, dataset, tenant_client=client)
        collectors[name].send(f"of {name}")
    nursery(clients.operator).cycle()
    return collectors
