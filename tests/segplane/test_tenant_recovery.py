"""A lost or restored database has its tenants again, and what each of them had."""

from pathlib import Path
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.v1 import resources_pb2
from segments import noted_names
from segments.location import StoreLocation
from segments.noted_names import DATASET, GROUP, SUSPENDED, TENANT, NotedName
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segplane.fsck import catalog_check
from segplane.recovery import unknown_babies
from segplane.recovery.rebuilt_names import name_all
from tests.segplane.test_catalog_rebuild import rebuild
from tests.segplane.test_rebuilt_names import put, shown
from tests.support.meta import backups
from tests.support.meta.noted_names import noting
from tests.support.meta.resources import ResourceDriver
from tests.support.meta.tenants import TenantDriver
from tests.support.nursery.drivers import CollectorDriver, texts
from tests.support.reconciling import command, with_lifetimes
from tests.support.tenant_recovery import Clients, make_tenants, running


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    return with_lifetimes(meta_settings)


@pytest.fixture(autouse=True)
def _no_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collectors of these tests do not write by themselves."""
    monkeypatch.setattr(unknown_babies, "QUIET_SECS", 0.0)


def tenant_of(client: MetaClient) -> dict[str, resources_pb2.Tenant]:
    reply = client.resources.ListTenants(resources_pb2.ListTenantsRequest())
    return {tenant.name: tenant for tenant in reply.tenants}


def names_in(client: MetaClient) -> list[str]:
    """The names of a tenant's datasets, by its own lists."""
    resources = ResourceDriver(client)
    return sorted(
        f"{item.group}/{item.name}" if item.group else item.name
        for item in resources.all(resources_pb2.RESOURCE_KIND_DATASET)
    )


