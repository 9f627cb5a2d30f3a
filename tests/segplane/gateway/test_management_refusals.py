"""Requests below /v1 that are refused: with the path of what is wrong, or for their own path."""

from typing import Any
from urllib.parse import quote

import pytest

from meta.v1 import catalog_pb2
from segplane.gateway.http.bodies import BODY_BYTES_MAX
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.server import MetaServer

COLUMNS = [{"name": "price", "type": "long"}, {"name": "host", "type": "string"}]


def created(answer: Answer) -> None:
    assert answer.status == 201, answer.body


def test_an_error_has_metas_reason_and_metadata(gateway: GatewayServer) -> None:
    created(gateway.send("POST", "v1/schemas", {"name": "order", "columns": COLUMNS}))

    taken = gateway.send("POST", "v1/schemas", {"name": "order", "columns": COLUMNS[:1]})

    error = taken.json["error"]
    assert (taken.status, error["code"], error["type"]) == (409, 409, "Conflict")
    assert error["reason"] == "NAME_TAKEN"
    assert set(error) == {"message", "type", "code", "reason", "metadata"}
    assert all(isinstance(value, str) for value in error["metadata"].values())
    assert "reason" not in gateway.get("v1/nothing").json["error"]


UNKNOWN: tuple[tuple[str, str, Any, str], ...] = (
    ("POST", "v1/schemas", {"name": "s", "colums": []}, "'colums' is not known: expected name, c"),
    (
        "POST",
        "v1/schemas",
        {"name": "s", "columns": [{"name": "a", "typ": "long"}]},
        "'columns[0].typ' is not known: expected name, type",
    ),
    ("POST", "v1/schemas", {"name": "s", "columns": [{"name": "a"}]}, "columns[0].type is missing"),
    (
        "POST",
        "v1/schemas",
        {"name": "s", "columns": [{"name": "a", "type": "number"}]},
        "columns[0].type is not one of bool, int, long",
    ),
    ("POST", "v1/schemas", {"name": 7}, "name is not text"),
    ("POST", "v1/schemas", {"name": "s", "columns": {}}, "columns is not a list"),
    ("POST", "v1/schemas", [], "the body is not an object"),
    ("PATCH", "v1/schemas/s", {"freeze": 1}, "freeze is neither true nor false"),
    ("PATCH", "v1/datasets/web", {"name": "a", "records_per_month": 1}, "in their own requests"),
    ("PATCH", "v1/datasets/web", {"names": "a"}, "'names' is not known"),
    (
        "PATCH",
        "v1/datasets/web/settings",
        {"ingest_limits": {"bytes_per_sec": 2**63}},
        "ingest_limits.bytes_per_sec is not a whole number",
    ),
    (
        "PATCH",
        "v1/datasets/web/settings",
        {"event_retention": "1d"},
        "event_retention is not a number",
    ),
    ("POST", "v1/pins", {"as_of": "yesterday"}, "as_of: 'yesterday' is not an RFC 3339 time"),
    ("POST", "v1/schemas?dry_run=true", {}, "'dry_run' is not known: send none"),
    ("DELETE", "v1/pins/x?by_operator=1", "", "by_operator is neither true nor false"),
    ("PUT", "v1/datasets/web/schema?x=1", None, "'x' is not known: send none"),
    ("GET", "v1/audit?limit=0", "", "limit is 0, expected 1 to 1,000"),
    ("GET", "v1/audit?after=x", "", "after is not a cursor"),
    ("GET", "v1/audit?since=now", "", "since: 'now' is not an RFC 3339 time"),
    ("GET", "v1/audit?rpc=a&rpc=b", "", "rpc is there more than once"),
    ("GET", "v1/schemas/s?number=x", "", "number is not a whole number"),
    ("GET", "v1/datasets?columns=no", "", "columns is 'no', expected true or false"),
    ("GET", "v1/datasets/web?columns=no", "", "'columns' is not known: send none"),
    ("GET", "v1/merge-tasks?limit=5", "", "'limit' is not known: send dataset_name"),
)


