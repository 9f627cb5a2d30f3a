"""Callers of the catalog who show a JSON Web Token of meta's issuer, or its META_AUTH_TOKEN."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog import load_catalog

from meta.config import Settings
from meta.identities import Oidc, RoleRule
from meta.roles import Role
from tests.support.gateway.readers import GATEWAY_TOKEN, TABLES, shown
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import guarded
from tests.support.meta.issuer import AUDIENCE, Issuer


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    running = Issuer()
    yield running
    running.stop()


@pytest.fixture
def gateway(issuer: Issuer, meta_settings: Settings, tmp_path: Path) -> Iterator[GatewayServer]:
    roles = RoleRule("ro", Role.READER), RoleRule("in", Role.INGEST)
    settings = replace(meta_settings, oidc=Oidc(issuer.url, AUDIENCE, roles))
    with guarded(settings) as guard:
        Path(urlsplit(settings.location.url()).path).mkdir(parents=True, exist_ok=True)
        dataset = CatalogDriver(guard.admin).dataset("web")
        SegmentWriter(guard.admin, dataset, tmp_path).write(rows=3)
        token = guard.token(Role.GATEWAY).plaintext_token
        server = GatewayServer(guard.address, token, auth_token=GATEWAY_TOKEN)
        try:
            yield server
        finally:
            server.close()


def test_a_token_of_the_issuer_reads_as_its_role_may(
    gateway: GatewayServer, issuer: Issuer
) -> None:
    catalog = load_catalog("ann", type="rest", uri=gateway.uri, token=issuer.token(roles="ro"))

    assert catalog.load_table("default.web").scan().to_arrow().num_rows == 3
    assert gateway.ask(TABLES, **shown(issuer.token(roles="in"))).status == 403
    for token in (issuer.token(aud="other"), issuer.token(roles=[]), "eyJ.e30.c2ln", "stranger"):
        assert gateway.ask(TABLES, **shown(token)).status == 401


def test_the_token_of_metas_admin_reads_all(gateway: GatewayServer) -> None:
    assert gateway.table("web", **shown("shared")).status == 200
