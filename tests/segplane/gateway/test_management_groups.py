"""Groups over HTTP: the group is a part of the path, and a dataset moves between them."""

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer


def names(gateway: GatewayServer, path: str) -> list[tuple[str, str | None]]:
    answer = gateway.get(path)
    assert answer.status == 200, answer.body
    return [(item["name"], item["group"]) for item in answer.json["items"]]


def test_datasets_of_a_group_are_managed_below_it(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=2)
    group = gateway.send("POST", "v1/groups", {"name": "shop", "note": "of the shop"})
    made = gateway.send("POST", "v1/groups/shop/datasets", {"name": "web", "labels": {"a": "b"}})
    path = "v1/groups/shop/datasets/web"

    assert (group.status, group.json["name"], group.json["note"]) == (201, "shop", "of the shop")
    assert (made.status, made.json["name"], made.json["group"]) == (201, "web", "shop")
    assert gateway.get(path).json == gateway.get(f"v1/dataset-ids/{made.json['id']}").json
    assert gateway.get("v1/datasets/web").json["id"] != made.json["id"]
    assert names(gateway, "v1/groups/shop/datasets") == [("web", "shop")]
    assert names(gateway, "v1/datasets?columns=false") == [
        ("default", None), ("web", None), ("web", "shop")
    ]  # fmt: skip
    (item,) = gateway.get("v1/groups/shop/datasets").json["items"]
    assert item["columns"]
    titled = gateway.send("PATCH", path, {"title": "Shop"})
    assert (titled.status, titled.json["title"]) == (200, "Shop")
    assert gateway.send("PATCH", path, {"records_per_month": 5}).json["records_per_month"] == 5
    assert gateway.get(f"{path}/settings").json["records_per_month"] == 5
    assert gateway.get(f"{path}/preview").json == []
    assert len(gateway.get("v1/datasets/web/preview").json) == 2
    blocked = gateway.send("DELETE", "v1/groups/shop")
    assert (blocked.status, blocked.json["error"]["reason"]) == (409, "STILL_REFERENCED")


def test_a_dataset_moves_and_a_group_is_renamed(gateway: GatewayServer) -> None:
    gateway.send("POST", "v1/groups", {"name": "shop"})
    dataset = gateway.send("POST", "v1/datasets", {"name": "web"}).json

    moved = gateway.send("PATCH", "v1/datasets/web", {"group": "shop"})
    renamed = gateway.send("PATCH", "v1/groups/shop", {"name": "store"})
    both = gateway.send("PATCH", "v1/groups/store/datasets/web", {"name": "site", "group": None})

    assert (moved.status, moved.json["id"], moved.json["group"]) == (200, dataset["id"], "shop")
    assert (renamed.status, renamed.json["name"]) == (200, "store")
    assert (both.status, both.json["name"], both.json["group"]) == (200, "site", None)
    assert gateway.send("DELETE", "v1/groups/store").json == {"success": True}
    assert gateway.get("v1/groups/store").status == 404
    assert gateway.get("v1/groups/store/datasets/web").status == 404


def test_an_old_name_with_a_slash_is_of_no_group(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=1)
    with meta_server.running.database.write() as tx:
        statement = "UPDATE datasets SET name = 'a/b' WHERE id = %(id)s"
        tx.exec_driver_sql(statement, {"id": segments.dataset})

    for path in ("v1/groups/a/datasets/b", "v1/groups/a/datasets/b/preview"):
        assert gateway.get(path).status == 404, path
    assert gateway.get(f"v1/dataset-ids/{segments.dataset}").json["name"] == "a/b"
    assert len(gateway.get(f"v1/dataset-ids/{segments.dataset}/preview").json) == 1
