"""Callers of management over HTTP: their own credential, its role, and the audit log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meta.config import Settings
from meta.roles import Role
from segments.keys import quarantine_key
from segplane.gateway.management import routes
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.nursery.drivers import CollectorDriver, nursery


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        yield guard


@pytest.fixture
def gateway(guard: GuardedServer, query_pool: SharedPool) -> Iterator[GatewayServer]:
    """A gateway whose own token of meta is an admin's."""
    token = guard.token(Role.ADMIN).plaintext_token
    server = GatewayServer(
        guard.address, token, pool=query_pool, meta_auth_token=token, auth_token="of-the-gateway"
    )
    yield server
    server.close()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def test_a_gateway_lends_its_rights_to_nobody(gateway: GatewayServer) -> None:
    """Its own token reads what its queries see, and manages nothing."""
    for token in ("segp_unknown", "anything"):
        assert gateway.get("v1/audit", **bearer(token)).status == 401
    for route, rows in routes.table().items():
        method, _, path = route.partition(" ")
        path = path[1:].replace("{", "").replace("}", "")
        body: Any = "" if method == "GET" else {}
        assert gateway.send(method, path, body).status == 401, route
        status = gateway.send(method, path, body, **bearer("of-the-gateway")).status
        assert (status == 401) != rows[0].is_open, route


def test_the_bytes_of_a_quarantined_payload_are_for_roles_that_read_records(
    guard: GuardedServer, gateway: GatewayServer, meta_settings: Settings
) -> None:
    Path("/", meta_settings.location.path).mkdir(exist_ok=True)
    collector = CollectorDriver(guard.admin, CatalogDriver(guard.admin).dataset("web"))
    collector.commit(collector.put("good", payloads=(b"\x0a\x05ab",)))
    nursery(guard.admin).cycle()
    key = quarantine_key(collector.stream_id, 0, collector.token_id, "logs", 1)
    roles = (Role.CATALOG, Role.JANITOR, Role.READER, Role.OPERATOR_READ, Role.INGEST)

    statuses = [
        [gateway.get(path, **bearer(guard.token(role).plaintext_token)).status for role in roles]
        for path in (f"v1/{key}", f"v1/{key}?content=true")
    ]

    assert statuses == [[200, 200, 200, 200, 403], [403, 403, 200, 200, 403]]


def test_meta_decides_by_the_role_of_the_callers_token(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    CatalogDriver(guard.admin).dataset("web")
    column = {"name": "a", "type": "long"}
    asks: dict[str, tuple[str, str, Any]] = {
        "schema": ("POST", "v1/schemas", {"name": "s", "columns": [column]}),
        "tokens": ("GET", "v1/tokens", ""),
        "tasks": ("GET", "v1/merge-tasks", ""),
        "audit": ("GET", "v1/audit", ""),
        "access": ("GET", "v1/access-tokens", ""),
        "pins": ("GET", "v1/pins", ""),
    }
    allowed = {
        Role.READER: {"pins"},
        Role.JANITOR: {"tasks"},
        Role.CATALOG: {"schema", "tokens", "tasks"},
        Role.INGEST: set(),
        Role.ADMIN: set(asks),
    }
    for role, names in allowed.items():
        headers = bearer(guard.token(role).plaintext_token)
        statuses = {name: gateway.send(*ask, **headers).status for name, ask in asks.items()}
        assert {name for name, status in statuses.items() if status < 300} == names, role
        assert {status for status in statuses.values() if status > 299} <= {403}, role


def test_a_change_is_audited_with_its_author(guard: GuardedServer, gateway: GatewayServer) -> None:
    headers = bearer(guard.token(Role.CATALOG, "keeper").plaintext_token)
    admin = bearer(guard.token(Role.ADMIN, "boss").plaintext_token)

    made = gateway.send("POST", "v1/views", {"name": "v"}, **headers)

    assert (made.status, made.json["created_by"]) == (201, "keeper")
    gateway.send("PATCH", "v1/views/v", {"description": "new"}, **admin)
    records = gateway.get("v1/audit?principal=boss", **admin).json["items"]
    assert [record["rpc"] for record in records] == ["UpdateView"]


def test_a_limited_token_reads_its_datasets_alone(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    catalog = CatalogDriver(guard.admin)
    mine, other = catalog.dataset("mine"), catalog.dataset("other")
    token = guard.token(Role.READER, "limited", dataset_names=["mine"]).plaintext_token
    headers = bearer(token)

    for path in ("v1/datasets/mine", f"v1/dataset-ids/{mine}", "v1/datasets/mine/settings"):
        assert gateway.get(path, **headers).status == 200, path
    unknown = gateway.get("v1/datasets/none", **headers)
    theirs = gateway.get("v1/datasets/other", **headers)
    assert (theirs.status, theirs.message) == (404, unknown.message.replace("none", "other"))
    assert gateway.get(f"v1/dataset-ids/{other}", **headers).status == 404
    assert gateway.get("v1/schemas", **headers).status == 403


def test_a_foreign_page_cannot_revoke_by_a_form(meta_address: str) -> None:
    """A POST without a body is sent by any page without asking first."""
    gateway = GatewayServer(meta_address)
    try:
        plain = gateway.send("POST", "v1/tokens/x/revoke", **{"Content-Type": "text/plain"})
        as_json = gateway.send("POST", "v1/tokens/x/revoke")
    finally:
        gateway.close()

    assert (plain.status, as_json.status) == (415, 400)


@pytest.fixture
def meta_address(meta_server: Any) -> str:
    return str(meta_server.address)
