"""Metrics of exports under the names of gRPC and OpenTelemetry, and their exemplars."""

import re
from urllib.request import Request, urlopen

import pytest

from tests.collector.test_http_senders import export_headers, send
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground
from tests.support.collector.process import LOGS_METHOD, StartCollector

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def scrape(port: int, accept: str = "text/plain") -> tuple[str, str]:
    """Read the metrics of a process; returns the content type as well."""
    request = Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urlopen(request, timeout=5) as response:
        return response.headers["Content-Type"], response.read().decode()


def count_of(page: str, name: str, **labels: str) -> float:
    text = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
    line = re.search(rf"^{re.escape(f'{name}{{{text}}}')} (\S+)", page, re.MULTILINE)
    return float(line[1]) if line else 0.0


def requests(page: str, method: str, route: str, status: int) -> float:
    return count_of(
        page,
        "http_server_request_duration_seconds_count",
        http_request_method=method,
        http_response_status_code=str(status),
        http_route=route,
    )


def calls(page: str, status: str) -> float:
    return count_of(
        page,
        "grpc_server_call_duration_seconds_count",
        grpc_method=LOGS_METHOD.removeprefix("/"),
        grpc_status=status,
    )


def test_exports_are_counted_by_method_route_and_status(
    ground: Ground, start_collector: StartCollector, free_tcp_port: int
) -> None:
    token = ground.new_token()
    collector = start_collector(COLLECTOR_METRICS_PORT=str(free_tcp_port))

    send(collector, "POST", "/v1/logs", log_export("a"), export_headers(token))
    send(collector, "POST", "/v1/logs", b"", {"Content-Type": "application/x-protobuf"})
    send(collector, "GET", "/v1/logs")
    send(collector, "PROPFIND", "/v1/nowhere/of/a/stranger")
    collector.export(token, log_export("b"))

    _, page = scrape(free_tcp_port)
    assert requests(page, "POST", "/v1/logs", 200) == 1
    assert requests(page, "POST", "/v1/logs", 401) == 1
    assert requests(page, "GET", "", 405) == 1
    assert requests(page, "_OTHER", "", 404) == 1
    assert calls(page, "OK") == 1
    assert "nowhere" not in page
    assert "process_resident_memory_bytes" in page
    commit = "meta.v1.IngestionService/CommitOffset"
    target = {"grpc_method": commit, "grpc_target": ground.meta.address}
    assert count_of(page, "grpc_client_attempt_started_total", **target) >= 1


@pytest.mark.long
def test_the_trace_of_an_export_stands_at_its_duration_in_open_metrics(
    ground: Ground, start_collector: StartCollector, free_tcp_port: int
) -> None:
    token = ground.new_token()
    collector = start_collector(
        COLLECTOR_METRICS_PORT=str(free_tcp_port), OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1"
    )
    headers = export_headers(token)

    send(collector, "POST", "/v1/logs", log_export("a"), headers)
    unsampled = {"traceparent": f"00-{TRACE[::-1]}-00f067aa0ba902b7-00"}
    send(collector, "POST", "/v1/logs", log_export("b"), headers | unsampled)
    sampled = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    send(collector, "POST", "/v1/logs", log_export("c"), headers | sampled)

    content_type, page = scrape(free_tcp_port, OPEN_METRICS)
    assert content_type.startswith(OPEN_METRICS)
    assert page.endswith("# EOF\n")
    exemplars = [line for line in page.splitlines() if " # {" in line]
    assert len(exemplars) == 1
    assert exemplars[0].startswith("http_server_request_duration_seconds_bucket")
    assert f'# {{trace_id="{TRACE}"}}' in exemplars[0]
    plain_type, plain = scrape(free_tcp_port)
    assert plain_type.startswith("text/plain")
    assert TRACE not in plain
