"""Groups are namespaces of the Iceberg catalog."""

from urllib.parse import quote

import psycopg

from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.groups import create_group
from tests.support.meta.server import MetaServer

TABLES = "v1/namespaces/default/tables"


def test_a_group_is_a_namespace(gateway: GatewayServer, meta_server: MetaServer) -> None:
    client = meta_server.client
    for group in ("shop", "a b"):
        create_group(client, group)
    catalog = CatalogDriver(client)
    for name in ("shop/web", "shop/api", "a b/web"):
        catalog.dataset(name)

    def names(path: str) -> list[str]:
        answer = gateway.ask(path).json["identifiers"]
        assert {tuple(one["namespace"]) for one in answer} <= {(path.split("/")[2],)}
        return [one["name"] for one in answer]

    shop = "v1/namespaces/shop"
    assert gateway.ask("v1/namespaces").json["namespaces"] == [["default"], ["a b"], ["shop"]]
    page = gateway.ask("v1/namespaces?pageSize=1&pageToken=").json
    assert page["namespaces"] == [["default"], ["a b"]]
    token = quote(page["next-page-token"])
    rest = gateway.ask(f"v1/namespaces?pageSize=1&pageToken={token}").json
    assert rest["namespaces"] == [["shop"]]
    assert gateway.ask(shop).json["namespace"] == ["shop"]
    assert gateway.ask(shop, "HEAD").status == 204
    assert names(f"{shop}/tables") == ["api", "web"]
    assert names(f"{shop}/views")[:3] == ["api_logs", "api_metrics", "api_traces"]
    assert not {"api", "web"} & set(names(TABLES))
    assert gateway.ask(f"{shop}/tables/web").status == 200
    view = gateway.ask(f"{shop}/views/web_logs").json["metadata"]["versions"][0]
    assert view["default-namespace"] == ["shop"]
    assert "FROM `shop`.`web`" in view["representations"][0]["sql"]
    for path in (f"{shop}/tables/none", "v1/namespaces/none/tables/web", f"{TABLES}/api"):
        assert gateway.ask(path).status == 404
    nested = f"v1/namespaces/shop{quote(chr(31))}web/tables/files"
    assert gateway.ask(nested).json["error"]["type"] == "NoSuchTableException"


def test_a_slash_in_the_default_namespace_means_no_dataset_of_a_group(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    client = meta_server.client
    create_group(client, "shop")
    catalog = CatalogDriver(client)
    old = catalog.dataset("old")
    catalog.dataset("shop/web")
    with psycopg.connect(meta_server.settings.database.url) as connection:
        # As a release before 0.3.0 named it.
        connection.execute("UPDATE datasets SET name = 'a/b' WHERE id = %s", (old,))
    views = TABLES.replace("tables", "views")

    def statuses(name: str) -> set[int]:
        paths = (f"{TABLES}/{quote(name, safe='')}", f"{views}/{quote(f'{name}_logs', safe='')}")
        return {gateway.ask(path, method).status for path in paths for method in ("GET", "HEAD")}

    assert statuses("shop/web") == {404}
    assert statuses("shop/web@v1") == {404}
    missing = gateway.ask(f"{TABLES}/shop%2Fweb").json["error"]
    assert missing["type"] == "NoSuchTableException"
    plan = gateway.post("iceberg/v1/namespaces/default/tables/shop%2Fweb/plan", {})
    assert plan.status == 404
    assert statuses("a/b") == {200, 204}
