"""Callers of tenants at one gateway: each reads its own datasets, through whatever is kept."""

from collections.abc import Iterator

import pytest

from meta.config import Settings
from meta.roles import Role
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.tenants import GATEWAY_TOKEN, NAMES, SharedGateway, shared_gateway
from tests.support.meta.tenants import TenantDriver
from tests.support.waiting import wait_until

OWN = {"Authorization": f"Bearer {GATEWAY_TOKEN}"}


@pytest.fixture
def shared(meta_settings: Settings, query_pool: SharedPool) -> Iterator[SharedGateway]:
    with shared_gateway(meta_settings, query_pool) as running:
        yield running


@pytest.mark.long
def test_equal_names_mean_each_tenants_dataset_by_every_way(shared: SharedGateway) -> None:
    # Twice: the second time from what is kept.
    for name in (*NAMES, *NAMES):
        dataset = shared.datasets[name]
        assert shared.bodies(name) == [f"of {name}"]
        assert shared.bodies(name, "union database('shop').* | project body") == [f"of {name}"]
        preview = shared.get(name, "v1/groups/shop/datasets/web/preview")
        assert f"of {name}" in preview.body.decode()
        listed = shared.get(name, "v1/datasets").json["items"]
        assert [(item["id"], item["group"], item["name"]) for item in listed] == [
            (dataset, "shop", "web")
        ]
        kusto = shared.gateway.post(
            "v2/rest/query", {"csl": "web | project body", "db": "shop"}, **shared.headers(name)
        )
        assert f"of {name}" in kusto.body.decode()
        headers = shared.headers(name)
        assert shared.gateway.ask("v1/namespaces", **headers).json["namespaces"] == [
            ["default"], ["shop"]
        ]  # fmt: skip
        tables = shared.gateway.ask("v1/namespaces/shop/tables", **headers).json
        assert [table["name"] for table in tables["identifiers"]] == ["web"]
        table = shared.gateway.ask("v1/namespaces/shop/tables/web", **headers).json
        assert dataset in table["metadata"]["location"]
        views = shared.gateway.ask("v1/namespaces/default/views", **headers).json
        assert "clicks" in [view["name"] for view in views["identifiers"]]
        plan = shared.gateway.send(
            "POST", "iceberg/v1/namespaces/shop/tables/web/plan", {}, **headers
        )
        (task,) = plan.json["file-scan-tasks"]
        assert dataset in task["data-file"]["file-path"]


@pytest.mark.long
def test_a_caller_of_several_tenants_names_one(shared: SharedGateway) -> None:
    guard, gateway = shared.tenants.guard, shared.gateway
    reader = guard.token(Role.OPERATOR_READ).plaintext_token
    for headers in (OWN, {"Authorization": f"Bearer {reader}"}):
        assert [d["name"] for d in gateway.get("v1/datasets", **headers).json["items"]] == [
            "default"
        ]
        for name in (*NAMES, *NAMES):
            for tenant in (name, f"//{shared.tenant_ids[name]}"):
                named = headers | {"Segplane-Tenant": tenant}
                answer = gateway.query("['shop/web'] | project body", headers=named)
                assert answer.json == [{"body": f"of {name}"}]
                table = gateway.ask("v1/namespaces/shop/tables/web", **named)
                assert shared.datasets[name] in table.json["metadata"]["location"]
        unknown = headers | {"Segplane-Tenant": "nobody"}
        assert gateway.get("v1/datasets", **unknown).status == 403
        assert gateway.ask("v1/namespaces", **unknown).status == 403
        long = headers | {"Segplane-Tenant": "x" * 300}
        assert gateway.get("v1/datasets", **long).status == 400
    # A tenant's caller learns nothing of others by their names.
    refusals = set()
    for tenant in ("search", "nobody", f"//{shared.tenant_ids['search']}"):
        refused = shared.get("payments", "v1/datasets", **{"Segplane-Tenant": tenant})
        refusals.add((refused.status, refused.message))
    assert len(refusals) == 1
    assert shared.get("payments", "v1/datasets", **{"Segplane-Tenant": "payments"}).status == 200


def test_a_warehouse_is_a_tenant_and_keeps_its_address(shared: SharedGateway) -> None:
    gateway = shared.gateway
    for warehouse in ("payments", shared.tenant_ids["payments"]):
        config = gateway.ask(f"v1/config?warehouse={warehouse}", **OWN).json
        assert config["overrides"] == {"prefix": shared.tenant_ids["payments"]}
    prefix = shared.tenant_ids["payments"]
    TenantDriver(shared.tenants.guard.admin).rename("payments", "billing")
    for headers in (OWN, shared.headers("payments")):
        table = gateway.ask(f"v1/{prefix}/namespaces/shop/tables/web", **headers)
        assert shared.datasets["payments"] in table.json["metadata"]["location"]
    assert gateway.ask(f"v1/{prefix}/namespaces", **shared.headers("search")).status == 403
    other = {"Segplane-Tenant": "search"}
    assert gateway.ask(f"v1/{prefix}/namespaces", **OWN, **other).status == 403
    # Whatever a client of one tenant calls its warehouse.
    config = gateway.ask("v1/config?warehouse=lake", **shared.headers("search")).json
    assert config["overrides"] == {"prefix": shared.tenant_ids["search"]}
    assert gateway.ask("v1/config?warehouse=lake", **OWN).json["overrides"] == {}


def test_a_name_that_another_tenant_takes_shows_nothing_of_the_former(
    shared: SharedGateway,
) -> None:
    guard, gateway = shared.tenants.guard, shared.gateway
    assert shared.bodies("payments") == ["of payments"]
    headers = OWN | {"Segplane-Tenant": "payments"}
    assert gateway.ask("v1/namespaces/shop/tables/web", **headers).status == 200
    tenants = TenantDriver(guard.admin)
    tenants.rename("payments", "billing")
    tenants.create("payments")

    assert shared.bodies("payments") == ["of payments"]
    by_id = OWN | {"Segplane-Tenant": f"//{shared.tenant_ids['payments']}"}
    table = gateway.ask("v1/namespaces/shop/tables/web", **by_id)
    assert shared.datasets["payments"] in table.json["metadata"]["location"]
    # Within 3 s the name is that of the new one.
    named = OWN | {"Segplane-Tenant": "payments"}
    wait_until(lambda: gateway.get("v1/datasets", **named).json["items"] == [], "the new tenant")
    assert gateway.ask("v1/namespaces/shop/tables/web", **named).status == 404
    assert gateway.ask("v1/namespaces/shop/tables", **named).status == 404
