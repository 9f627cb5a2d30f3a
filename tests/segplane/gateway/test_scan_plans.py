"""Scans that the catalog plans: PyIceberg reads the same, and nothing wrong is planned."""

import base64
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog

from segplane.gateway.iceberg.scans import scan_plans
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.segments import EPOCH

TABLE = "iceberg/v1/namespaces/default/tables/web"
FIRST_DAY = datetime.fromtimestamp(EPOCH // 10**9, UTC)


@pytest.fixture
def catalog(gateway: GatewayServer) -> RestCatalog:
    found = load_catalog(
        "segplane", type="rest", uri=gateway.uri, **{"scan-planning-mode": "server"}
    )
    assert isinstance(found, RestCatalog)
    assert found.supports_server_side_planning()
    return found


@pytest.fixture
def shop(segments: SegmentWriter) -> SegmentWriter:
    """Four days, of two signals in turn, and stray times of three days."""
    for day in range(4):
        segments.write(day=day, signals=("logs",) if day % 2 else ("metrics", "traces"))
    segments.write(day=1, days=3, rows=9)
    return segments


def day(number: int) -> str:
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def plan(gateway: GatewayServer, **fields: Any) -> Answer:
    """Plan a scan; hyphens of names are written as underscores."""
    return gateway.post(
        f"{TABLE}/plan", {name.replace("_", "-"): value for name, value in fields.items()}
    )


def paths(answer: Answer) -> list[str]:
    return [one["data-file"]["file-path"] for one in answer.json["file-scan-tasks"]]


@pytest.mark.long
def test_pyiceberg_reads_what_is_planned(
    catalog: RestCatalog, gateway: GatewayServer, shop: SegmentWriter
) -> None:
    planned = catalog.load_table("default.web")
    # Its own plan, from manifests.
    own = load_catalog("own", type="rest", uri=gateway.uri).load_table("default.web")

    for where, files in (
        ("", 5),
        ("signal = 'logs'", 3),
        ("signal IN ('traces', 'metrics')", 2),
        (f"timestamp >= '{day(2)}' AND timestamp < '{day(3)}'", 2),
        (f"timestamp < '{day(1)}'", 1),
        (f"timestamp >= '{day(3)}'", 2),
        # One stretch of time is looked up, with what lies between.
        (f"signal = 'logs' AND (timestamp < '{day(1)}' OR timestamp >= '{day(3)}')", 3),
        ("signal = 'logs' AND service_name = 'nobody'", 3),
        ("signal = 'none'", 0),
    ):
        scans = [
            table.scan(row_filter=where) if where else table.scan() for table in (planned, own)
        ]
        tables = [scan.to_arrow() for scan in scans]
        assert len(list(scans[0].plan_files())) == files, where
        rows = [Counter(map(str, table.to_pylist())) for table in tables]
        assert rows[0] == rows[1], where
        assert scans[0].count() == tables[0].num_rows, where


def test_a_version_is_planned_as_it_was(
    catalog: RestCatalog, gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=5)
    before = catalog.load_table("default.web")
    version = before.metadata.current_snapshot_id
    segments.write(rows=5)

    assert before.scan(snapshot_id=version).to_arrow().num_rows == 5
    assert catalog.load_table(f"default.web@{version}").scan().to_arrow().num_rows == 5
    assert catalog.load_table("default.web").scan().to_arrow().num_rows == 10
    later = plan(gateway, snapshot_id=10**9)
    assert (later.status, "the current version is" in later.message) == (400, True)


def test_pages_show_one_version_and_each_file_once(
    gateway: GatewayServer, shop: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = Counter(paths(plan(gateway)))
    monkeypatch.setattr(scan_plans, "FILES_MAX", 2)

    answer = plan(gateway)
    version = answer.json["plan-id"]
    shop.write(rows=5)
    pages = [answer]
    while tasks := pages[-1].json.get("plan-tasks"):
        pages.append(gateway.post(f"{TABLE}/tasks", {"plan-task": tasks[0]}))
        assert len(pages) <= 3

    assert [len(paths(page)) for page in pages] == [2, 2, 1]
    assert sum((Counter(paths(page)) for page in pages), Counter()) == everything
    assert int(plan(gateway).json["plan-id"]) > int(version)


def test_a_task_has_all_that_a_client_needs(gateway: GatewayServer, shop: SegmentWriter) -> None:
    where = {"type": "eq", "term": "signal", "value": "logs"}

    tasks = plan(gateway, filter=where).json["file-scan-tasks"]

    assert all(task["residual-filter"] == where for task in tasks)
    files = [task["data-file"] for task in tasks]
    days = sorted((file["spec-id"], file["partition"]) for file in files)
    assert days == [(0, []), (1, [day(1)[:10]]), (1, [day(3)[:10]])]
    assert {(file["content"], file["file-format"]) for file in files} == {("data", "parquet")}
    assert all(file["record-count"] and file["file-size-in-bytes"] for file in files)


def test_a_plan_is_kept_nowhere(gateway: GatewayServer, shop: SegmentWriter) -> None:
    plan_id = plan(gateway).json["plan-id"]

    missing = gateway.get(f"{TABLE}/plan/{plan_id}")
    cancelled = gateway.ask(f"v1/namespaces/default/tables/web/plan/{plan_id}", "DELETE")

    assert (missing.status, missing.json["error"]["type"]) == (404, "NoSuchPlanIdException")
    assert cancelled.status == 204
    assert shop.files == 5


def test_bad_plans_are_refused_in_a_sentence(gateway: GatewayServer, shop: SegmentWriter) -> None:
    deep: Any = True
    for _ in range(900):
        deep = {"type": "not", "child": deep}
    for fields, sentence in (
        ({"start_snapshot_id": 1, "end_snapshot_id": 2}, "WatchDataset"),
        ({"snapshot_id": "x"}, "expected a number"),
        ({"snapshot_id": -1}, "expected a number"),
        ({"snapshot_id": 2**63}, "expected a number"),
        ({"snapshot_id": True}, "expected a number"),
        ({"filter": {"type": "like"}}, "not an expression"),
        ({"filter": deep}, "nested"),
        (
            {"filter": {"type": "in", "term": "a", "values": ["x" * 70_000]}},
            "more than 65,536 bytes",
        ),
        ({"filter": {"type": "eq", "term": "timestamp", "value": "soon"}}, "expected a time"),
    ):
        refused = plan(gateway, **fields)
        assert (refused.status, sentence in refused.message) == (400, True), refused.body
    for body in (b"", b"[]", b'{"filter": NaN}', b"{" * 90_000):
        assert gateway.post(f"{TABLE}/plan", body).status == 400
    missing = gateway.post(f"{TABLE.replace('/web', '/none')}/plan", {})
    assert (missing.status, missing.json["error"]["type"]) == (404, "NoSuchTableException")


def test_made_up_plan_tasks_do_not_exist(
    gateway: GatewayServer, shop: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_plans, "FILES_MAX", 2)
    (given,) = plan(gateway).json["plan-tasks"]
    fields = json.loads(base64.urlsafe_b64decode(given))

    def token(*changed: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(changed).encode()).decode()

    for made_up in (
        "",
        "x",
        "é",
        given[:-8],
        token(),
        token(*fields[:3], ""),
        token(*fields[:3], fields[3][:-2] + "AA"),
        token(*fields[:2], -1, fields[3]),
        token("0" * 36, *fields[1:]),
        token(fields[0], {"type": "eq", "term": "signal", "value": "logs"}, *fields[2:]),
    ):
        refused = gateway.post(f"{TABLE}/tasks", {"plan-task": made_up})
        assert (refused.status, refused.json["error"]["type"]) == (404, "NoSuchPlanTaskException")
        assert "plan the scan again" in refused.message
    assert gateway.post(f"{TABLE}/tasks", {"plan-task": 1}).status == 400
    assert gateway.post(f"{TABLE}/tasks", {"plan-task": given}).status == 200


def test_segments_that_engines_cannot_read_are_counted(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=5, format_version=1)

    refused = plan(gateway)

    assert refused.status == 400
    assert "1 segments of format 1" in refused.message
