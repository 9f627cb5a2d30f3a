"""Tenants: created, listed, renamed, suspended, deleted and restored; their usage."""

from functools import partial

import psycopg
import pytest

from meta.client import MetaClient
from meta.errors import (
    InvalidArgument,
    NameTaken,
    NotFound,
    QuotaExceeded,
    UndeleteExpired,
    UpgradeUnfinished,
)
from meta.store.access.tenants import TENANTS_MAX
from meta.v1 import operations_pb2
from meta.v1 import resources_pb2 as pb
from tests.meta.test_stream_races import together
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer
from tests.support.meta.tenants import TenantDriver

DEFAULT_ID = "00000000-0000-7000-8000-000000000000"
ROUNDS = 8


@pytest.fixture
def tenants(meta_client: MetaClient) -> TenantDriver:
    return TenantDriver(meta_client)


def execute(server: MetaServer, statement: str, **values: object) -> None:
    with psycopg.connect(server.settings.database.url) as connection:
        connection.execute(statement, values)


def give(server: MetaServer, dataset: str, tenant: pb.Tenant) -> None:
    """Give a dataset to a tenant, behind the back of meta."""
    execute(
        server,
        "UPDATE datasets SET tenant_key = (SELECT key FROM tenants WHERE id = %(tenant)s)"
        " WHERE id = %(dataset)s",
        tenant=tenant.id,
        dataset=dataset,
    )


def test_a_tenant_is_created_renamed_and_listed(
    meta_client: MetaClient, tenants: TenantDriver
) -> None:
    made = tenants.create("payments")

    assert tenants.create("payments") == made
    assert tenants.rename("payments", "billing").id == made.id
    assert tenants.rename("billing", "billing") == tenants.get("billing")
    assert tenants.names() == ["default", "billing"]
    assert tenants.get(id=DEFAULT_ID).name == "default"
    assert (made.HasField("suspended_at"), made.HasField("deleted_at")) == (False, False)
    with pytest.raises(NotFound, match="no such tenant"):
        tenants.get("payments")
    # The former name is free.
    assert tenants.create("payments").id != made.id
    with pytest.raises(NameTaken, match="another tenant"):
        tenants.rename("payments", "billing")
    audit = meta_client.operations.ListAuditRecords(operations_pb2.ListAuditRecordsRequest())
    calls = [(record.rpc, record.subject_id) for record in audit.records]
    assert calls[-2:] == [("RenameTenant", made.id), ("CreateTenant", made.id)]


@pytest.mark.one_meta
@pytest.mark.parametrize("name", ["default", "Default", "segplane", "a/b", ".", "main", "", " a"])
def test_names_that_a_door_reads_in_another_way_are_reserved(
    meta_client: MetaClient, name: str
) -> None:
    with pytest.raises(InvalidArgument, match="name"):
        TenantDriver(meta_client).create(name)


def test_nobody_calls_a_tenant_unassigned(tenants: TenantDriver) -> None:
    tenants.create("payments")
    for call in (
        partial(tenants.create, "Unassigned"),
        partial(tenants.rename, "payments", "unassigned"),
    ):
        with pytest.raises(InvalidArgument, match="reserved"):
            call()


@pytest.mark.one_meta
@pytest.mark.parametrize("call", ["suspend", "resume", "delete"])
def test_the_tenant_default_stays_as_it_is(meta_client: MetaClient, call: str) -> None:
    tenants = TenantDriver(meta_client)
    with pytest.raises(InvalidArgument, match="default stays"):
        getattr(tenants, call)("default")
    with pytest.raises(InvalidArgument, match="default stays"):
        tenants.rename("default", "other")


def test_a_suspension_is_repeated_and_ended(tenants: TenantDriver) -> None:
    tenants.create("payments")

    suspended = tenants.suspend("payments")

    assert suspended.HasField("suspended_at")
    assert tenants.suspend("payments") == suspended
    assert not tenants.resume("payments").HasField("suspended_at")
    assert not tenants.resume("payments").HasField("suspended_at")


def test_a_deleted_tenant_comes_back_in_its_grace(tenants: TenantDriver) -> None:
    made = tenants.create("payments")

    assert tenants.delete("payments") is True
    assert tenants.delete("payments") is False
    assert tenants.get(id=made.id).HasField("deleted_at")
    other = tenants.create("payments")
    with pytest.raises(NameTaken, match="another tenant"):
        tenants.undelete(made.id)
    tenants.rename("payments", "billing")

    assert tenants.undelete(made.id) == made
    assert tenants.undelete(made.id) == made
    assert tenants.names() == ["default", "payments", "billing"]
    assert tenants.get("billing").id == other.id


