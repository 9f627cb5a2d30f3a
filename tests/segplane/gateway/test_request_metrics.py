"""Requests of the gateway are counted by OpenTelemetry's conventions, with bounded labels."""

from meta.client import MetaClient
from meta.metrics import GATEWAY
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver


def count(route: str, status: int, method: str = "GET") -> float:
    labels = {
        "http_request_method": method,
        "http_route": route,
        "http_response_status_code": str(status),
    }
    name = "http_server_request_duration_seconds_count"
    return GATEWAY.get_sample_value(name, labels) or 0.0


def test_requests_are_counted_by_the_path_of_their_route(
    gateway: GatewayServer, meta_client: MetaClient
) -> None:
    CatalogDriver(meta_client).dataset("web")
    table = "/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}"
    before = count(table, 200), count("/v1/datasets/{name}", 200), count("", 404)

    assert gateway.table().status == 200
    assert gateway.get("v1/datasets/web").status == 200
    assert gateway.get("v1/invented/by/a/stranger").status == 404

    assert (count(table, 200), count("/v1/datasets/{name}", 200), count("", 404)) == (
        before[0] + 1,
        before[1] + 1,
        before[2] + 1,
    )


def test_another_method_of_a_route_is_counted_at_the_route(gateway: GatewayServer) -> None:
    before = count("/v1/datasets/{name}", 405, "PUT")

    assert gateway.send("PUT", "v1/datasets/web", {}).status == 405

    assert count("/v1/datasets/{name}", 405, "PUT") == before + 1
