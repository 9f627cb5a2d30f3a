"""Management below /v1: each noun is listed, created, read, changed and deleted over HTTP."""

from typing import Any
from urllib.parse import quote
from uuid import uuid4

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

COLUMNS = [{"name": "price", "type": "long"}, {"name": "host", "type": "string"}]


def made(answer: Answer, status: int = 201) -> Any:
    assert answer.status == status, answer.body
    return answer.json


def listed(gateway: GatewayServer, path: str) -> list[Any]:
    """Return the items of all pages."""
    items: list[Any] = []
    after = ""
    while True:
        sign = "&" if "?" in path else "?"
        page = made(gateway.get(f"{path}{sign}limit=1{after}"), 200)
        items += page["items"]
        if page["next"] is None:
            return items
        after = f"&after={quote(page['next'])}"


def test_a_schema_is_managed_over_http(gateway: GatewayServer) -> None:
    schema = made(gateway.send("POST", "v1/schemas", {"name": "order", "columns": COLUMNS}))
    made(gateway.send("POST", "v1/schemas", {"name": "other", "columns": COLUMNS[:1]}))

    read = gateway.get("v1/schemas/order")
    change = {"name": "orders", "add_columns": [{"name": "tax", "type": "real"}]}
    changed = made(gateway.send("PATCH", "v1/schemas/order", change), 200)

    assert (read.json, schema["columns"]) == (schema, COLUMNS)
    assert [column["name"] for column in changed["columns"]] == ["price", "host", "tax"]
    assert (changed["id"], changed["name"], changed["number"]) == (schema["id"], "orders", 2)
    assert made(gateway.get(f"v1/schema-ids/{schema['id']}"), 200) == changed
    assert made(gateway.get("v1/schemas/orders?number=1"), 200)["columns"] == COLUMNS
    assert [item["name"] for item in listed(gateway, "v1/schemas")] == ["orders", "other"]
    assert gateway.send("DELETE", "v1/schemas/orders").json == {"success": True}
    assert gateway.send("DELETE", "v1/schemas/orders").status == 404
    assert gateway.get("v1/schemas/orders").status == 404