def test_what_is_not_known_is_refused_with_its_path(gateway: GatewayServer) -> None:
    created(gateway.send("POST", "v1/datasets", {"name": "web"}))
    for method, path, body, message in UNKNOWN:
        answer = gateway.send(method, path, body)

        assert (answer.status, message in answer.message) == (400, True), (path, answer.body)
    twice = gateway.post("v1/schemas", b'{"name": "a", "name": "b"}')
    assert (twice.status, "'name' is there twice" in twice.message) == (400, True)
    deep = gateway.post("v1/schemas", b'{"columns":' + b"[" * 200_000)
    assert (deep.status, "is not JSON" in deep.message) == (400, True)
    for bytes_, status in ((BODY_BYTES_MAX, 400), (BODY_BYTES_MAX + 1, 413)):
        assert gateway.post("v1/schemas", b" " * bytes_).status == status
    for characters, message in ((255, "another version"), (256, "If-Match is not an ETag")):
        tag = {"If-Match": f'"{"x" * characters}"'}
        refused = gateway.send("PATCH", "v1/datasets/web", {"records_per_month": 1}, **tag)
        assert (refused.status, message in refused.message) == (
            412 if characters == 255 else 400, True
        )  # fmt: skip
    for characters, reason in ((4_096, "CURSOR_INVALID"), (4_097, None)):
        cursor = gateway.get(f"v1/pins?after={'x' * characters}")
        assert (cursor.status, cursor.json["error"].get("reason")) == (400, reason)


def test_other_methods_are_refused_with_those_that_there_are(gateway: GatewayServer) -> None:
    expected = {
        "v1/datasets": ("PUT", "GET, POST"),
        "v1/datasets/web": ("PUT", "DELETE, GET, PATCH, POST"),
        "v1/datasets/web/preview": ("DELETE", "GET"),
        "v1/query": ("GET", "POST"),
        "v1/openapi.json": ("HEAD", "GET"),
    }
    for path, (method, allowed) in expected.items():
        answer = gateway.send(method, path)

        assert (answer.status, answer.headers["allow"]) == (405, allowed), path
        if method != "HEAD":
            assert answer.json["error"]["type"] == "MethodNotAllowed"


@pytest.mark.one_meta
@pytest.mark.parametrize("name", ["a.b", "a%b?c#d", "日本語", "x y", "preview", "a:b+c"])
def test_a_name_of_any_signs_is_a_part_of_the_path(gateway: GatewayServer, name: str) -> None:
    created(gateway.send("POST", "v1/datasets", {"name": name}))

    path = f"v1/datasets/{quote(name, safe='')}"

    assert gateway.get(path).json["name"] == name
    assert gateway.get(f"{path}/preview").status == 200


def test_an_encoded_slash_is_of_no_route(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    """Decoded as a whole, `web%2Fpreview` was the preview of `web`."""
    segments.write(rows=1)
    assert gateway.get("v1/datasets/web/preview").status == 200
    for path in ("web%2Fpreview", "web%2fpreview", "a%2Fb", "web/preview%2F", "web%2F"):
        assert gateway.get(f"v1/datasets/{path}").status == 404, path
    for path in ("v1%2Fdatasets", "v1/datasets/", "v1//datasets", "v1/datasets/%FF", "v1"):
        assert gateway.get(path).status == 404, path
    # An old name with a slash is reached by the dataset's id.
    with meta_server.running.database.write() as tx:
        statement = "UPDATE datasets SET name = 'a/b' WHERE id = %(id)s"
        tx.exec_driver_sql(statement, {"id": segments.dataset})
    request = catalog_pb2.GetDatasetRequest(id=segments.dataset)
    assert meta_server.client.catalog.GetDataset(request).name == "a/b"
    assert gateway.get(f"v1/dataset-ids/{segments.dataset}").json["name"] == "a/b"
    assert len(gateway.get(f"v1/dataset-ids/{segments.dataset}/preview").json) == 1
