"""A move that a restored database has forgotten is made whatever the former tenant has by then."""

from uuid import UUID

import pytest

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.store.recovery import returned_tenants
from meta.store.tenancy import repeated_moves
from meta.v1 import catalog_pb2, common_pb2
from segments.noted_names import DELETED, SUSPENDED, NotedName
from tests.meta.test_dataset_moves import bound, rows, tenant_of
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import TenantDriver


@pytest.fixture
def tenants(meta_client: MetaClient) -> TenantDriver:
    return TenantDriver(meta_client)


@pytest.fixture
def transactions(meta_server: MetaServer) -> Transactions:
    return Transactions(meta_server.running.database)


def _linked(client: MetaClient, dataset: str) -> None:
    view = client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="clicks")).id
    text = catalog_pb2.CreateProjectionRequest(name="clicks", projection="project body")
    projection = client.catalog.CreateProjection(text).id
    client.catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(
            dataset_id=dataset, view_id=view, projection_id=projection
        )
    )


def test_the_former_tenant_reaches_a_dataset_by_nothing(
    meta_client: MetaClient,
    meta_server: MetaServer,
    tenants: TenantDriver,
    transactions: Transactions,
    catalog: CatalogDriver,
) -> None:
    payments = tenants.create("payments")
    dataset, taken = catalog.dataset("web"), catalog.dataset("web 2")
    tenants.move(taken, "payments", new_name="web")
    bound(meta_client, dataset)
    _linked(meta_client, dataset)
    token = catalog.token(dataset)
    with MetaClient(meta_server.address, tenant="payments") as client:
        column = common_pb2.Column(name="other", type=common_pb2.KQL_TYPE_STRING)
        other = catalog_pb2.CreateSchemaRequest(name="click", columns=[column])
        client.catalog.CreateSchema(other)
    later = {UUID(dataset): (7, NotedName("web", tenant_id=payments.id))}

    assert transactions.write(lambda tx: repeated_moves.repeat(tx, later)) == 1
    assert transactions.write(lambda tx: repeated_moves.repeat(tx, later)) == 0

    assert tenant_of(meta_server, dataset) == "payments"
    links = "SELECT count(*) FROM view_dataset_projections"
    routes = "SELECT logs_dataset_id FROM ingest_tokens WHERE id = %(id)s"
    names = "SELECT name, name_number, noted_number FROM datasets WHERE id = %(id)s"
    schemas = """
        SELECT s.tenant_key = d.tenant_key, s.name FROM schema_bindings b
        JOIN schemas s ON s.id = b.schema_id JOIN datasets d ON d.id = b.dataset_id
    """
    assert rows(meta_server, links) == [(0,)]
    assert rows(meta_server, routes, id=token.id) == [(None,)]
    # Both names were taken, so that of the dataset is noted under the next number.
    assert rows(meta_server, names, id=dataset) == [(f"returned-{dataset}", 8, 7)]
    ((is_of_tenant, schema),) = rows(meta_server, schemas)
    assert is_of_tenant
    assert schema.startswith("returned-")


def test_a_dataset_of_a_tenant_that_is_gone_is_unassigned(
    meta_server: MetaServer,
    tenants: TenantDriver,
    transactions: Transactions,
    catalog: CatalogDriver,
) -> None:
    tenants.create("payments")
    dataset = catalog.dataset("web")
    noted = NotedName("web", tenant_id="00000000-0000-7000-8000-00000000000f")

    transactions.write(lambda tx: repeated_moves.repeat(tx, {UUID(dataset): (7, noted)}))

    assert tenant_of(meta_server, dataset) == "unassigned"


def test_tenants_swap_names_and_one_that_cannot_be_read_is_suspended(
    meta_server: MetaServer, tenants: TenantDriver, transactions: Transactions
) -> None:
    first, second, damaged, ended = (
        UUID(tenants.create(name).id) for name in ("first", "second", "damaged", "ended")
    )
    rival, new = UUID(int=1), UUID(int=2)
    later = {
        first: (9, NotedName("second")),
        second: (9, NotedName("first")),
        damaged: (9, None),
        ended: (9, NotedName("ended", state=DELETED)),
        new: (3, NotedName("new", state=SUSPENDED)),
        rival: (3, NotedName("second")),
    }

    assert transactions.write(lambda tx: returned_tenants.repeat(tx, later)) == 6

    states = """
        SELECT id, name, suspended_at IS NOT NULL, deleted_at IS NOT NULL,
          name_number, noted_number FROM tenants WHERE key <> 0
    """
    assert {row[0]: row[1:] for row in rows(meta_server, states)} == {
        first: ("second", False, False, 9, 9),
        second: ("first", False, False, 9, 9),
        damaged: ("damaged", True, False, 10, 9),
        ended: ("ended", False, True, 9, 9),
        new: ("new", True, False, 3, 3),
        rival: (f"returned-{rival}", False, False, 4, 3),
    }
