"""The catalog's views as views of Iceberg: listed, described, and their SQL, which runs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from segplane.read import open_dataset, open_view
from tests.segplane.read.conftest import spark as spark
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import link_view, make_view
from tests.support.meta.server import MetaServer

VIEWS = "v1/namespaces/default/views"
PROJECTION = (
    "where severity_number > 8 | project at = timestamp, what = body, spent = 2 * duration,"
    " user = tostring(attributes['user.id']), half = severity_number / 2.0, all = attributes"
)


def listed(gateway: GatewayServer, query: str = "") -> Any:
    return gateway.ask(f"{VIEWS}{query}").json


def test_views_of_the_catalog_are_described_beside_those_of_signals(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    view = link_view(segments.client, segments.dataset, "failures", PROJECTION)

    names = [one["name"] for one in listed(gateway)["identifiers"]]
    loaded = gateway.ask(f"{VIEWS}/failures").json["metadata"]
    version = loaded["versions"][0]

    assert names[-1] == "failures"
    assert {"web_logs", "web_traces", "web_metrics"} <= set(names[:-1])
    assert gateway.ask(f"{VIEWS}/failures", "HEAD").status == 204
    assert loaded["view-uuid"] == view
    fields = [(field["name"], field["type"]) for field in loaded["schemas"][0]["fields"]]
    assert fields == [
        ("at", "timestamptz"),
        ("what", "string"),
        ("spent", "long"),
        ("user", "string"),
        ("half", "double"),
        ("all", "string"),
    ]
    assert [one["dialect"] for one in version["representations"]] == ["spark", "trino"]
    assert "FROM `default`.`web`" in version["representations"][0]["sql"]
    assert 'FROM "segplane"."default"."web"' in version["representations"][1]["sql"]
    assert loaded["current-version-id"] == version["version-id"]


def test_a_changed_view_is_another_version(gateway: GatewayServer, segments: SegmentWriter) -> None:
    link_view(segments.client, segments.dataset, "failures", "project what = body")
    before, again = (gateway.ask(f"{VIEWS}/failures").json["metadata"] for _ in range(2))
    link_view(segments.client, segments.dataset, "others", "project what = event_name")
    other = gateway.ask(f"{VIEWS}/others").json["metadata"]

    assert before == again
    assert before["current-version-id"] != other["current-version-id"]


def test_pages_hold_every_view_once(gateway: GatewayServer, segments: SegmentWriter) -> None:
    CatalogDriver(segments.client).dataset("other")
    for number in range(3):
        make_view(segments.client, f"v{number}")
    names: list[str] = []
    query = "?pageSize=2"
    for _ in range(10):
        page = listed(gateway, query)
        names += [one["name"] for one in page["identifiers"]]
        if "next-page-token" not in page:
            break
        query = f"?pageSize=2&pageToken={page['next-page-token']}"

    assert "next-page-token" not in page
    assert sorted(names) == sorted(one["name"] for one in listed(gateway)["identifiers"])
    assert len(names) == len(set(names))
    assert {"v0", "v1", "v2", "web_logs", "other_traces"} < set(names)
    wrong = gateway.ask(f"{VIEWS}?pageToken=views:nonsense")
    assert (wrong.status, "pageToken" in wrong.message) == (400, True)


def test_what_cannot_be_read_is_refused_in_a_sentence(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    make_view(segments.client, "unlinked")
    make_view(segments.client, "web")
    link_view(
        segments.client, segments.dataset, "expanded", "mv-expand events | project one = events"
    )

    unlinked = gateway.ask(f"{VIEWS}/unlinked")
    expanded = gateway.ask(f"{VIEWS}/expanded").json["metadata"]["versions"][0]
    missing = gateway.ask(f"{VIEWS}/nothing")

    assert (unlinked.status, "reads no dataset: link it" in unlinked.message) == (400, True)
    assert [one["dialect"] for one in expanded["representations"]] == ["spark"]
    assert (missing.status, missing.json["error"]["type"]) == (404, "NoSuchViewException")
    # The dataset of that name comes first.
    assert gateway.ask(f"{VIEWS}/web").status == 404
    assert "web" not in [one["name"] for one in listed(gateway)["identifiers"]]


def test_pyiceberg_lists_the_views(gateway: GatewayServer, segments: SegmentWriter) -> None:
    link_view(segments.client, segments.dataset, "failures", PROJECTION)

    catalog = load_catalog("segplane", type="rest", uri=gateway.uri)

    assert ("default", "failures") in catalog.list_views("default")
    assert catalog.view_exists("default.failures")
    assert not catalog.view_exists("default.nothing")


@pytest.fixture
def tables(spark: SparkSession, meta_server: MetaServer) -> Iterator[SparkSession]:
    """A session with the dataset's file as the table that the SQL names."""
    with open_dataset("web", meta_address=meta_server.address) as dataset:
        (file,) = dataset.files()
    spark.sql(f"CREATE OR REPLACE VIEW default.web AS SELECT * FROM parquet.`{file.url}`")  # noqa: S608
    yield spark
    spark.sql("DROP VIEW default.web")


@pytest.mark.long
@pytest.mark.spark
def test_the_sql_of_spark_gives_the_views_rows(
    gateway: GatewayServer,
    segments: SegmentWriter,
    meta_server: MetaServer,
    request: pytest.FixtureRequest,
) -> None:
    segments.write(rows=60, signals=("logs", "traces"))
    link_view(segments.client, segments.dataset, "failures", PROJECTION)
    session = request.getfixturevalue("tables")
    loaded = gateway.ask(f"{VIEWS}/failures").json["metadata"]["versions"][0]

    frame = session.sql(loaded["representations"][0]["sql"])

    with open_view("failures", meta_address=meta_server.address) as view:
        expected = view.to_table()
    rows = frame.toArrow().cast(expected.schema)
    assert expected.num_rows > 10
    assert Counter(map(str, rows.to_pylist())) == Counter(map(str, expected.to_pylist()))