def test_a_tenant_does_not_come_back_after_its_grace(
    tenants: TenantDriver, meta_server: MetaServer
) -> None:
    made = tenants.create("payments")
    tenants.delete("payments")
    execute(meta_server, "UPDATE tenants SET deleted_at = now() - interval '8 days' WHERE key > 0")

    with pytest.raises(UndeleteExpired):
        tenants.undelete(made.id)


def test_one_tenant_more_than_the_limit_is_refused(
    tenants: TenantDriver, meta_server: MetaServer
) -> None:
    execute(
        meta_server,
        "INSERT INTO tenants (id, name) SELECT gen_random_uuid(), 't' || n"
        " FROM generate_series(3, %(most)s) n",
        most=TENANTS_MAX,
    )
    tenants.create("a")

    with pytest.raises(QuotaExceeded, match="there are 10000 tenants already"):
        tenants.create("c")
    assert tenants.create("a")
    # One in its grace can come back.
    tenants.delete("a")
    with pytest.raises(QuotaExceeded):
        tenants.create("c")


def test_all_tenants_are_read_in_pages(meta_client: MetaClient, meta_server: MetaServer) -> None:
    execute(
        meta_server,
        "INSERT INTO tenants (id, name) SELECT gen_random_uuid(), 't' || n"
        " FROM generate_series(1, 250) n",
    )
    request, names = pb.ListTenantsRequest(), list[str]()
    request.pagination.limit = 100
    for page in (100, 100, 51):
        reply = meta_client.resources.ListTenants(request)
        assert (len(reply.tenants), reply.pagination.total) == (page, 251)
        names += [tenant.name for tenant in reply.tenants]
        request.pagination.after = reply.pagination.next_cursor
    assert not request.pagination.after
    assert len(set(names)) == 251


def test_a_second_tenant_waits_for_the_end_of_the_upgrade(
    tenants: TenantDriver, meta_server: MetaServer
) -> None:
    execute(meta_server, "UPDATE meta_state SET least_release = NULL")

    with pytest.raises(UpgradeUnfinished, match="segplane migrate --finish"):
        tenants.create("payments")


def test_two_creations_of_a_tenant_make_one(tenants: TenantDriver) -> None:
    for number in range(ROUNDS):
        create = partial(tenants.create, f"t{number}")

        first, second = together(create, create)

        assert first == second


def test_the_usage_of_a_tenant_is_that_of_its_datasets(
    tenants: TenantDriver, catalog: CatalogDriver, writer: Writer, meta_server: MetaServer
) -> None:
    payments = tenants.create("payments")
    made = [catalog.dataset(name) for name in ("web", "api")]
    writer.save_many(made[0], 3)
    for number, dataset in enumerate(made):
        give(meta_server, dataset, payments)
        execute(
            meta_server,
            "INSERT INTO dataset_usage (dataset_id, month, slot, records)"
            " SELECT %(dataset)s, m, s, 10 FROM unnest(ARRAY[to_char(now() AT TIME ZONE 'UTC',"
            " 'YYYY-MM'), '2026-01']) m, generate_series(1, 2 + %(number)s) s",
            dataset=dataset,
            number=number,
        )

    execute(
        meta_server,
        "INSERT INTO costs SELECT day, t.key, %(dataset)s, kind, 5, 0, 0, 0 FROM tenants t,"
        " unnest(ARRAY[1, 2]) kind, unnest(ARRAY[current_date, '2026-01-01', '2026-01-31']::date[])"
        " day WHERE t.name = 'payments'",
        dataset=made[0],
    )
    execute(
        meta_server,
        "INSERT INTO cost_months SELECT '2026-01-01', key, %(dataset)s, 2, 7, 0, 0, 0 FROM tenants",
        dataset=made[0],
    )

    now, january = tenants.usage("payments")
    by_name = {usage.tenant_name: usage for usage in tenants.usage()}

    assert (now.records, now.live_datasets, january.records) == (50, 2, 50)
    assert now.bytes_stored > 0
    assert (now.bytes_ingested, january.bytes_ingested) == (5, 17)
    assert (january.month, january.HasField("bytes_stored")) == ("2026-01", False)
    assert by_name["payments"] == now
    # The default dataset.
    assert (by_name["default"].records, by_name["default"].live_datasets) == (0, 1)
    assert tenants.usage("payments", month="2026-01") == [january]
    assert tenants.usage("payments", month="0000-01")[0].bytes_ingested == 0
    with pytest.raises(InvalidArgument, match="month"):
        tenants.usage("payments", month="2026-1")
