"""Callers of the catalog: each reads what its own token may read, whatever others have cached."""

from collections import Counter
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError

from meta.roles import Role
from meta.v1 import catalog_pb2
from meta.v1.operations_pb2 import GetServerStateRequest
from tests.support.gateway.readers import (
    GATEWAY_TOKEN,
    OWN,
    TABLES,
    VIEWS,
    calls_of,
    gateway,
    guard,
    limited,
    shown,
)
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer

__all__ = ["gateway", "guard", "limited"]


def test_pyiceberg_reads_with_a_service_token_what_that_may_read(
    guard: GuardedServer, gateway: GatewayServer, limited: str
) -> None:
    every = guard.token(Role.READER, "every").plaintext_token
    rows = {}
    for name, token in (("own", GATEWAY_TOKEN), ("every", every), ("limited", limited)):
        catalog = load_catalog(name, type="rest", uri=gateway.uri, token=token)
        listed = [table for _, table in catalog.list_tables("default") if table != "default"]
        rows[name] = {
            table: catalog.load_table(("default", table)).scan().to_arrow().num_rows
            for table in listed
        }
        views = {view for _, view in catalog.list_views("default")}
        assert ("other_logs" in views) is (name != "limited")

    assert rows["own"] == rows["every"] == {"mine": 1, "other": 2}
    assert rows["limited"] == {"mine": 1}
    catalog = load_catalog("limited", type="rest", uri=gateway.uri, token=limited)
    assert not catalog.table_exists("default.other")
    with pytest.raises(NoSuchTableError, match="there is no table 'other'"):
        catalog.load_table("default.other")
    with pytest.raises(NoSuchViewError, match="there is no view 'other_logs'"):
        catalog.load_view("default.other_logs")


def _asked(gateway: GatewayServer, name: str, version: int, token: str) -> list[Answer]:
    """Ask everything that there is about a table."""
    known, below = shown(token), f"iceberg/{TABLES}/{name}"
    etag = gateway.table(name, **OWN).headers.get("etag", "")
    task = gateway.post(f"{below}/plan", {}, **OWN)
    asked = {"method": "GET", "uri": "http://127.0.0.1:9/bucket/x", "region": "r"}
    return [
        gateway.table(name, **known),
        gateway.table(name, **known, If_None_Match=etag),
        gateway.table(name, **known, X_Iceberg_Access_Delegation="remote-signing"),
        gateway.ask(f"{TABLES}/{name}", "HEAD", **known),
        gateway.table(f"{name}@{version}", **known),
        gateway.table(f"{name}__v{version}", **known),
        gateway.table(f"{name}@999999999", **known),
        gateway.ask(f"{TABLES}/{name}@{version}", "HEAD", **known),
        gateway.ask(f"{VIEWS}/{name}_logs", **known),
        gateway.ask(f"{VIEWS}/{name}_logs", "HEAD", **known),
        gateway.post(f"{below}/plan", {}, **known),
        gateway.post(f"{below}/plan", {"filter": 1, "snapshot-id": "x"}, **known),
        gateway.post(f"{below}/tasks", {"plan-task": str(task.json)}, **known),
        gateway.get(f"{below}/plan/1", **known),
        gateway.ask(f"{TABLES}/{name}/plan/1", "DELETE", **known),
        gateway.post(f"{below}/sign", asked, **known),
        gateway.get(f"{below}/credentials", **known),
        gateway.post(below, {}, **known),
    ]


def test_another_dataset_is_like_none_in_every_answer_also_where_others_have_it_cached(
    guard: GuardedServer, gateway: GatewayServer, limited: str
) -> None:
    version = guard.admin.operations.GetServerState(GetServerStateRequest()).version

    others, missing = (_asked(gateway, name, version, limited) for name in ("other", "nonce"))

    for other, none in zip(others, missing, strict=True):
        assert (other.status, other.body.replace(b"other", b"nonce")) == (none.status, none.body)
        assert other.headers.keys() == none.headers.keys()
    assert {answer.status for answer in others} == {404}
    assert Counter(answer.status for answer in _asked(gateway, "mine", version, limited))[200] >= 6