def test_a_view_and_its_projection_are_managed_over_http(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    text = "project timestamp, n = strlen(body)"
    projection = made(
        gateway.send("POST", "v1/projections", {"name": "lengths", "projection": text})
    )
    view = made(gateway.send("POST", "v1/views", {"name": "errors", "description": "of the shop"}))
    link = {"dataset_id": dataset, "view_id": view["id"], "projection_id": projection["id"]}

    assert made(gateway.send("POST", "v1/links", link), 200) == {"success": True}
    assert listed(gateway, f"v1/links?view_id={view['id']}") == [{**link, "is_typed": True}]
    (shown,) = listed(gateway, "v1/views")
    assert {c["name"]: c["type"] for c in shown["columns"]} == {
        "timestamp": "datetime",
        "n": "long",
    }
    (short,) = made(gateway.get("v1/views?columns=false"), 200)["items"]
    assert short == {name: value for name, value in shown.items() if name != "columns"}
    cleared = made(gateway.send("PATCH", "v1/views/errors", {"description": None}), 200)
    assert (view["description"], cleared["description"]) == ("of the shop", None)
    query = "&".join(f"{name}={value}" for name, value in link.items())
    assert gateway.send("DELETE", f"v1/links?{query}").json == {"success": True}
    assert gateway.send("DELETE", f"v1/links?{query}").status == 404
    assert gateway.send("DELETE", "v1/views/errors").status == 200
    assert gateway.send("DELETE", "v1/projections/lengths").status == 200


def test_a_secret_is_only_in_the_reply_of_create(gateway: GatewayServer) -> None:
    made(gateway.send("POST", "v1/datasets", {"name": "web"}))
    token = gateway.send("POST", "v1/tokens", {"name": "web-eu", "dataset_name": "web"})
    access = gateway.send("POST", "v1/access-tokens", {"subject": "a", "role": "reader"})

    for answer, path in ((token, "v1/tokens"), (access, "v1/access-tokens")):
        secret = made(answer)["plaintext_token"]
        assert answer.headers["cache-control"] == "no-store"
        everything = gateway.get(path).body + gateway.get("v1/audit").body
        assert secret.encode() not in everything
        assert secret.endswith(answer.json["token"]["token_hint"])
    id_ = token.json["token"]["id"]
    assert gateway.get(f"v1/tokens/{id_}").json["name"] == "web-eu"
    dataset = gateway.get("v1/datasets/web").json["id"]
    assert (
        gateway.send("PUT", f"v1/tokens/{id_}/routing", {"logs_dataset_id": dataset}).status == 200
    )
    routing = gateway.get(f"v1/tokens/{id_}").json["routing"]
    assert routing == {
        "traces_dataset_id": None, "logs_dataset_id": dataset, "metrics_dataset_id": None
    }  # fmt: skip
    assert gateway.send("POST", f"v1/tokens/{id_}/revoke").status == 200
    assert gateway.send("DELETE", f"v1/tokens/{id_}").json == {}
    revoked = gateway.send("DELETE", f"v1/access-tokens/{access.json['token']['id']}").json
    assert revoked["revoked_at"] is not None


def test_settings_of_a_dataset_are_read_and_changed(gateway: GatewayServer) -> None:
    made(gateway.send("POST", "v1/datasets", {"name": "web"}))
    path = "v1/datasets/web/settings"
    change = {
        "event_retention": "86400s",
        "timestamp_unit": "milliseconds",
        "promoted_columns": {
            "columns": [
                {"name": "code", "type": "long", "scope": "record", "attribute": "http.code"}
            ]
        },
    }

    changed = made(gateway.send("PATCH", path, change), 200)
    read = gateway.get(path)

    settings = read.json
    assert settings["event_retention"] == "86400s"
    assert settings["timestamp_unit"] == "milliseconds"
    assert [column["name"] for column in settings["promoted_columns"]["columns"]] == ["code"]
    assert changed["settings"] == {n: v for n, v in settings.items() if n != "version"}
    cleared = made(gateway.send("PATCH", path, {"event_retention": None}), 200)
    assert cleared["settings"]["event_retention"] in (None, "0s")
    fields = {"fields": [{"field_name": "code", "weight": 2.5}]}
    assert made(gateway.send("PUT", "v1/datasets/web/sharding-fields", fields), 200)
    shown = gateway.get("v1/datasets/web/sharding-fields").json
    assert {n: v for n, v in shown.items() if n != "version"} == fields


def test_an_etag_is_the_version_that_a_change_is_made_for(gateway: GatewayServer) -> None:
    made(gateway.send("POST", "v1/schemas", {"name": "order", "columns": COLUMNS}))
    made(gateway.send("POST", "v1/datasets", {"name": "web"}))
    changes: tuple[tuple[str, Any, Any], ...] = (
        ("v1/schemas/order", {"remove_columns": ["host"]}, {"name": "orders"}),
        ("v1/datasets/web", {"records_per_month": 7}, {"records_per_month": 8}),
        ("v1/datasets/web/settings", {"record_ids": True}, {"record_ids": False}),
    )
    for path, first, second in changes:
        read = gateway.get(path)
        tag = read.headers["etag"]
        assert tag == f'"{read.json["version"]}"'

        done = gateway.send("PATCH", path, first, **{"If-Match": tag})
        late = gateway.send("PATCH", path, second, **{"If-Match": tag})

        assert done.status == 200, done.body
        assert (late.status, late.json["error"]["type"]) == (412, "PreconditionFailed")
        assert late.json["error"]["reason"] == "RACE_LOST"
        assert gateway.get(path).headers["etag"] != tag
        assert gateway.send("PATCH", path, second, **{"If-Match": "*"}).status == 200
    for wrong in ("x", 'W/"x"', '"a", "b"', '""'):
        refused = gateway.send("PATCH", "v1/datasets/web", {}, **{"If-Match": wrong})
        assert (refused.status, "If-Match is not an ETag" in refused.message) == (400, True), wrong


def test_post_changes_a_dataset_still_and_says_that_it_is_deprecated(
    gateway: GatewayServer,
) -> None:
    made(gateway.send("POST", "v1/datasets", {"name": "web"}))

    posted = gateway.send("POST", "v1/datasets/web", {"records_per_month": 7})
    patched = gateway.send("PATCH", "v1/datasets/web", {"records_per_month": 8})

    assert (posted.status, posted.json["records_per_month"]) == (200, 7)
    assert posted.headers["deprecation"].startswith("@")
    assert (patched.status, patched.json["records_per_month"]) == (200, 8)
    assert "deprecation" not in patched.headers


def test_a_dataset_is_renamed_deleted_and_restored(gateway: GatewayServer) -> None:
    dataset = made(gateway.send("POST", "v1/datasets", {"name": "web"}))
    by_id = f"v1/dataset-ids/{dataset['id']}"

    renamed = gateway.send("PATCH", "v1/datasets/web", {"name": "shop"})
    assert (renamed.status, renamed.json["name"]) == (200, "shop")
    assert gateway.get("v1/datasets/web").status == 404
    assert gateway.get(by_id).json == gateway.get("v1/datasets/shop").json
    assert gateway.send("DELETE", by_id).status == 200
    assert gateway.get(by_id).status == 404
    restored = gateway.send("POST", f"{by_id}/undelete")
    assert (restored.status, restored.json["name"]) == (200, "shop")


def test_a_dataset_has_live_numbers(gateway: GatewayServer, segments: SegmentWriter) -> None:
    empty = gateway.get("v1/datasets/web").json
    segments.write(rows=3)

    shown = gateway.get("v1/datasets/web").json
    numbers = gateway.get("v1/datasets/web/numbers").json

    assert (empty["segment_count"], empty["start_time"]) == (0, None)
    assert (shown["record_count"], shown["segment_count"]) == (3, 1)
    assert shown["start_time"] <= shown["end_time"]
    assert isinstance(numbers.pop("version"), int)
    assert numbers.items() <= shown.items()
    older = gateway.get("v1/datasets/web/numbers?version=99999999")
    assert older.status in (400, 409)


def test_operations_are_read_over_http(gateway: GatewayServer, meta_server: MetaServer) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    pin = {"pin_id": str(uuid4()), "owner": "me", "dataset_name": "web", "lease_secs": 60}

    pinned = made(gateway.send("POST", "v1/pins", pin))
    assert pinned["created_at"].endswith("Z")
    assert [item["id"] for item in listed(gateway, "v1/pins?owner=me")] == [pin["pin_id"]]
    renewed = gateway.send("POST", f"v1/pins/{pin['pin_id']}/renew", {"lease_secs": 90})
    assert made(renewed, 200)["expires_at"] > pinned["expires_at"]
    assert gateway.send("DELETE", f"v1/pins/{pin['pin_id']}").json == {"success": True}
    assert gateway.send("DELETE", f"v1/pins/{pin['pin_id']}").status == 404

    rewrite = made(gateway.send("POST", "v1/rewrites", {"id": str(uuid4()), "dataset_id": dataset}))
    stopped = gateway.send("PATCH", f"v1/rewrites/{rewrite['id']}", {"state": "cancelled"})
    assert stopped.status == 200
    assert gateway.get("v1/rewrites").json["items"][0]["id"] == rewrite["id"]

    assert {item["dataset_name"] for item in listed(gateway, "v1/usage")} == {"default", "web"}
    (usage,) = gateway.get("v1/usage?dataset=web&with_rows=true").json["items"]
    assert (usage["records"], usage["rows"]) == (0, 0)
    for path in ("streams", "parked-streams", "losses", "merge-tasks", "denied-calls"):
        assert made(gateway.get(f"v1/{path}"), 200) == {"items": [], "next": None}
    assert gateway.send("POST", "v1/merge-tasks", {}).json == {
        "tasks_created": 0, "segments_included": 0
    }  # fmt: skip
    records = listed(gateway, "v1/audit?rpc=PinVersion") + listed(gateway, "v1/audit")
    assert records
    assert all(record["at"] for record in records)
