"""Moves of datasets to other tenants: what is refused, what goes along, and what is taken away."""

from typing import Any

import psycopg
import pytest

from meta.client import MetaClient
from meta.errors import (
    DatasetProtected,
    InvalidArgument,
    Locked,
    NameTaken,
    NotFound,
    StillReferenced,
)
from meta.store.tenancy import dataset_moves
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2, operations_pb2
from meta.v1 import resources_pb2 as pb
from tests.meta.test_tenants import execute
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename, set_settings
from tests.support.meta.groups import create_group
from tests.support.meta.resource_locks import LockDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import TenantDriver

PAYMENTS = "payments"


@pytest.fixture
def tenants(meta_client: MetaClient) -> TenantDriver:
    driver = TenantDriver(meta_client)
    driver.create(PAYMENTS)
    return driver


def rows(server: MetaServer, statement: str, **values: object) -> list[Any]:
    with psycopg.connect(server.settings.database.url) as connection:
        return connection.execute(statement, values).fetchall()


def tenant_of(server: MetaServer, dataset: str) -> str:
    statement = """
        SELECT t.name FROM datasets d JOIN tenants t ON t.key = d.tenant_key WHERE d.id = %(id)s
    """
    ((name,),) = rows(server, statement, id=dataset)
    return str(name)


def bound(client: MetaClient, dataset: str, name: str = "click") -> str:
    """Bind a dataset to a new schema of two versions."""
    columns = [common_pb2.Column(name=c, type=common_pb2.KQL_TYPE_LONG) for c in ("a", "b")]
    create = catalog_pb2.CreateSchemaRequest(name=name, columns=columns)
    schema = client.catalog.CreateSchema(create).id
    added = [common_pb2.Column(name="c", type=common_pb2.KQL_TYPE_STRING)]
    client.catalog.UpdateSchema(catalog_pb2.UpdateSchemaRequest(id=schema, add_columns=added))
    binding = operations_pb2.SchemaBinding(schema_id=schema)
    set_settings(client, dataset, operations_pb2.DatasetSettings(binding=binding))
    return schema


def test_a_dataset_moves_with_all_its_versions(
    tenants: TenantDriver,
    meta_client: MetaClient,
    catalog: CatalogDriver,
    writer: Writer,
    meta_server: MetaServer,
) -> None:
    create_group(meta_client, "shop")
    web = catalog.dataset("old")
    writer.save_many(web, 2)
    rename(meta_client, web, "shop/web")

    moved = tenants.move(web, PAYMENTS)

    assert (moved.success, moved.dataset_name, moved.num_tokens) == (True, "web", 0)
    assert (moved.former_tenant.name, moved.tenant.name) == ("default", PAYMENTS)
    assert tenant_of(meta_server, web) == PAYMENTS
    again = tenants.move(web, PAYMENTS)
    assert (again.success, again.dataset_name) == (False, "web")
    # Older versions show it under the name that it has now, in no group of the former tenant.
    kept = rows(
        meta_server,
        "SELECT v.tenant_key > 0, v.name, v.group_id, d.moved_version > 0 FROM dataset_visibility v"
        " JOIN datasets d ON d.key = v.dataset_key WHERE d.id = %(id)s",
        id=web,
    )
    assert kept == [(True, None, None, True)] * 2
    # The name is free where it was.
    assert catalog.dataset("shop/web") != web
    assert tenants.usage(PAYMENTS)[0].bytes_stored > 0
    back = tenants.move(web, "default", new_name="web again")
    assert (back.success, back.dataset_name) == (True, "web again")
    assert tenant_of(meta_server, web) == "default"
    audit = operations_pb2.ListAuditRecordsRequest(rpc="MoveDatasetToTenant")
    newest, _ = meta_client.operations.ListAuditRecords(audit).records
    assert newest.subject_id == web
    assert newest.detail == '{"before": "payments", "after": "default"}'


def test_tokens_send_nothing_to_a_moved_dataset(
    tenants: TenantDriver,
    meta_client: MetaClient,
    catalog: CatalogDriver,
    meta_server: MetaServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dataset_moves, "TOKENS_AT_ONCE", 2)
    web, other = catalog.dataset("web"), catalog.dataset("other")
    tokens = [catalog.token(web) for _ in range(5)]
    catalog.route(tokens[0], logs=web, traces=other)
    revoked = catalog.token(web)
    catalog.revoke(revoked)

    planned = tenants.move(web, PAYMENTS, dry_run=True)
    assert (planned.num_tokens, len(planned.tokens)) == (5, 2)
    assert planned.success
    assert tenant_of(meta_server, web) == "default"
    tenants.move(web, PAYMENTS)

    routings = []
    for token in tokens:
        request = ingest_token_pb2.GetIngestTokenRequest(token_id=token.id)
        routings.append(meta_client.ingest_token.GetIngestToken(request).token.routing)
    assert routings[0] == ingest_token_pb2.IngestTokenRouting(traces_dataset_id=other)
    assert routings[1:] == [ingest_token_pb2.IngestTokenRouting()] * 4
    assert tenant_of(meta_server, web) == PAYMENTS


