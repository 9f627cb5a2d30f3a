"""Shares of tenants in what all callers have together: at each bound and one beyond it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from meta.access import CallerTenant, Principal, TenantShares, in_tenant
from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, Overloaded, QuotaExceeded
from meta.roles import Role
from meta.rpc.admission import CALLS, Admission
from meta.store.catalog import named_entries, usage
from meta.store.pins.pins import PinLimits
from meta.v1 import catalog_pb2 as cat
from meta.v1 import ingest_token_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.pins import PinDriver
from tests.support.meta.tenants import (
    TenantDriver,
    TwoTenants,
    guarded_for_tenants,
    new_token,
    operator_in,
    two_tenants,
)
from tests.support.waiting import wait_until

BOUND = 8


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """Bounds of all that are small."""
    pins = PinLimits(per_owner=6, total=BOUND)
    return replace(meta_settings, datasets_max=BOUND, tokens_max=BOUND, pins=pins)


@pytest.fixture
def scene(meta_settings: Settings) -> Iterator[TwoTenants]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as tenants:
        yield tenants


def set_shares(scene: TwoTenants, name: str, **values: Any) -> pb.SetTenantSharesResponse:
    request = pb.SetTenantSharesRequest(name=name, **values)
    return scene.guard.admin.resources.SetTenantShares(request)


def settle(scene: TwoTenants, client: MetaClient, percent: int) -> None:
    """Wait until the server's cache of a credential has its new share."""
    request = ops.GetServerStateRequest()
    wait_until(
        lambda: client.operations.GetServerState(request).caller.tenant_percent == percent,
        "the share is in force",
    )


def dataset(client: MetaClient, name: str) -> None:
    client.catalog.CreateDataset(cat.CreateDatasetRequest(name=name))


def token(client: MetaClient, name: str) -> None:
    request = ingest_token_pb2.CreateIngestTokenRequest(name=name, dataset_name="first")
    client.ingest_token.CreateIngestToken(request)


def schema(client: MetaClient, name: str) -> None:
    request = cat.CreateSchemaRequest(name=name)
    request.columns.add(name="a", type=1)
    client.catalog.CreateSchema(request)


def view(client: MetaClient, name: str) -> None:
    client.catalog.CreateView(cat.CreateViewRequest(name=name))


def projection(client: MetaClient, name: str) -> None:
    request = cat.CreateProjectionRequest(name=name, projection="project body")
    client.catalog.CreateProjection(request)


def pin(client: MetaClient, name: str) -> None:
    PinDriver(client, owner=name).take("first")


@pytest.mark.parametrize(
    ("create", "noun", "taken"),
    [
        (dataset, "datasets", 1),
        (token, "ingest tokens", 0),
        (schema, "schemas", 0),
        (view, "views", 0),
        (projection, "projections", 0),
        (pin, "pins", 0),
    ],
    ids=["datasets", "tokens", "schemas", "views", "projections", "pins"],
)
def test_a_tenant_has_its_share_and_no_more_and_others_have_theirs(
    scene: TwoTenants,
    monkeypatch: pytest.MonkeyPatch,
    create: Callable[[MetaClient, str], None],
    noun: str,
    taken: int,
) -> None:
    monkeypatch.setattr(named_entries, "ENTRIES_MAX", BOUND)
    for client in (scene.payments, scene.search):
        dataset(client, "first")
    most = BOUND // 2
    for number in range(taken, most):
        create(scene.payments, f"n{number}")

    with pytest.raises(QuotaExceeded, match=rf"the tenant has {most} {noun}") as refused:
        create(scene.payments, "beyond")
    # An operator in the tenant has its share, too.
    with operator_in(scene.guard, "payments") as operator:
        if noun != "pins":
            with pytest.raises(QuotaExceeded, match="the tenant has"):
                create(operator, "beyond")
    create(scene.search, "other")

    assert refused.value.metadata["limit"] == str(most)
    assert "search" not in str(refused.value)


def test_what_all_have_is_bounded_for_tenants_and_a_repeated_call_is_none(
    scene: TwoTenants,
) -> None:
    set_shares(scene, "default", percent=100)
    for client in (scene.payments, scene.search):
        settle(scene, client, 100)
    # One is the default dataset.
    for number in range(BOUND - 2):
        dataset(scene.payments, f"n{number}")
    dataset(scene.search, "last")

    with pytest.raises(QuotaExceeded, match=f"has {BOUND} datasets, its maximum"):
        dataset(scene.search, "beyond")
    dataset(scene.search, "last")