@pytest.mark.long
def test_a_rebuild_of_two_tenants_with_equal_names(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as clients:
        collectors = make_tenants(clients)
        TenantDriver(clients.operator).suspend("search")
        ids = {name: tenant.id for name, tenant in tenant_of(clients.operator).items()}
    with noting(meta_settings) as names:
        names.settle()

    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert done.exit_code == 0, done.output
    assert "warning" not in done.output
    with running(meta_settings, empty_database_url) as clients:
        assert clients.names() == {
            f"//{name}/shop/web": collector.dataset_id for name, collector in collectors.items()
        }
        tenants = tenant_of(clients.operator)
        assert {name: tenant.id for name, tenant in tenants.items()} == ids
        assert [n for n, t in tenants.items() if t.HasField("suspended_at")] == ["search"]
        assert names_in(clients.in_tenant["payments"]) == ["shop/web"]
        for name, collector in collectors.items():
            collector.client = clients.operator
            assert texts(collector) == [f"of {name}"]
        report = catalog_check.check(clients.operator, is_deep=True, orphan_age_secs=86_400)
        assert report.violations == []


def test_datasets_without_a_tenant_are_unassigned_if_there_are_several(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    store: ObjectStore = open_store(StoreLocation.from_url((tmp_path / "names").as_uri()))
    nameless, unknown = str(uuid4()), put(store, DATASET, NotedName("b", tenant_id=str(uuid4())))
    assert shown(name_all(store, [nameless, unknown], {})) == {
        nameless: f"rebuilt-{nameless}",
        unknown: "b",
    }

    payments = put(store, TENANT, NotedName("payments", tenant_id=""))
    put(store, TENANT, NotedName("payments", tenant_id=""))
    damaged = put(store, TENANT, b"damaged")
    group = put(store, GROUP, NotedName("shop", tenant_id=payments))
    web, default = (
        put(store, DATASET, NotedName("web", "", of_group, tenant_id))
        for of_group, tenant_id in ((group, payments), (group, noted_names.DEFAULT_TENANT_ID))
    )
    names = name_all(store, [nameless, unknown, web, default], {unknown: "given"})

    assert shown(names) == {
        nameless: f"//unassigned/rebuilt-{nameless}",
        unknown: "//unassigned/given",
        web: "//payments/shop/web",
        # Its group is of another tenant.
        default: f"rebuilt-{default}",
    }
    states = {str(i): tenant.state for i, tenant in names.tenants.tenants.items()}
    assert (states[payments], states[damaged]) == ("", SUSPENDED)
    assert len(names.warnings) == 2


@pytest.fixture
def after_backup(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> dict[str, CollectorDriver]:
    """Make tenants after a backup with a tenant, and restore it into another database."""
    with running(meta_settings) as clients:
        TenantDriver(clients.operator).create("first")
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        collectors = make_tenants(clients)
    with noting(meta_settings) as names:
        names.settle()
    backups.restore(tmp_path / "dump", empty_database_url)
    return collectors


@pytest.mark.long
def test_a_restore_from_before_new_tenants(
    meta_settings: Settings, empty_database_url: str, after_backup: dict[str, CollectorDriver]
) -> None:
    with running(meta_settings, empty_database_url) as clients:
        # They are there from the start, so that no rule of access takes one for another.
        assert list(tenant_of(clients.operator)) == ["default", "first", "payments", "search"]
        assert clients.names() == {}
        done = command(meta_settings, empty_database_url)

        assert done.exit_code == 0, done.output
        assert clients.names() == {
            f"//{name}/shop/web": collector.dataset_id for name, collector in after_backup.items()
        }
        for name, collector in after_backup.items():
            assert f"dataset {collector.dataset_id} is called //{name}/shop/web" in done.stdout
            assert names_in(clients.in_tenant[name]) == ["shop/web"]


@pytest.mark.long
def test_a_restored_dataset_without_a_name_is_of_operators_until_it_is_assigned(
    meta_settings: Settings, empty_database_url: str, after_backup: dict[str, CollectorDriver]
) -> None:
    dataset = after_backup["search"].dataset_id
    store = open_store(meta_settings.location)
    store.delete([i.key for i in store.list(noted_names.name_folder(DATASET, dataset))])
    with running(meta_settings, empty_database_url) as clients:
        assert command(meta_settings, empty_database_url).exit_code == 0

        name = f"//unassigned/reconciled-{dataset}"
        assert clients.names()[name] == dataset
        assert names_in(clients.in_tenant["search"]) == []
        TenantDriver(clients.operator).move(dataset, "search", new_name="web")
        assert names_in(clients.in_tenant["search"]) == ["web"]


def _change_after_backup(clients: Clients, collectors: dict[str, CollectorDriver]) -> None:
    tenants = TenantDriver(clients.operator)
    tenants.suspend("search")
    tenants.move(collectors["payments"].dataset_id, "default", new_name="taken over")
    tenants.rename("payments", "billing")
    tenants.create("payments")
    tenants.delete("first")


@pytest.mark.long
def test_a_restore_from_before_a_suspension_a_move_and_a_rename(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as clients:
        TenantDriver(clients.operator).create("first")
        collectors = make_tenants(clients)
        before = tenant_of(clients.operator)
        with noting(meta_settings) as names:
            names.settle()
        backups.dump(meta_settings.database.url, tmp_path / "dump")
        _change_after_backup(clients, collectors)
        changed = tenant_of(clients.operator)
    backups.restore(tmp_path / "dump", empty_database_url)

    with running(meta_settings, empty_database_url) as clients:
        # No loop of meta has to have run: the calls note what they do.
        after = tenant_of(clients.operator)
        assert {name: t.id for name, t in after.items()} == {n: t.id for n, t in changed.items()}
        assert after["billing"].id == before["payments"].id
        assert [n for n, t in after.items() if t.HasField("suspended_at")] == ["search"]
        assert [n for n, t in after.items() if t.HasField("deleted_at")] == ["first"]
        names_now = clients.names()
        assert names_now["taken over"] == collectors["payments"].dataset_id
        assert list(names_now) == ["taken over", "//search/shop/web"]
        # Again it changes nothing, and a later change stays.
        TenantDriver(clients.operator).resume("search")
        TenantDriver(clients.operator).move(
            collectors["payments"].dataset_id, "billing", new_name="back"
        )
    with running(meta_settings, empty_database_url) as clients:
        assert not tenant_of(clients.operator)["search"].HasField("suspended_at")
        assert "//billing/back" in clients.names()