def test_a_view_of_the_former_tenant_keeps_a_dataset(
    tenants: TenantDriver, meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    web = catalog.dataset("web")
    view = meta_client.catalog.CreateView(catalog_pb2.CreateViewRequest(name="clicks")).id
    projection = meta_client.catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(name="plain", projection="project body")
    ).id
    link = {"dataset_id": web, "view_id": view, "projection_id": projection}
    meta_client.catalog.LinkViewDatasetProjection(
        catalog_pb2.LinkViewDatasetProjectionRequest(**link)
    )
    for dry_run in (True, False):
        with pytest.raises(StillReferenced) as refused:
            tenants.move(web, PAYMENTS, dry_run=dry_run, copy_schema=True)
        assert refused.value.metadata["blockers"] == "view clicks"
    meta_client.catalog.UnlinkViewDatasetProjection(
        catalog_pb2.UnlinkViewDatasetProjectionRequest(**link)
    )
    assert tenants.move(web, PAYMENTS).success


def test_a_schema_is_copied_with_its_versions_or_keeps_the_dataset(
    tenants: TenantDriver, meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    first, second, third = (catalog.dataset(name) for name in ("first", "second", "third"))
    schema = bound(meta_client, first)
    binding = operations_pb2.SchemaBinding(schema_id=schema)
    for dataset in (second, third):
        set_settings(meta_client, dataset, operations_pb2.DatasetSettings(binding=binding))
    with pytest.raises(StillReferenced) as refused:
        tenants.move(first, PAYMENTS)
    assert refused.value.metadata["blockers"] == "schema click"

    moved = [tenants.move(dataset, PAYMENTS, copy_schema=True) for dataset in (first, second)]

    assert [reply.copied_schema for reply in moved] == ["click", "click"]
    copies = rows(
        meta_server,
        "SELECT DISTINCT s.id::text, s.name, s.version, s.tenant_key > 0,"
        " ARRAY(SELECT name FROM schema_columns WHERE schema_id = s.id ORDER BY position),"
        " ARRAY(SELECT names FROM schema_versions WHERE schema_id = s.id ORDER BY version)"
        " FROM schemas s JOIN schema_bindings b ON b.schema_id = s.id"
        " WHERE b.dataset_id = ANY(%(ids)s)",
        ids=[first, second],
    )
    assert copies == [(copies[0][0], "click", 2, True, ["a", "b", "c"], [["a", "b"]])]
    assert copies[0][0] != schema
    # Another schema of that name is not taken.
    removed = catalog_pb2.UpdateSchemaRequest(id=copies[0][0], remove_columns=["c"])
    meta_client.catalog.UpdateSchema(removed)
    with pytest.raises(NameTaken, match="another schema"):
        tenants.move(third, PAYMENTS, copy_schema=True)


def test_what_cannot_move_is_refused(
    tenants: TenantDriver, meta_client: MetaClient, catalog: CatalogDriver, meta_server: MetaServer
) -> None:
    web = catalog.dataset("web")
    lock = LockDriver(meta_client).lock("dataset", web)
    for dry_run in (True, False):
        with pytest.raises(Locked):
            tenants.move(web, PAYMENTS, dry_run=dry_run)
    LockDriver(meta_client).unlock("dataset", web, lock.token)
    for name, match in (("shop/web", "has a group"), ("main", "schema of SQL"), ("a/b/c", "slash")):
        with pytest.raises(InvalidArgument, match=match):
            tenants.move(web, PAYMENTS, new_name=name)
    ((default,),) = rows(meta_server, "SELECT id::text FROM datasets WHERE is_default")
    with pytest.raises(DatasetProtected):
        tenants.move(default, PAYMENTS)
    with pytest.raises(NotFound, match="no such tenant"):
        tenants.move(web, "billing")
    gone = catalog.dataset("gone")
    delete(meta_client, gone)
    with pytest.raises(NotFound, match="no such dataset"):
        tenants.move(gone, PAYMENTS)
    with pytest.raises(InvalidArgument, match="neither"):
        meta_client.resources.MoveDatasetToTenant(pb.MoveDatasetToTenantRequest(dataset_id=web))
    deleted = tenants.create("billing")
    tenants.delete("billing")
    by_id = pb.MoveDatasetToTenantRequest(dataset_id=web, tenant_id=deleted.id)
    with pytest.raises(NotFound, match="is deleted"):
        meta_client.resources.MoveDatasetToTenant(by_id)
    execute(meta_server, "UPDATE datasets SET name = 'a/b' WHERE id = %(id)s", id=web)
    with pytest.raises(InvalidArgument, match="slash"):
        tenants.move(web, PAYMENTS)


def test_a_name_that_the_tenant_has_or_had_is_taken(
    tenants: TenantDriver, meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    first = catalog.dataset("web")
    tenants.move(first, PAYMENTS)
    second = catalog.dataset("web")
    with pytest.raises(NameTaken, match="has or had this name"):
        tenants.move(second, PAYMENTS)
    # Versions that can be read show the first one under the name.
    rename(meta_client, first, "former")
    with pytest.raises(NameTaken, match="has or had this name"):
        tenants.move(second, PAYMENTS, dry_run=True)

    assert tenants.move(second, PAYMENTS, new_name="site").dataset_name == "site"