def test_a_share_is_set_shown_and_in_force_within_seconds(scene: TwoTenants) -> None:
    changed = set_shares(scene, "payments", percent=25, datasets=1)
    again = set_shares(scene, "payments", percent=25, datasets=1)
    settle(scene, scene.payments, 25)
    dataset(scene.payments, "first")
    with pytest.raises(QuotaExceeded, match="the tenant has 1 datasets"):
        dataset(scene.payments, "second")

    assert changed == again
    assert changed.shares == pb.TenantShares(percent=25, datasets=1)
    # Of the default of all tenants one of them has its own.
    set_shares(scene, "default", percent=10, datasets=3, records_per_month=7)
    shown = scene.guard.admin.resources.GetTenant(pb.GetTenantRequest(name="payments"))
    other = scene.guard.admin.resources.GetTenant(pb.GetTenantRequest(name="search"))
    assert shown.shares_in_force == pb.TenantShares(percent=25, datasets=1, records_per_month=7)
    assert other.shares == pb.TenantShares()
    assert other.shares_in_force == pb.TenantShares(percent=10, datasets=3, records_per_month=7)
    set_shares(scene, "payments", percent=0, datasets=-1, records_per_month=-1)
    shown = scene.guard.admin.resources.GetTenant(pb.GetTenantRequest(name="payments"))
    assert shown.shares_in_force == pb.TenantShares(percent=10)


@pytest.mark.parametrize(
    "values", [{"percent": 101}, {"percent": -1}, {"datasets": -2}, {"bytes_per_sec": -2}], ids=str
)
def test_shares_have_bounds(scene: TwoTenants, values: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        set_shares(scene, "payments", **values)
    with pytest.raises(NotFound):
        set_shares(scene, "nobody", percent=10)


def test_default_may_use_everything(scene: TwoTenants) -> None:
    set_shares(scene, "default", percent=10, datasets=1)
    with operator_in(scene.guard, "default") as operator:
        for number in range(BOUND - 1):
            dataset(operator, f"n{number}")
        secret = new_token(operator, Role.TENANT_ADMIN).plaintext_token
    with MetaClient(scene.guard.address, auth_token=secret) as boss:
        assert (
            boss.operations.GetServerState(ops.GetServerStateRequest()).caller.tenant_percent == 0
        )
        with pytest.raises(QuotaExceeded, match="its maximum"):
            dataset(boss, "beyond")


def test_a_tenant_has_its_share_of_calls(meta_settings: Settings) -> None:
    settings = replace(meta_settings, concurrent_rpcs_max=8, identity_rpcs_max=4)
    admission = Admission(settings)

    def caller(name: str, percent: int) -> Principal:
        tenant = CallerTenant(7, UUID(int=7), "payments", shares=TenantShares(percent))
        return in_tenant(Principal(tenant.subject(name), Role.READER), tenant)

    with ExitStack() as calls:
        for name in ("ann", "bob"):
            calls.enter_context(admission.admit(caller(name, 25), CALLS))
        with pytest.raises(Overloaded, match="your tenant has 2 calls"):
            calls.enter_context(admission.admit(caller("eve", 25), CALLS))
        # More than a subject's half is no tenant's.
        for name in ("eve", "joe"):
            calls.enter_context(admission.admit(caller(name, 100), CALLS))
        with pytest.raises(Overloaded, match="your tenant has 4 calls"):
            calls.enter_context(admission.admit(caller("max", 100), CALLS))
        # A gateway that names the tenant calls for others too.
        tenant = CallerTenant(7, UUID(int=7), "payments", shares=TenantShares(1))
        for _ in range(3):
            gateway = in_tenant(Principal("gateway", Role.GATEWAY), tenant)
            calls.enter_context(admission.admit(gateway, CALLS))


def test_collectors_learn_what_the_tenant_of_a_dataset_may_use(scene: TwoTenants) -> None:
    mine, second = (CatalogDriver(scene.payments).dataset(name) for name in ("a", "b"))
    his, ours = (
        CatalogDriver(scene.search).dataset("a"),
        CatalogDriver(scene.guard.admin).dataset("a"),
    )
    set_shares(scene, "payments", percent=20, records_per_month=10, bytes_per_sec=1_000)
    with scene.guard.running.database.write() as tx:
        usage.add(tx, {UUID(mine): 4, UUID(second): 5, UUID(his): 11})

    def used(client: MetaClient, dataset_id: str) -> ops.DatasetUsage:
        request = ops.GetUsageRequest(dataset_ids=[dataset_id])
        return client.operations.GetUsage(request).usage[0]

    tenant_ids = {
        name: TenantDriver(scene.guard.admin).get(name).id for name in ("payments", "search")
    }
    expected = ops.IngestShare(
        tenant_id=tenant_ids["payments"],
        percent=20,
        bytes_per_sec=1_000,
        records_limit=10,
        records=9,
    )
    assert used(scene.guard.admin, mine).tenant == expected
    other = ops.IngestShare(tenant_id=tenant_ids["search"], percent=50)
    assert used(scene.guard.admin, his).tenant == other
    assert not used(scene.guard.admin, ours).HasField("tenant")
    assert not used(scene.payments, mine).HasField("tenant")


def test_a_change_is_in_the_audit_log_once(scene: TwoTenants, database_url: str) -> None:
    for _ in range(2):
        set_shares(scene, "payments", percent=25)

    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT detail FROM audit_log WHERE rpc = 'SetTenantShares'")
        details = [row[0] for row in rows]
    assert details == ['{"before": {"percent": 0}, "after": {"percent": 25}}']
