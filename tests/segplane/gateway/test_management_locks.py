"""Locks over HTTP: PUT and DELETE .../lock, and what they refuse."""

from collections.abc import Callable

import pytest

from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view
from tests.support.meta.server import MetaServer


@pytest.mark.parametrize(
    "noun", ["datasets", "groups", "schemas", "views", "projections", "tokens"]
)
def test_a_locked_resource_is_changed_after_its_token_ended_the_lock(
    gateway: GatewayServer, meta_server: MetaServer, noun: str
) -> None:
    client = meta_server.client
    make: dict[str, Callable[[], object]] = {
        "groups": lambda: gateway.send("POST", "v1/groups", {"name": "x"}),
        "datasets": lambda: CatalogDriver(client).dataset("x"),
        "schemas": lambda: make_schema(client, "x"),
        "views": lambda: make_view(client, "x"),
        "projections": lambda: make_projection(client, "x"),
    }
    name = "x"
    if noun == "tokens":
        name = CatalogDriver(client).token(CatalogDriver(client).dataset("y")).id
    else:
        make[noun]()
    path = f"v1/{noun}/{name}"

    locked = gateway.send(
        "PUT", f"{path}/lock", {"reason": "audit", "ends_at": "2099-01-01T00:00:00Z"}
    )

    assert locked.status == 200, locked.body
    token = locked.json["token"]
    assert locked.headers["cache-control"] == "no-store"
    shown = gateway.get(path)
    assert token.encode() not in shown.body
    assert (shown.json["lock_reason"], shown.json["lock_ends_at"][:10]) == ("audit", "2099-01-01")
    refused = gateway.send("PATCH", path, {"note": "x"})
    assert (refused.status, refused.json["error"]["reason"]) == (409, "LOCKED")
    assert refused.json["error"]["metadata"]["lock_reason"] == "audit"
    assert gateway.send("DELETE", path).status == 409
    for wrong, status in (("", 400), ({}, 400), ({"token": "wrong"}, 403)):
        assert gateway.send("DELETE", f"{path}/lock", wrong).status == status
    assert gateway.send("DELETE", f"{path}/lock?token={token}").status == 400
    unlocked = gateway.send("DELETE", f"{path}/lock", {"token": token})
    assert (unlocked.status, unlocked.json["locked_at"]) == (200, None)
    assert gateway.send("PATCH", path, {"note": "x"}).status == 200


def test_an_admin_breaks_a_lock(gateway: GatewayServer, meta_server: MetaServer) -> None:
    make_view(meta_server.client, "v")
    gateway.send("PUT", "v1/views/v/lock", {"reason": "audit"})

    broken = gateway.send("POST", "v1/views/v/lock/break", {"reason": "done"})

    assert (broken.status, broken.json["locked_at"]) == (200, None)
    assert gateway.send("DELETE", "v1/views/v").status == 200
