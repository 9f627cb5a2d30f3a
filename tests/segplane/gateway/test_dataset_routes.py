"""POST, GET, DELETE /v1/datasets[/NAME] and PUT .../schema: datasets are set up over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from meta.config import Settings
from meta.roles import Role
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as ops
from tests.support.gateway.query_pool import SharedPool
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer

INT64_MAX = 2**63 - 1


@pytest.fixture
def order(meta_server: MetaServer) -> str:
    """A schema of two columns; returns its id."""
    columns = [
        common_pb2.Column(name="price", type=common_pb2.KQL_TYPE_LONG),
        common_pb2.Column(name="host", type=common_pb2.KQL_TYPE_STRING),
    ]
    request = catalog_pb2.CreateSchemaRequest(name="order", columns=columns)
    return meta_server.client.catalog.CreateSchema(request).id


def columns_of(answer: Answer) -> dict[str, str]:
    assert answer.status in (200, 201), answer.body
    return {column["name"]: column["type"] for column in answer.json["columns"]}


def test_a_dataset_is_created_with_schema_and_quota_and_again_is_the_same(
    gateway: GatewayServer, meta_server: MetaServer, order: str
) -> None:
    host = {"scope": "resource", "attribute": "host.name"}
    body = {
        "name": "shop",
        "schema": {"name": "order", "attributes": {"host": host}},
        "records_per_month": 5_000,
    }

    made, again = (
        gateway.send("POST", "v1/datasets", body),
        gateway.send("POST", "v1/datasets", body),
    )

    shown = made.json
    assert (made.status, again.status, again.json) == (201, 200, shown)
    assert shown["schema"] == {
        "name": "order", "id": order, "version": 1, "follows_newest": True,
        "attributes": {"host": host},
    }  # fmt: skip
    assert (shown["name"], shown["records_per_month"]) == ("shop", 5_000)
    assert {"price": "long", "host": "string"}.items() <= columns_of(made).items()
    assert gateway.get("v1/datasets/shop").json == shown
    request = ops.GetDatasetSettingsRequest(dataset_id=shown["id"])
    settings = meta_server.client.operations.GetDatasetSettings(request).settings
    assert (settings.binding.schema_id, settings.records_per_month) == (order, 5_000)


def test_a_dataset_that_exists_is_not_changed_by_creating_it(
    gateway: GatewayServer, order: str
) -> None:
    gateway.send("POST", "v1/datasets", {"name": "shop", "schema": "order", "records_per_month": 5})

    pinned = {"name": "shop", "schema": {"name": "order", "version": 1}}
    for other in (pinned, {"name": "shop", "records_per_month": 6}):
        refused = gateway.send("POST", "v1/datasets", other)
        assert (refused.status, refused.json["error"]["type"]) == (409, "Conflict"), refused.body
    assert gateway.get("v1/datasets/shop").json["records_per_month"] == 5
    assert gateway.send("POST", "v1/datasets", {"name": "shop"}).status == 200


def test_a_misspelt_schema_leaves_no_dataset(gateway: GatewayServer) -> None:
    refused = gateway.send("POST", "v1/datasets", {"name": "shop", "schema": "ordre"})

    assert (refused.status, "NOT_FOUND" in refused.message) == (404, True)
    assert gateway.get("v1/datasets/shop").status == 404


def test_schema_and_quota_of_a_dataset_are_changed(gateway: GatewayServer, order: str) -> None:
    gateway.send("POST", "v1/datasets", {"name": "shop"})

    bound = gateway.send("PUT", "v1/datasets/shop/schema", {"name": "order", "version": 1})
    limited = gateway.send("POST", "v1/datasets/shop", {"records_per_month": -1})
    free = gateway.send("PUT", "v1/datasets/shop/schema", "order")
    unbound = gateway.send("PUT", "v1/datasets/shop/schema", None)

    assert bound.json["schema"]["follows_newest"] is False
    assert "price" in columns_of(bound)
    assert limited.json["records_per_month"] == -1
    assert free.json["schema"]["follows_newest"] is True
    assert unbound.json["schema"] is None
    assert "price" not in columns_of(unbound)


def test_deleting_has_the_safeguards_of_the_command_line(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    catalog = CatalogDriver(meta_server.client)
    used, idle = catalog.dataset("used"), catalog.dataset("idle")
    catalog.token(used)

    default = gateway.send("DELETE", "v1/datasets/default")
    routed = gateway.send("DELETE", "v1/datasets/used")
    deleted = gateway.send("DELETE", "v1/datasets/idle")
    again = gateway.send("DELETE", "v1/datasets/idle")

    assert (default.status, "DATASET_PROTECTED" in default.message) == (409, True)
    assert (routed.status, "STILL_REFERENCED" in routed.message) == (409, True)
    assert "token " in routed.message
    assert deleted.json == {
        "id": idle, "name": "idle", "undelete": f"segplane datasets delete --undo {idle}",
    }  # fmt: skip
    assert again.status == 404
    request = ops.UndeleteDatasetRequest(dataset_id=idle)
    assert meta_server.client.operations.UndeleteDataset(request).success


def test_deleting_can_keep_the_files(
    gateway: GatewayServer, meta_server: MetaServer, segments: SegmentWriter
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("kept")

    for misspelt in ("keep_files=yes", "keep_files=", "keep-files=true"):
        refused = gateway.send("DELETE", f"v1/datasets/kept?{misspelt}")
        assert (refused.status, "keep_files" in refused.message) == (400, True), refused.body
    kept = gateway.send("DELETE", "v1/datasets/kept?keep_files=true")
    deleted = gateway.send("DELETE", "v1/datasets/web?keep_files=false")

    assert kept.json["kept_below"] == f"dataset/{dataset}/merged/"
    assert "kept_below" not in deleted.json
    with meta_server.running.database.read() as tx:
        names = tx.exec_driver_sql("SELECT name FROM datasets WHERE kept_files <> 0 ORDER BY name")
        assert list(names.scalars()) == ["kept"]


BAD_BODIES: tuple[tuple[Any, str], ...] = (
    ([], "the body is not an object with name, schema, records_per_month"),
    ({}, "name is not text"),
    ({"name": 7}, "name is not text"),
    ({"name": " shop"}, "begins or ends with a blank"),
    ({"name": "x" * 300}, "more than 255"),
    ({"name": "\ud800"}, "name is not valid Unicode"),
    ({"name": "shop", "quota": 7}, "'quota' is not known"),
    ({"name": "shop", "records_per_month": -2}, "records_per_month is not a whole number"),
    ({"name": "shop", "records_per_month": True}, "records_per_month is not a whole number"),
    ({"name": "shop", "records_per_month": INT64_MAX + 1}, "records_per_month is not"),
    ({"name": "shop", "schema": 7}, "schema is not an object with name, version, attributes"),
    ({"name": "shop", "schema": {"name": "order", "version": 0}}, "schema.version is not"),
    ({"name": "shop", "schema": {"name": "order", "attributes": []}}, "schema.attributes is no"),
    (
        {"name": "shop", "schema": {"name": "order", "attributes": {"price": {"scope": "span"}}}},
        "schema.attributes.price.scope is not one of record, resource, scope",
    ),
)


def test_a_body_that_cannot_be_used_is_refused_with_its_place(
    gateway: GatewayServer, order: str
) -> None:
    for body, message in BAD_BODIES:
        answer = gateway.send("POST", "v1/datasets", body)

        assert (answer.status, message in answer.message) == (400, True), (body, answer.body)
    most = gateway.send("POST", "v1/datasets", {"name": "most", "records_per_month": INT64_MAX})
    assert (most.status, most.json["records_per_month"]) == (201, INT64_MAX)
    for path, method in (("v1/datasets", "PUT"), ("v1/datasets/most/schema", "GET")):
        assert gateway.send(method, path, {}).status == 405
    assert gateway.send("POST", "v1/datasets/none", {}).status == 404


def test_a_change_that_a_foreign_page_can_send_is_refused(gateway: GatewayServer) -> None:
    """Browsers send other types to any site without asking it first."""
    for content_type in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = {"Content-Type": content_type}
        answer = gateway.post("v1/datasets", {"name": "shop"}, **headers)

        assert answer.status == 415, answer.body
    assert gateway.get("v1/datasets/shop").status == 404


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        yield guard


@pytest.mark.parametrize("meta_token", [Role.GATEWAY, Role.ADMIN])
def test_only_the_callers_own_token_changes_the_catalog(
    guard: GuardedServer, query_pool: SharedPool, meta_token: Role
) -> None:
    """A gateway with the rights of an admin lends them to nobody."""
    CatalogDriver(guard.admin).dataset("kept")
    token = guard.token(meta_token).plaintext_token
    gateway = GatewayServer(
        guard.address, token, pool=query_pool, meta_auth_token=token, auth_token="of-the-gateway"
    )
    changes: tuple[tuple[str, str, Any], ...] = (
        ("POST", "v1/datasets", {"name": "made"}),
        ("POST", "v1/datasets/kept", {"records_per_month": 7}),
        ("PUT", "v1/datasets/kept/schema", None),
        ("DELETE", "v1/datasets/kept", ""),
    )

    def statuses(bearer: str) -> list[int]:
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return [gateway.send(*change, **headers).status for change in changes]

    try:
        for unknown in ("", "of-the-gateway", "segp_unknown", "anything"):
            assert statuses(unknown) == [401] * 4
        reader = guard.token(Role.READER, "limited", dataset_names=["kept"]).plaintext_token
        assert set(statuses(reader)) <= {403, 404}
        assert statuses(guard.token(Role.READER).plaintext_token) == [403] * 4
        names = [
            d.name
            for d in guard.admin.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest()).items
        ]
        assert names == ["default", "kept"]
        keeper = guard.token(Role.CATALOG).plaintext_token
        assert gateway.get("v1/datasets", Authorization=f"Bearer {keeper}").status == 200
        assert statuses(keeper) == [201, 200, 200, 200]
        assert gateway.get("v1/datasets/made", Authorization=f"Bearer {keeper}").status == 200
        assert gateway.get("v1/datasets/made", Authorization=f"Bearer {reader}").status == 404
        # Meta's shared token is an admin's.
        assert gateway.send(*changes[0], Authorization="Bearer shared").status == 200
    finally:
        gateway.close()