def test_lists_and_their_pages_tell_nothing_of_other_datasets(
    guard: GuardedServer, gateway: GatewayServer, limited: str
) -> None:
    CatalogDriver(guard.admin).dataset("another")
    token = gateway.ask(f"{TABLES}?pageSize=1", **OWN).json["next-page-token"]
    for kind in (TABLES, VIEWS):
        for page in ("", "?pageSize=1", f"?pageSize=1&pageToken={token}", "?pageToken=views:"):
            answer = gateway.ask(f"{kind}{page}", **shown(limited))
            names = {one["name"] for one in answer.json.get("identifiers", ())}
            assert names <= {"mine", "mine_logs", "mine_traces", "mine_metrics"}, answer.body
            assert "next-page-token" not in answer.json


def test_a_view_of_the_catalog_does_not_exist_for_a_limited_reader(
    guard: GuardedServer, gateway: GatewayServer, limited: str
) -> None:
    guard.admin.catalog.CreateView(catalog_pb2.CreateViewRequest(name="both"))

    assert gateway.ask(f"{VIEWS}/both", **OWN).status != 404
    answer = gateway.ask(f"{VIEWS}/both", **shown(limited))
    assert (answer.status, answer.message) == (404, "there is no view 'both'")


def test_a_name_means_what_its_caller_may_read(
    guard: GuardedServer, gateway: GatewayServer, limited: str
) -> None:
    version = guard.admin.operations.GetServerState(GetServerStateRequest()).version
    name = f"mine@{version}"
    CatalogDriver(guard.admin).dataset(name)

    own, theirs = gateway.table(name, **OWN), gateway.table(name, **shown(limited))

    assert own.json["metadata"]["table-uuid"] != theirs.json["metadata"]["table-uuid"]
    assert theirs.json["metadata"]["current-snapshot-id"] == version


def test_a_page_of_a_plan_is_for_who_may_read_its_table(
    gateway: GatewayServer,
    limited: str,
    monkeypatch: pytest.MonkeyPatch,
    guard: GuardedServer,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("segplane.gateway.iceberg.scans.scan_plans.FILES_MAX", 1)
    dataset = guard.admin.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="other")).id
    SegmentWriter(guard.admin, dataset, tmp_path).write(rows=1)
    (task,) = gateway.post(f"iceberg/{TABLES}/other/plan", {}, **OWN).json["plan-tasks"]
    page = {"plan-task": task}

    answers = [
        gateway.post(f"iceberg/{TABLES}/{name}/tasks", page, **shown(token))
        for name, token in (("other", GATEWAY_TOKEN), ("other", limited), ("mine", limited))
    ]

    assert [answer.status for answer in answers] == [200, 404, 404]
    assert "file-scan-tasks" not in answers[2].json


def test_a_table_is_described_once_for_all_who_may_read_it(
    guard: GuardedServer, gateway: GatewayServer
) -> None:
    tokens = [
        guard.token(Role.READER, f"{number}", dataset_names=["mine"] if number % 2 else [])
        for number in range(6)
    ]
    before = {rpc: calls_of(rpc) for rpc in ("HandOutTable", "FindSegments", "GetServerState")}

    answers = [
        gateway.table("mine", **shown(token.plaintext_token)) for _ in range(3) for token in tokens
    ]

    assert {answer.status for answer in answers} == {200}
    assert len({answer.headers["etag"] for answer in answers}) == 1
    made = {rpc: calls_of(rpc) - count for rpc, count in before.items()}
    # Once for those who are limited, once for the others.
    assert (made["HandOutTable"], made["FindSegments"]) == (2, 1)
    # One or, for the limited, two a token, unless this machine took longer than they are trusted.
    assert made["GetServerState"] <= 3 * 9
