"""Callers of tenants at a gateway, which reads for the tenant `default`."""

from collections.abc import Iterator

import pytest

from meta.config import Settings
from meta.roles import Role
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.tenants import TwoTenants, guarded_for_tenants, new_token, two_tenants


@pytest.fixture
def tenants(meta_settings: Settings) -> Iterator[TwoTenants]:
    with guarded_for_tenants(meta_settings) as guard, two_tenants(guard) as made:
        yield made


def test_readers_see_no_dataset_of_another_tenant(tenants: TwoTenants) -> None:
    guard = tenants.guard
    other = CatalogDriver(tenants.payments).dataset("payments-only")
    CatalogDriver(guard.admin).dataset("web")
    own = guard.token(Role.GATEWAY).plaintext_token
    gateway = GatewayServer(guard.address, own)
    try:
        reader = guard.token(Role.READER).plaintext_token
        listed = gateway.get("v1/datasets", Authorization=f"Bearer {reader}")
        by_id = gateway.get(f"v1/datasets/{other}", Authorization=f"Bearer {reader}")
        reader = new_token(tenants.payments, Role.READER).plaintext_token
        refused = gateway.get("v1/datasets", Authorization=f"Bearer {reader}")
    finally:
        gateway.close()

    assert {item["name"] for item in listed.json["items"]} == {"default", "web"}
    assert by_id.status == 404
    assert refused.status == 403
    assert "the tenant default alone" in refused.body.decode()
