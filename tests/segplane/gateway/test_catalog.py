"""The catalog over HTTP: names, pages, errors, and what it hands out."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from meta.config import Settings
from meta.server import server
from meta.v1 import catalog_pb2, common_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until

TABLES = "v1/namespaces/default/tables"


def test_the_configuration_names_the_endpoints(gateway: GatewayServer) -> None:
    config = gateway.ask("v1/config?warehouse=any").json

    assert config["overrides"] == {}
    assert "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}" in config["endpoints"]
    # Besides what is read only scans are planned.
    others = {one for one in config["endpoints"] if one.split()[0] not in ("GET", "HEAD")}
    of_table = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
    assert {one.split()[1].removeprefix(of_table) for one in others} == {
        "/plan",
        "/plan/{plan-id}",
        "/tasks",
    }


def test_there_is_one_namespace(gateway: GatewayServer) -> None:
    assert gateway.ask("v1/namespaces").json == {"namespaces": [["default"]]}
    assert gateway.ask("v1/namespaces?parent=default").json == {"namespaces": []}
    assert gateway.ask("v1/namespaces/default").json["namespace"] == ["default"]
    assert gateway.ask("v1/namespaces/default", "HEAD").status == 204
    assert gateway.ask("v1/namespaces/other", "HEAD").status == 404
    answer = gateway.ask("v1/namespaces/other/tables")
    assert (answer.status, answer.json["error"]["type"]) == (404, "NoSuchNamespaceException")
    # What Spark asks for in search of a metadata table.
    nested = "v1/namespaces/default%1Fweb"
    table = gateway.ask(f"{nested}/tables/snapshots")
    assert (table.status, table.json["error"]["type"]) == (404, "NoSuchTableException")
    assert gateway.ask(f"{nested}/tables/snapshots", "HEAD").status == 404
    view = gateway.ask(f"{nested}/views/snapshots")
    assert (view.status, view.json["error"]["type"]) == (404, "NoSuchViewException")
    assert gateway.ask(nested).json["error"]["type"] == "NoSuchNamespaceException"
    assert gateway.ask("v1/namespaces/other/tables/x").json["error"]["type"] == (
        "NoSuchNamespaceException"
    )


def test_tables_are_listed_in_pages(gateway: GatewayServer, meta_server: MetaServer) -> None:
    catalog = CatalogDriver(meta_server.client)
    for name in ("a", "b&c", "d e"):
        catalog.dataset(name)

    def names(answer: dict[str, list[dict[str, str]]]) -> list[str]:
        return [one["name"] for one in answer["identifiers"]]

    whole = gateway.ask(TABLES).json
    first = gateway.ask(f"{TABLES}?pageSize=3&pageToken=").json
    rest = gateway.ask(f"{TABLES}?pageSize=3&pageToken={quote(first['next-page-token'])}").json

    assert names(whole)[:3] == ["a", "b&c", "d e"]
    assert names(whole) == sorted(names(whole))
    assert names(first) + names(rest) == names(whole)
    assert "next-page-token" not in rest
    assert gateway.ask(f"{TABLES}?pageSize=0").status == 400
    assert gateway.ask(f"{TABLES}?pageToken=none").status == 400


def test_a_table_is_found_under_any_name_that_a_dataset_may_have(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    for name in ("b&c", "d e", "x@7", "ü"):
        CatalogDriver(meta_server.client).dataset(name)
        assert gateway.ask(f"{TABLES}/{quote(name, safe='')}", "HEAD").status == 204
        assert gateway.table(quote(name, safe="")).status == 200
    missing = gateway.ask(f"{TABLES}/none")
    assert (missing.status, missing.json["error"]["type"]) == (404, "NoSuchTableException")
    assert gateway.ask(f"{TABLES}/none", "HEAD").status == 404
    assert gateway.ask(f"{TABLES}/none@3").status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", TABLES), ("POST", f"{TABLES}/web"), ("DELETE", f"{TABLES}/web")],
)
def test_writers_are_refused_in_a_sentence(gateway: GatewayServer, method: str, path: str) -> None:
    answer = gateway.ask(path, method)

    assert (answer.status, answer.json["error"]["type"]) == (501, "UnsupportedOperationException")
    assert "read-only" in answer.message


def test_a_table_shows_the_dataset_at_its_last_change(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(day=0)
    segments.write(day=1)

    loaded = gateway.table().json

    table = loaded["metadata"]
    assert table["table-uuid"] == segments.dataset
    snapshot = table["snapshots"][-1]
    assert table["current-snapshot-id"] == snapshot["snapshot-id"] == snapshot["sequence-number"]
    assert snapshot["summary"]["total-data-files"] == "2"
    assert snapshot["summary"]["total-records"] == "40"
    stored = Path(loaded["metadata-location"].removeprefix("file://"))
    assert stored.name == f"v{snapshot['snapshot-id']}.metadata.json"
    assert json.loads(stored.read_text()) == table
    assert loaded["config"] == {}


def test_an_unchanged_table_is_not_sent_again(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write()
    first = gateway.table()

    again = gateway.table(If_None_Match=first.headers["etag"])
    segments.write()
    wait_until(
        lambda: gateway.table(If_None_Match=first.headers["etag"]).status == 200,
        "the change is shown",
    )

    assert (again.status, again.body) == (304, b"")
    refs = gateway.ask(f"{TABLES}/web?snapshots=refs")
    assert len(refs.json["metadata"]["snapshots"]) == 1
    assert refs.headers["etag"] != gateway.table().headers["etag"]
    assert len(gateway.table().json["metadata"]["snapshots"]) == 2
    assert gateway.ask(f"{TABLES}/web?snapshots=some").status == 400


def test_each_version_is_a_table(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write()
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    segments.write()
    # Never shown before, so it is read from its beginning.
    between = segments.client.operations.GetServerState(pb.GetServerStateRequest()).version
    segments.write()

    def shown(name: str) -> tuple[int, str]:
        table = gateway.table(name).json["metadata"]
        snapshot = table["snapshots"][-1]
        return table["current-snapshot-id"], snapshot["summary"]["total-data-files"]

    assert shown(f"web@{version}") == shown(f"web__v{version}") == (version, "1")
    assert shown(f"web@{between}") == (between, "2")
    future = gateway.table(f"web@{between + 100}")
    assert (future.status, "the current version is" in future.message) == (400, True)


def test_a_second_gateway_hands_out_the_same(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write()
    segments.write(day=3)
    first = gateway.table()
    other = GatewayServer(meta_server.address)

    second = other.table()
    other.close()

    assert second.json == first.json


def test_segments_that_engines_cannot_read_are_refused_with_their_number(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write()
    old = segment_of(segments.dataset)
    facts = old.facts
    facts.format_version = 1
    signal = common_pb2.SignalFacts(
        signal=common_pb2.SIGNAL_LOGS, number_of_events=10, time_range=old.time_range
    )
    facts.signals.append(signal)
    client = meta_server.client
    Writer(client).save(old)
    known = set(Writer(client).find_ids("web"))
    # Of a nursery that knows the published contract only.
    stream = IngestionDriver(client, "c").register(CatalogDriver(client).token(segments.dataset))
    IngestionDriver(client, "c").commit(stream.stream_id, 0)
    span, nursery = (stream.stream_id, -1, 0), NurseryDriver(client)
    nursery.register(segments.dataset, span, segment=segment_of(segments.dataset))
    (unknown,) = set(Writer(client).find_ids("web")) - known

    answer = gateway.table()

    assert answer.status == 400
    assert "1 segments of format 1 (convert them:" in answer.message
    assert "1 segments whose content is not known yet" in answer.message
    facts.format_version = 2
    read = pb.ReadSegment(segment_id=unknown, facts=facts)
    client.operations.SetSegmentFacts(pb.SetSegmentFactsRequest(segments=[read]))
    wait_until(lambda: "not known yet" not in gateway.table().message, "the content counts")


def test_a_dataset_of_the_same_name_is_another_table(
    gateway: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write()
    before = gateway.table().json["metadata"]
    catalog = meta_server.client.catalog
    catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=segments.dataset))
    wait_until(lambda: gateway.table().status == 404, "the table is gone")
    dataset = CatalogDriver(meta_server.client).dataset("web")

    wait_until(lambda: gateway.table().status == 200, "the new table is there")

    after = gateway.table().json["metadata"]
    assert (before["table-uuid"], after["table-uuid"]) == (segments.dataset, dataset)
    assert after["snapshots"][-1]["summary"]["total-data-files"] == "0"


def test_callers_need_the_token(meta_server: MetaServer) -> None:
    gateway = GatewayServer(meta_server.address, auth_token="a-long-secret")
    none = gateway.ask("v1/config")
    wrong = gateway.ask("v1/config", Authorization="Bearer another")
    right = gateway.ask("v1/config", Authorization="Bearer a-long-secret")
    gateway.close()

    assert (none.status, wrong.status, right.status) == (401, 401, 200)
    assert none.json["error"]["type"] == "NotAuthorizedException"
    assert "set `token`" in none.message


def test_a_dead_meta_is_one_sentence(meta_settings: Settings) -> None:
    meta = server.start(meta_settings)
    gateway = GatewayServer(f"127.0.0.1:{meta.port}")
    healthy = gateway.is_healthy()
    meta.stop(1.0)

    unhealthy = gateway.is_healthy()
    answer = gateway.table()
    gateway.close()

    assert (healthy, unhealthy) == (True, False)
    assert answer.status == 503
    assert "metadata server cannot answer now" in answer.message
    assert answer.headers["retry-after"] == "2"


def test_a_table_with_too_many_segments_is_refused(
    segments: SegmentWriter, meta_server: MetaServer
) -> None:
    gateway = GatewayServer(meta_server.address, segments_max=2)
    segments.write()
    segments.write()
    allowed = gateway.table().status
    segments.write()
    wait_until(lambda: gateway.table().status == 400, "the third is one too many")
    message = gateway.table().message
    gateway.close()

    assert allowed == 200
    assert "more than 2 segments" in message


def test_each_signal_has_a_view(gateway: GatewayServer, segments: SegmentWriter) -> None:
    names = [one["name"] for one in gateway.ask("v1/namespaces/default/views").json["identifiers"]]
    view = gateway.ask("v1/namespaces/default/views/web_traces").json["metadata"]

    assert [name for name in names if name.startswith("web")] == [
        "web_logs",
        "web_metrics",
        "web_traces",
    ]
    columns = [field["name"] for field in view["schemas"][0]["fields"]]
    assert "duration_ns" in columns
    assert "metric_name" not in columns
    spark, trino = view["versions"][0]["representations"]
    assert spark["sql"].endswith("FROM `default`.`web` WHERE signal = 'traces'")
    assert trino["sql"].endswith("""FROM "segplane"."default"."web" WHERE signal = 'traces'""")
    missing = gateway.ask("v1/namespaces/default/views/web_none")
    assert (missing.status, missing.json["error"]["type"]) == (404, "NoSuchViewException")
    assert gateway.ask("v1/namespaces/default/views/web_logs", "HEAD").status == 204
    assert segments.files == 0


def test_a_dataset_comes_before_a_view_of_its_name(
    gateway: GatewayServer, meta_server: MetaServer
) -> None:
    for name in ("web", "web_logs"):
        CatalogDriver(meta_server.client).dataset(name)

    assert gateway.ask("v1/namespaces/default/views/web_logs").status == 404
    assert gateway.table("web_logs").status == 200
