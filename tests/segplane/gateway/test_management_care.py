"""Notes, labels and contexts over HTTP, and lists by them."""

from typing import Any

import pytest

from meta.v1 import catalog_pb2
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import make_projection, make_schema, make_view
from tests.support.meta.server import MetaServer


@pytest.fixture
def paths(meta_server: MetaServer) -> dict[str, str]:
    """One resource of each kind, as its path."""
    client = meta_server.client
    catalog = CatalogDriver(client)
    token = catalog.token(catalog.dataset("web")).id
    make_schema(client, "order")
    make_view(client, "errors")
    make_projection(client, "lengths")
    return {
        "datasets": "v1/datasets/web",
        "schemas": "v1/schemas/order",
        "views": "v1/views/errors",
        "projections": "v1/projections/lengths",
        "tokens": f"v1/tokens/{token}",
    }


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [item["name"] for item in answer.json["items"]]


def test_every_resource_has_a_note_labels_and_a_context(
    gateway: GatewayServer, paths: dict[str, str]
) -> None:
    care = {"note": "of the shop", "labels": {"team": "payments", "tier": "1"}}
    context = b'{"context": {"cost": 1.10, "owner": {"name": "\xc3\x9cnal"}}}'
    for noun, path in paths.items():
        before = gateway.get(path)
        assert before.json["labels"] == {}
        assert (before.json["note"], before.json["context"]) == (None, None)
        assert before.json["created_at"].endswith("Z")

        cared = gateway.send("PATCH", path, care, **{"If-Match": before.headers["etag"]})
        late = gateway.send("PATCH", path, {"note": "x"}, **{"If-Match": before.headers["etag"]})
        changed = gateway.send("PATCH", path, {"labels": {"tier": None, "a": "b"}})
        sent = gateway.send("PATCH", path, {"context": {"cost": 2}})

        assert (cared.status, late.status) == (200, 412), cared.body
        assert {name: cared.json[name] for name in care} == care
        assert changed.json["labels"] == {"team": "payments", "a": "b"}
        assert sent.json["context"] == {"cost": 2}
        exact = gateway.patch(path, context)
        assert b'"context":{"cost":1.10,"owner":{"name":"\xc3\x9cnal"}}' in exact.body
        cleared = gateway.send("PATCH", path, {"note": None, "context": None}).json
        assert (cleared["note"], cleared["context"]) == (None, None)
        assert len(names(gateway.get(f"v1/{noun}?label=team=payments"))) == 1
        assert names(gateway.get(f"v1/{noun}?label=team=other")) == []


def test_a_resource_is_created_with_its_labels(gateway: GatewayServer) -> None:
    column = {"name": "price", "type": "long"}
    bodies: dict[str, dict[str, Any]] = {
        "datasets": {"name": "shop"},
        "schemas": {"name": "order", "columns": [column]},
        "views": {"name": "errors"},
        "projections": {"name": "p", "projection": "project body"},
    }
    for noun, body in bodies.items():
        made = gateway.send("POST", f"v1/{noun}", {**body, "labels": {"team": "a"}, "note": "n"})

        assert (made.status, made.json["labels"], made.json["note"]) == (201, {"team": "a"}, "n")
        again = gateway.send("POST", f"v1/{noun}", {**body, "labels": {"team": "a"}, "note": "n"})
        assert again.json["id"] == made.json["id"]


def test_lists_have_one_filter_and_one_order(gateway: GatewayServer) -> None:
    for name, tier in (("b", 1), ("a", 2), ("c", 1)):
        body = {"name": name, "context": {"tier": tier}, "labels": {"team": name}}
        assert gateway.send("POST", "v1/datasets", body).status == 201
    gateway.send("DELETE", "v1/datasets/c")

    assert names(gateway.get("v1/datasets")) == ["default", "b", "a"]
    assert names(gateway.get("v1/datasets?order=name")) == ["a", "b", "default"]
    assert names(gateway.get("v1/datasets?order=name&descending=true")) == ["default", "b", "a"]
    assert names(gateway.get("v1/datasets?context.tier=1")) == ["b"]
    assert names(gateway.get("v1/datasets?name_from=a&name_to=c")) == ["a", "b"]
    assert names(gateway.get("v1/datasets?label=team=a&columns=false")) == ["a"]
    deleted = gateway.get("v1/datasets?state=deleted")
    assert names(deleted) == ["c"]
    assert deleted.json["items"][0]["deleted_at"] is not None
    assert "columns" in gateway.get("v1/datasets?label=team=a").json["items"][0]
    refused = gateway.get("v1/datasets?label=team=a&state=live")
    assert (refused.status, refused.json["error"]["reason"]) == (400, "INVALID_ARGUMENT")
    for query, message in (
        ("label=team=a&label=team=b", "label is there more than once"),
        ("context=x", "'context' is not known"),
        ("state=gone", "state is not one of live, deleted"),
        ("order=size", "order is not one of name, created, changed"),
    ):
        wrong = gateway.get(f"v1/datasets?{query}")
        assert (wrong.status, message in wrong.message) == (400, True), wrong.body


def test_an_older_clients_change_is_not_a_change_of_the_content(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    """An ETag has a part of the content and one of the whole resource."""
    make_schema(meta_server.client, "order")
    first = gateway.get("v1/schemas/order").headers["etag"]

    noted = gateway.send("PATCH", "v1/schemas/order", {"note": "n"})
    frozen = gateway.send("PATCH", "v1/schemas/order", {"freeze": True}, **{"If-Match": first})

    assert (noted.status, frozen.status) == (200, 200)
    assert frozen.json["frozen"] is True
    request = catalog_pb2.GetSchemaRequest(name="order")
    assert meta_server.client.catalog.GetSchema(request).frozen
