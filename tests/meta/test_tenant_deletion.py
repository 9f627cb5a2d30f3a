"""Datasets, tokens and entries of a tenant: kept in a suspension, deleted after a grace."""

from dataclasses import replace

import psycopg
import pytest

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import NotFound, UndeleteExpired
from meta.process.shutdown import Shutdown
from meta.store.deletion import dataset_deletion, retention
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2, operations_pb2, status_pb2
from meta.watches.tenant_purge import TenantPurge
from tests.meta.test_dataset_holds import keep_briefly
from tests.meta.test_tenants import execute, give
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, undelete
from tests.support.meta.groups import create_group
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import TenantDriver


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def tenants(meta_client: MetaClient) -> TenantDriver:
    return TenantDriver(meta_client)


@pytest.fixture
def transactions(meta_server: MetaServer) -> Transactions:
    return Transactions(meta_server.running.database)


@pytest.fixture
def purge(meta_server: MetaServer) -> TenantPurge:
    return TenantPurge(meta_server.running.database, meta_server.settings, Shutdown())


def end_grace(server: MetaServer) -> None:
    execute(server, "UPDATE tenants SET deleted_at = deleted_at - interval '8 days'")


def live(server: MetaServer, table: str, end: str) -> int:
    with psycopg.connect(server.settings.database.url) as connection:
        statement = f"SELECT count(*) FROM {table} WHERE tenant_key > 0 AND {end} IS NULL"  # noqa: S608
        (count,) = connection.execute(statement).fetchone() or (0,)
    return int(count)


def test_retention_leaves_the_datasets_of_a_suspended_tenant(
    meta_client: MetaClient,
    tenants: TenantDriver,
    transactions: Transactions,
    catalog: CatalogDriver,
    writer: Writer,
    meta_server: MetaServer,
) -> None:
    web, other = catalog.dataset("web"), catalog.dataset("other")
    kept, expired = writer.save_many(web, 2), writer.save_many(other, 2)
    for dataset in (web, other):
        keep_briefly(meta_client, dataset)
    give(meta_server, web, tenants.create("payments"))
    tenants.suspend("payments")

    assert transactions.write(retention.bury_expired) == 2
    assert sorted(one.segment_id for one in writer.due()) == sorted(expired)
    plan = meta_client.status.PlanDeletion(status_pb2.PlanDeletionRequest(dataset_id=web))
    assert [(row.obstacle, row.segments) for row in plan.waiting] == [
        (status_pb2.DELETION_OBSTACLE_SUSPENDED, 2)
    ]
    tenants.resume("payments")
    assert transactions.write(retention.bury_expired) == 2
    # Tombstones of before a suspension stay as well.
    tenants.suspend("payments")
    assert not {one.segment_id for one in writer.due()} & set(kept)
    tenants.resume("payments")
    assert set(kept) <= {one.segment_id for one in writer.due()}


def test_a_deleted_dataset_of_a_suspended_tenant_is_not_purged(
    meta_client: MetaClient,
    tenants: TenantDriver,
    transactions: Transactions,
    catalog: CatalogDriver,
    writer: Writer,
    meta_server: MetaServer,
) -> None:
    web = catalog.dataset("web")
    writer.save_many(web, 2)
    delete(meta_client, web)
    give(meta_server, web, tenants.create("payments"))
    tenants.suspend("payments")
    execute(
        meta_server,
        "UPDATE datasets SET deleted_at = now() - interval '30 days' WHERE deleted_at IS NOT NULL",
    )

    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 60.0)) == 0
    # A deletion of the tenant counts more than its suspension.
    tenants.delete("payments")
    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 60.0)) == 2


def give_all(client: MetaClient, server: MetaServer) -> None:
    """Make a view, a schema and an access token, and give all that there is to a tenant."""
    client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="clicks"))
    columns = [common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)]
    client.catalog.CreateSchema(catalog_pb2.CreateSchemaRequest(name="click", columns=columns))
    client.operations.CreateAccessToken(
        operations_pb2.CreateAccessTokenRequest(subject="ann", role="reader")
    )
    for table in ("datasets", "ingest_tokens", "access_tokens", "views", "schemas", "groups"):
        condition = "NOT is_default" if table == "datasets" else "true"
        execute(
            server,
            f"UPDATE {table} SET tenant_key = (SELECT max(key) FROM tenants)"  # noqa: S608
            f" WHERE {condition}",
        )


def test_a_deleted_tenant_keeps_everything_in_its_grace_and_nothing_after_it(
    meta_client: MetaClient,
    tenants: TenantDriver,
    transactions: Transactions,
    purge: TenantPurge,
    catalog: CatalogDriver,
    writer: Writer,
    meta_server: MetaServer,
) -> None:
    create_group(meta_client, "shop")
    web, held = catalog.dataset("shop/web"), catalog.dataset("held")
    writer.save_many(web, 2)
    token = catalog.token(web)
    tenant = tenants.create("payments")
    give_all(meta_client, meta_server)
    lock = LockDriver(meta_client).lock("dataset", held)
    tenants.delete("payments")

    purge.run_round()
    assert live(meta_server, "datasets", "deleted_at") == 2

    end_grace(meta_server)
    purge.run_round()
    for table, end, left in (
        ("datasets", "deleted_at", 1),
        ("ingest_tokens", "revoked_at", 0),
        ("access_tokens", "revoked_at", 0),
        ("views", "NULL", 0),
        ("schemas", "NULL", 0),
        ("groups", "deleted_at", 1),
    ):
        assert (table, live(meta_server, table, end)) == (table, left)
    request = ingest_token_pb2.GetIngestTokenRequest(token_id=token.id)
    assert meta_client.ingest_token.GetIngestToken(request).token.revoked_at
    with pytest.raises(NotFound):
        tenants.undelete(tenant.id)
    with pytest.raises(UndeleteExpired):
        undelete(meta_client, web)

    assert transactions.write(lambda tx: dataset_deletion.purge(tx, 7 * 86_400.0)) == 2
    LockDriver(meta_client).unlock("dataset", held, lock.token)
    execute(meta_server, "UPDATE datasets SET hold_ends_at = hold_ends_at - interval '1 day'")
    purge.run_round()
    transactions.write(lambda tx: dataset_deletion.purge(tx, 7 * 86_400.0))
    purge.run_round()
    assert live(meta_server, "datasets", "purged_at") == 0
    assert live(meta_server, "groups", "deleted_at") == 0


def test_a_dataset_of_a_deleted_tenant_waits_for_records_that_are_not_merged(
    tenants: TenantDriver,
    purge: TenantPurge,
    catalog: CatalogDriver,
    collector: IngestionDriver,
    nursery: NurseryDriver,
    meta_server: MetaServer,
) -> None:
    web = catalog.dataset("web")
    stream = collector.register(catalog.token(web)).stream_id
    collector.commit(stream, 0, web)
    give(meta_server, web, tenants.create("payments"))
    execute(meta_server, "UPDATE ingest_tokens SET tenant_key = (SELECT max(key) FROM tenants)")
    tenants.delete("payments")
    end_grace(meta_server)

    purge.run_round()
    assert live(meta_server, "datasets", "deleted_at") == 1
    nursery.merge(web, stream, -1, 0)
    nursery.stop(stream, 0)
    nursery.reap(stream, 0)
    nursery.remove_entry(stream, web, 0)
    purge.run_round()

    assert live(meta_server, "datasets", "deleted_at") == 0
