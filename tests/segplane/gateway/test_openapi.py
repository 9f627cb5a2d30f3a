"""/v1/openapi.json is a valid document, made of the routes, and real replies fit it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from segplane.gateway.http.paths import ways_of
from segplane.gateway.management import openapi, routes
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "segplane" / "gateway" / "management" / "openapi.json"


@cache
def document() -> Any:
    return json.loads(DOCUMENT.read_text())


def test_the_document_is_what_the_table_and_the_protos_make(tmp_path: Path) -> None:
    descriptors = tmp_path / "protos.binpb"
    flags = ("--include_imports", "--include_source_info", f"--descriptor_set_out={descriptors}")
    protos = sorted(str(path) for path in (ROOT / "protos/meta/v1").glob("*.proto"))
    compiler = (sys.executable, "-P", "-m", "grpc_tools.protoc", "-I", str(ROOT / "protos"))
    subprocess.run([*compiler, *flags, *protos], check=True)

    assert openapi.text_of(descriptors.read_bytes()) == DOCUMENT.read_text(), "run make gen"


@pytest.mark.long
def test_the_document_is_valid_and_served_without_a_token(gateway: GatewayServer) -> None:
    served = gateway.get("v1/openapi.json")

    assert (served.status, served.json["openapi"]) == (200, "3.1.0")
    assert served.json == document()
    validate(document())


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_has_every_route_and_no_other(gateway: GatewayServer) -> None:
    described = {f"{method} {path}" for method, path, _ in operations()}
    others = {
        "POST /v1/query": ["/v1/query"],
        "GET /v1/datasets/{name}/preview": list(ways_of("/v1/datasets/{name}/preview")),
        "GET /v1/datasets/{name}/fresh": list(ways_of("/v1/datasets/{name}/fresh")),
        "POST /v1/datasets/{name}/records": list(ways_of("/v1/datasets/{name}/records"))[:2],
        "GET /v1/openapi.json": ["/v1/openapi.json"],
    }
    table = {route: list(ways_of(route.partition(" ")[2])) for route in routes.table()}
    expected = {
        f"{route.partition(' ')[0]} {way}"
        for route, ways in (table | others).items()
        for way in ways
    }

    assert described == expected
    for method, path, _ in operations():
        if path.endswith("/records"):
            continue
        refused = gateway.send("HEAD", path[1:].replace("{", "").replace("}", ""))
        assert method in refused.headers["allow"].split(", "), path


def test_every_operation_is_described_and_has_its_own_name() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
    for method, path, operation in operations():
        assert operation["description"], (method, path)
        for parameter in operation["parameters"]:
            assert parameter["description"], (path, parameter)


def check(answer: Answer, method: str, path: str) -> None:
    """Assert that an answer fits its schema in the document."""
    operation = document()["paths"][path][method.lower()]
    described = operation["responses"].get(str(answer.status), operation["responses"]["default"])
    schema = described["content"]["application/json"]["schema"]
    root = {**schema, "components": document()["components"]}
    errors = sorted(Draft202012Validator(root).iter_errors(answer.json), key=str)
    assert not errors, (method, path, errors[0].message, errors[0].json_path, answer.body)


COLUMNS = [{"name": "price", "type": "long"}]
# Each makes what later ones read; `{x}` is the id of the answer that is kept as `x`.
STEPS: tuple[tuple[str, str, str, Any, str], ...] = (
    ("GET", "/v1/datasets", "", "", ""),
    ("POST", "/v1/datasets", "", {"name": "shop"}, "dataset"),
    ("GET", "/v1/datasets/{name}", "shop", "", ""),
    ("GET", "/v1/dataset-ids/{id}", "{dataset}", "", ""),
    ("GET", "/v1/datasets/{name}", "web", "", ""),
    ("GET", "/v1/datasets/{name}/numbers", "web", "", ""),
    ("PATCH", "/v1/datasets/{name}", "shop", {"records_per_month": 5}, ""),
    ("POST", "/v1/datasets/{name}", "shop", {"records_per_month": 6}, ""),
    ("GET", "/v1/datasets/{name}/settings", "shop", "", ""),
    ("PATCH", "/v1/datasets/{name}/settings", "shop", {"event_retention": "86400s"}, ""),
    ("PUT", "/v1/datasets/{name}/sharding-fields", "shop", {"fields": []}, ""),
    ("GET", "/v1/datasets/{name}/sharding-fields", "shop", "", ""),
    ("POST", "/v1/groups", "", {"name": "team"}, ""),
    ("GET", "/v1/groups", "", "", ""),
    ("GET", "/v1/groups/{name}", "team", "", ""),
    ("POST", "/v1/groups/{group}/datasets", "team", {"name": "web"}, ""),
    ("GET", "/v1/groups/{group}/datasets", "team", "", ""),
    ("PATCH", "/v1/groups/{name}", "team", {"name": "teams"}, ""),
    ("POST", "/v1/schemas", "", {"name": "order", "columns": COLUMNS}, ""),
    ("GET", "/v1/schemas", "", "", ""),
    ("GET", "/v1/schemas/{name}", "order", "", ""),
    ("PATCH", "/v1/schemas/{name}", "order", {"name": "orders"}, ""),
    ("PUT", "/v1/datasets/{name}/schema", "shop", "orders", ""),
    ("POST", "/v1/views", "", {"name": "errors"}, "view"),
    ("GET", "/v1/views", "", "", ""),
    ("GET", "/v1/views/{name}", "errors", "", ""),
    ("PATCH", "/v1/views/{name}", "errors", {"description": "x"}, ""),
    ("POST", "/v1/projections", "", {"name": "p", "projection": "project body"}, "projection"),
    ("GET", "/v1/projections", "", "", ""),
    ("GET", "/v1/projections/{name}", "p", "", ""),
    ("PATCH", "/v1/projections/{name}", "p", {"name": "q"}, ""),
    (
        "POST",
        "/v1/links",
        "",
        {"dataset_id": "{dataset}", "view_id": "{view}", "projection_id": "{projection}"},
        "",
    ),
    ("GET", "/v1/links", "", "", ""),
    ("GET", "/v1/views", "", "", ""),
    ("POST", "/v1/tokens", "", {"name": "t", "dataset_name": "shop"}, "token"),
    ("GET", "/v1/tokens", "", "", ""),
    ("GET", "/v1/tokens/{token_id}", "{token}", "", ""),
    ("POST", "/v1/tokens/{token_id}/revoke", "{token}", "", ""),
    ("DELETE", "/v1/tokens/{token_id}", "{token}", "", ""),
    ("POST", "/v1/access-tokens", "", {"subject": "s", "role": "reader"}, "access"),
    ("GET", "/v1/access-tokens", "", "", ""),
    ("DELETE", "/v1/access-tokens/{token_id}", "{access}", "", ""),
    (
        "POST",
        "/v1/pins",
        "",
        {
            "pin_id": "0190b5a0-0000-7000-8000-000000000001",
            "owner": "me",
            "dataset_name": "shop",
            "lease_secs": 60,
        },
        "pin",
    ),
    ("GET", "/v1/pins", "", "", ""),
    ("POST", "/v1/pins/{pin_id}/renew", "{pin}", {}, ""),
    ("DELETE", "/v1/pins/{pin_id}", "{pin}", "", ""),
    (
        "POST",
        "/v1/rewrites",
        "",
        {"id": "0190b5a0-0000-7000-8000-000000000002", "dataset_id": "{dataset}"},
        "rewrite",
    ),
    ("GET", "/v1/rewrites", "", "", ""),
    ("POST", "/v1/merge-tasks", "", {}, ""),
    ("GET", "/v1/merge-tasks", "", "", ""),
    ("GET", "/v1/merge-tasks/{task_id}", "{dataset}", "", ""),
    ("GET", "/v1/streams", "", "", ""),
    ("GET", "/v1/parked-streams", "", "", ""),
    ("GET", "/v1/losses", "", "", ""),
    ("GET", "/v1/usage", "", "", ""),
    ("GET", "/v1/audit", "", "", ""),
    ("GET", "/v1/denied-calls", "", "", ""),
    ("GET", "/v1/datasets/{name}/preview", "web", "", ""),
    ("PUT", "/v1/views/{name}/lock", "errors", {"reason": "audit"}, ""),
    ("DELETE", "/v1/views/{name}/lock", "errors", {"token": "wrong"}, ""),
    ("POST", "/v1/views/{name}/lock/break", "errors", {"reason": "done"}, ""),
    ("DELETE", "/v1/views/{name}", "errors", "", ""),
    ("DELETE", "/v1/projections/{name}", "q", "", ""),
    ("DELETE", "/v1/datasets/{name}", "shop", "", ""),
    ("POST", "/v1/dataset-ids/{dataset_id}/undelete", "{dataset}", "", ""),
    ("GET", "/v1/schemas/{name}", "none", "", ""),
    ("POST", "/v1/schemas", "", {"nam": "x"}, ""),
)


def test_real_replies_fit_the_document(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=2)
    CatalogDriver(meta_server.client).token(segments.dataset)
    ids: dict[str, str] = {}
    for method, template, value, body, kept in STEPS:
        parts = [value.format(**ids) if p.startswith("{") else p for p in template.split("/")]
        content = body
        if isinstance(body, dict):
            content = {n: v.format(**ids) if isinstance(v, str) else v for n, v in body.items()}
        answer = gateway.send(method, "/".join(parts)[1:], content)

        check(answer, method, template)
        is_wrong = (
            template == "/v1/merge-tasks/{task_id}"
            or "none" in value
            or body in ({"nam": "x"}, {"token": "wrong"})
        )
        assert (answer.status < 300) != is_wrong, (method, template, answer.body)
        if kept:
            ids[kept] = answer.json.get("id") or answer.json["token"]["id"]


def test_a_reply_with_a_member_that_is_not_described_is_noticed(gateway: GatewayServer) -> None:
    gateway.send("POST", "v1/datasets", {"name": "shop"})
    answer = gateway.get("v1/datasets/shop")
    other = Answer(200, {}, json.dumps({**answer.json, "more": 1}).encode())

    with pytest.raises(AssertionError, match="more"):
        check(other, "GET", "/v1/datasets/{name}")
