"""A gateway whose token is limited to datasets serves no other, in any of its answers."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from meta.config import Settings
from meta.roles import Role
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import guarded


@pytest.fixture
def gateway(meta_settings: Settings) -> Iterator[GatewayServer]:
    with guarded(meta_settings) as guard:
        catalog = CatalogDriver(guard.admin)
        catalog.dataset("mine")
        catalog.dataset("other")
        token = guard.token(Role.GATEWAY, dataset_names=["mine"]).plaintext_token
        objects = Path(urlsplit(meta_settings.location.url()).path)
        objects.mkdir(parents=True, exist_ok=True)
        server = GatewayServer(guard.address, token)
        try:
            yield server
        finally:
            server.close()


def test_lists_name_the_own_datasets_alone(gateway: GatewayServer) -> None:
    for kind in ("tables", "views"):
        listed = gateway.ask(f"v1/namespaces/default/{kind}?pageSize=1").json
        assert {one["name"].split("_")[0] for one in listed["identifiers"]} == {"mine"}
        assert "next-page-token" not in listed
    assert gateway.ask("v1/namespaces/default/tables/mine").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("kind", ["tables", "views"])
def test_another_dataset_is_refused_like_one_that_does_not_exist(
    gateway: GatewayServer, method: str, kind: str
) -> None:
    suffix = "" if kind == "tables" else "_logs"
    other, missing = (
        gateway.ask(f"v1/namespaces/default/{kind}/{name}{suffix}", method)
        for name in ("other", "missing")
    )

    assert other.status == missing.status == 404
    assert other.body.decode().replace("other", "missing") == missing.body.decode()
