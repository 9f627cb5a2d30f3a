"""Each route about another tenant's entries answers as for what nobody had.

The routes are those of the gateway's table and of queries. A new part of a path needs an entry.
"""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest

from meta.config import Settings
from meta.v1 import catalog_pb2, ingest_token_pb2, operations_pb2
from segments.keys import quarantine_key
from segplane.gateway.http.paths import ways_of
from segplane.gateway.management import routes
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.server import Answer
from tests.support.gateway.tenants import SharedGateway, shared_gateway
from tests.support.meta.resources import ResourceDriver
from tests.support.nursery.drivers import CollectorDriver, nursery

PART = re.compile(r"\{(\w+)\}")
MASKED = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|secret|unused|\d+")
# Routes beside those of management.
OTHERS = ("GET /v1/datasets/{name}/preview", "GET /v1/datasets/{name}/fresh")
ICEBERG = (
    "GET {}/namespaces/{group}",
    "GET {}/namespaces/{group}/tables",
    "GET {}/namespaces/{group}/tables/{name}",
    "HEAD {}/namespaces/{group}/tables/{name}",
    "GET {}/namespaces/{group}/tables/{name}/credentials",
    "GET {}/namespaces/{group}/views/{name}",
    "POST {}/namespaces/{group}/tables/{name}/plan",
    "POST {}/namespaces/{group}/tables/{name}/tasks",
    "POST {}/namespaces/{group}/tables/{name}/sign",
)


@pytest.fixture
def shared(meta_settings: Settings, query_pool: SharedPool) -> Iterator[SharedGateway]:
    with shared_gateway(meta_settings, query_pool) as running:
        yield running


def _filled(shared: SharedGateway) -> dict[str, str]:
    """Entries of `payments`, all named `secret`, by the parts of paths that name them."""
    client, resources = shared.tenants.payments, ResourceDriver(shared.tenants.payments)
    for noun in ("dataset", "schema", "view", "projection"):
        resources.make(noun, "secret")
    request = ingest_token_pb2.CreateIngestTokenRequest(name="secret", dataset_name="secret")
    token = client.ingest_token.CreateIngestToken(request).token.id
    pin = str(uuid4())
    client.operations.PinVersion(
        operations_pb2.PinVersionRequest(pin_id=pin, owner="o", dataset_name="secret")
    )
    dataset = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="secret")).id
    others = {part: str(uuid4()) for part in ("task_id", "vacuum_id")}
    return {
        "name": "secret",
        "group": "secret",
        "id": dataset,
        "dataset_id": dataset,
        "token_id": token,
        "pin_id": pin,
        **others,
        **_quarantined(shared, dataset),
    }


def _quarantined(shared: SharedGateway, dataset: str) -> dict[str, str]:
    """The key of a payload of a dataset in the quarantine."""
    admin = shared.tenants.guard.admin
    collector = CollectorDriver(admin, dataset, tenant_client=shared.tenants.payments)
    collector.commit(collector.put("good", payloads=(b"\x0a\x05ab",)))
    nursery(admin).cycle()
    _, stream_id, offset, payload = quarantine_key(
        collector.stream_id, 0, collector.token_id, "logs", 1
    ).split("/")
    assert collector.store.head(f"quarantine/{stream_id}/{offset}/{payload}").size_bytes
    return {"stream_id": stream_id, "offset": offset, "payload": payload}


def _ask(shared: SharedGateway, route: str, entries: dict[str, str]) -> tuple[int, str]:
    method, _, path = route.partition(" ")
    path = PART.sub(lambda match: entries[match[1]], path).lstrip("/")
    content = {} if method in ("POST", "PUT", "PATCH") else ""
    answer: Answer = shared.gateway.send(method, path, content, **shared.headers("search"))
    return answer.status, answer.body.decode()


@pytest.mark.long
def test_entries_of_another_tenant_are_as_if_nobody_had_them(shared: SharedGateway) -> None:
    theirs = _filled(shared)
    never = {part: str(uuid4()) for part in theirs} | {"name": "unused", "group": "unused"}
    never |= {"offset": "0".zfill(20), "payload": f"{uuid4()}-logs-1"}
    all_routes = [f"{row.method} {way}" for row in routes.rows() for way in ways_of(row.path)]
    all_routes += [f"GET {way}" for route in OTHERS for way in ways_of(route.partition(" ")[2])]
    all_routes += [route.format("/iceberg/v1", group="{group}", name="{name}") for route in ICEBERG]
    different = {}
    for route in dict.fromkeys(all_routes):
        if PART.search(route):
            answers = [_ask(shared, route, entries) for entries in (never, theirs)]
            masked = [(status, MASKED.sub("*", body)) for status, body in answers]
            if masked[0] != masked[1]:
                different[route] = answers

    assert different == {}
    assert len(all_routes) > 100
    # Nothing of it has changed.
    assert ResourceDriver(shared.tenants.payments).get(theirs["dataset_id"]).name == "secret"


@pytest.mark.long
def test_lists_and_queries_hold_nothing_of_another_tenant(shared: SharedGateway) -> None:
    theirs = _filled(shared)
    shown = [
        _ask(shared, f"GET {row.path}", {})[1]
        for row in routes.rows()
        if row.method == "GET" and not PART.search(row.path)
    ]
    headers = shared.headers("search")
    for text in ("secret", "search 'x'", "union database('secret').*", ".show tables"):
        shown.append(shared.gateway.query(text, headers=headers).body.decode())
        body = {"csl": text, "db": "shop"}
        shown.append(shared.gateway.post("v1/rest/mgmt", body, **headers).body.decode())
    query = {"query": "SELECT * FROM secret", "language": "sql"}
    shown.append(shared.gateway.post("v1/query", query, **headers).body.decode())
    whole = "\n".join(shown)

    assert not [part for part, value in theirs.items() if value != "secret" and value in whole]
    assert "of payments" not in whole
    assert shared.tenant_ids["payments"] not in whole
