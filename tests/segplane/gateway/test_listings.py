"""GET /v1/datasets and /v1/views: names, columns and types, page by page."""

from collections.abc import Iterator

import pytest

from kql.dataset_table import FORMAT_COLUMNS, WORDS
from meta.config import Settings
from meta.roles import Role
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.queries.settings import QuerySettings
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.schemas import link_view, make_view
from tests.support.meta.server import MetaServer


def columns_of(item: dict[str, object]) -> dict[str, str]:
    columns = item["columns"]
    assert isinstance(columns, list)
    return {column["name"]: column["type"] for column in columns}


def by_name(answer: Answer) -> dict[str, dict[str, object]]:
    assert answer.status == 200, answer.body
    return {item["name"]: item for item in answer.json["items"]}


def test_datasets_are_listed_with_their_columns(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    promoted = common_pb2.PromotedColumn(
        name="code",
        type=common_pb2.KQL_TYPE_LONG,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="http.response.status_code",
    )
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=[promoted]))
    request = ops.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
    meta_server.client.operations.SetDatasetSettings(request)

    answer = gateway.get("v1/datasets")

    shown = by_name(answer)["web"]
    assert (shown["id"], answer.json["next"]) == (dataset, None)
    assert columns_of(shown) == {
        **FORMAT_COLUMNS, **dict.fromkeys(WORDS, "string"), "value": "real", "code": "long",
    }  # fmt: skip


def test_lists_come_in_pages(gateway: GatewayServer, meta_server: MetaServer) -> None:
    catalog = CatalogDriver(meta_server.client)
    names = {catalog.dataset_name(catalog.dataset()) for _ in range(3)} | {"default"}

    pages = [gateway.get("v1/datasets?limit=2")]
    pages.append(gateway.get(f"v1/datasets?limit=2&after={pages[0].json['next']}"))

    assert [len(page.json["items"]) for page in pages] == [2, 2]
    assert set(by_name(pages[0])) | set(by_name(pages[1])) == names
    assert pages[1].json["next"] is None


def test_views_are_listed_with_their_columns_or_the_reason(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    dataset = CatalogDriver(meta_server.client).dataset("web")
    link_view(meta_server.client, dataset, "errors", "project timestamp, n = strlen(body)")
    make_view(meta_server.client, "empty")

    views = by_name(gateway.get("v1/views"))

    assert columns_of(views["errors"]) == {"timestamp": "datetime", "n": "long"}
    assert "view 'empty' reads no dataset" in str(views["empty"]["error"])
    assert "columns" not in views["empty"]


REFUSED = (
    ("v1/datasets?limit=0", "limit is 0, expected 1 to 1,000"),
    ("v1/datasets?limit=1001", "limit is 1001, expected 1 to 1,000"),
    ("v1/views?limit=-1", "limit is '-1', expected 1 to 1,000"),
    ("v1/views?limit=%C2%B2", "limit is '²', expected 1 to 1,000"),
    ("v1/datasets?after=nonsense", "cursor"),
    ("v1/datasets?after=" + "x" * 5_000, "after is not a cursor"),
    ("v1/datasets?page=2", "'page' is not known: send label and"),
)


def test_what_cannot_be_listed_is_said_in_one_line(gateway: GatewayServer) -> None:
    for path, message in REFUSED:
        answer = gateway.get(path)

        assert (answer.status, message in answer.message) == (400, True), answer.body
        assert "\n" not in answer.message
    assert gateway.send("PUT", "v1/datasets", {}).status == 405
    assert gateway.send("DELETE", "v1/views").status == 405


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as guard:
        yield guard


@pytest.fixture
def guarded_gateway(guard: GuardedServer) -> Iterator[GatewayServer]:
    token = guard.token(Role.GATEWAY).plaintext_token
    server = GatewayServer(guard.address, token, meta_auth_token=token, auth_token="of-the-gateway")
    yield server
    server.close()


def test_a_caller_lists_what_its_token_may_see(
    guard: GuardedServer, guarded_gateway: GatewayServer
) -> None:
    catalog = CatalogDriver(guard.admin)
    catalog.dataset("other")
    link_view(guard.admin, catalog.dataset("mine"), "errors", "project timestamp")

    def listed(path: str, role: Role, *datasets: str) -> Answer:
        token = guard.token(role, f"{role} {datasets}", dataset_names=datasets).plaintext_token
        return guarded_gateway.get(path, Authorization=f"Bearer {token}")

    assert set(by_name(listed("v1/datasets", Role.READER))) == {"default", "mine", "other"}
    assert set(by_name(listed("v1/views", Role.READER))) == {"errors"}
    assert set(by_name(listed("v1/datasets", Role.READER, "mine"))) == {"mine"}
    assert listed("v1/views", Role.READER, "mine").json == {"items": [], "next": None}
    for path in ("v1/datasets", "v1/views"):
        assert guarded_gateway.get(path).status == 401
        assert guarded_gateway.get(path, Authorization="Bearer segp_no").status == 401
        assert listed(path, Role.INGEST).json["error"]["type"] == "Forbidden"


def test_a_list_ends_with_its_time(meta_server: MetaServer) -> None:
    gateway = GatewayServer(meta_server.address, queries=QuerySettings(secs=1e-9))
    try:
        answer = gateway.get("v1/datasets")
    finally:
        gateway.close()

    assert (answer.status, "took too long: ask for fewer" in answer.message) == (422, True)
