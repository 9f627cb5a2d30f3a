"""Tenants over HTTP, as their operator manages them."""

from tests.support.gateway.server import GatewayServer


def test_a_tenant_is_managed_over_http(gateway: GatewayServer) -> None:
    made = gateway.send("POST", "v1/tenants", {"name": "payments"})
    renamed = gateway.send("PATCH", "v1/tenants/payments", {"name": "billing"})
    suspended = gateway.send("POST", "v1/tenants/billing/suspend")
    resumed = gateway.send("POST", "v1/tenants/billing/resume")

    assert (made.status, made.json["name"], made.json["suspended_at"]) == (201, "payments", None)
    assert (renamed.status, renamed.json["name"]) == (200, "billing")
    assert suspended.json["suspended_at"]
    assert resumed.json == gateway.get("v1/tenants/billing").json
    page = gateway.get("v1/tenants").json
    assert ([item["name"] for item in page["items"]], page["next"]) == (
        ["default", "billing"],
        None,
    )
    assert gateway.get("v1/tenants/payments").status == 404
    assert gateway.send("DELETE", "v1/tenants/billing").json == {"success": True}
    assert gateway.send("DELETE", "v1/tenants/billing").status == 404
    restored = gateway.send("POST", f"v1/tenant-ids/{made.json['id']}/undelete")
    assert (restored.status, restored.json) == (200, resumed.json)
    refused = gateway.send("DELETE", "v1/tenants/default")
    assert (refused.status, refused.json["error"]["reason"]) == (400, "INVALID_ARGUMENT")


def test_usage_is_listed_by_tenant_or_month(gateway: GatewayServer) -> None:
    gateway.send("POST", "v1/tenants", {"name": "payments"})

    first = gateway.get("v1/tenant-usage?limit=1").json
    second = gateway.get(f"v1/tenant-usage?limit=1&after={first['next']}").json
    one = gateway.get("v1/tenant-usage?tenant=payments").json
    of_march = gateway.get("v1/tenant-usage?month=2026-03").json

    assert [item["tenant_name"] for item in first["items"] + second["items"]] == [
        "default", "payments"
    ]  # fmt: skip
    assert second["next"] is None
    assert one["items"] == second["items"]
    assert {item["month"] for item in of_march["items"]} == {"2026-03"}
    assert gateway.get("v1/tenant-usage?month=march").status == 400
