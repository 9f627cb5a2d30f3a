"""Views of the gateway's catalog in engines that know Iceberg's views: the rows are our own."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from meta.v1 import catalog_pb2
from segplane.read import open_dataset, open_view
from tests.support.gateway.answers import catalog_of
from tests.support.gateway.engine_script import plain_rows
from tests.support.gateway.engines import ENGINES
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.shop import Shop
from tests.support.gateway.trino import TrinoServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.schemas import link_view, make_projection, make_view
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.readers

SPARK_4 = next(engine for engine in ENGINES if engine.name == "Spark 4.1")
PROJECTIONS = {
    # Of an attribute that some files have a column of, and some have not.
    "failures": "where severity_number > 8 | project at = timestamp, what = body, all = attributes,"
    " spent = 2 * duration, user = tostring(attributes['user.id']), half = severity_number / 2.0",
    "texts": "project id = span_id, low = tolower(severity_text),"
    " is_cart = service_name has 'cart',"
    " part = substring(body, 1, 4), digits = extract(@'([0-9]+)', 1, trace_id),"
    " how = case(severity_number > 16, 'bad', severity_number > 8, 'poor', 'good'),"
    " known = coalesce(service_name, 'none'), is_hex = body matches regex @'^[a-f]+[0-9]',"
    " parts = split(scope_name, '-'), both = strcat(service_name, '/', severity_number)",
    "times": "where timestamp >= datetime(2024-01-02) and signal in ('logs', 'traces')"
    " | project at = timestamp, hour = bin(timestamp, 1h), day = startofday(timestamp),"
    " age = timestamp - datetime(2024-01-01), text = tostring(timestamp), duration,"
    " later = timestamp + duration, id = span_id",
    "numbers": "where signal == 'metrics' | project value = value_double * 2, count, bucket_counts,"
    " share = round(sum / 3.0, 2), whole = tolong(sum), left = count % 7, is_nan = isnan(min)",
}
UNION = {
    "web": "where signal == 'logs' | project what = body, number = tolong(severity_number)",
    "other": "project what = name, number = duration_ns",
}


@pytest.fixture
def views(segments: SegmentWriter, meta_server: MetaServer) -> dict[str, list[Any]]:
    """Give the rows of each view, as segplane reads them."""
    Shop(segments.client, segments).open()
    for name, text in PROJECTIONS.items():
        link_view(segments.client, segments.dataset, name, text)
    other = CatalogDriver(segments.client).dataset("other")
    replace(segments, dataset=other).write(rows=30, signals=("traces",))
    view = make_view(segments.client, "both")
    for dataset, text in zip((segments.dataset, other), UNION.values(), strict=True):
        segments.client.catalog.LinkViewDatasetProjection(
            catalog_pb2.LinkViewDatasetProjectionRequest(
                dataset_id=dataset,
                view_id=view,
                projection_id=make_projection(segments.client, f"both-{dataset}", text),
            )
        )
    rows: dict[str, list[Any]] = {}
    for name in (*PROJECTIONS, "both"):
        with open_view(name, meta_address=meta_server.address) as opened:
            rows[name] = comparable(shown(opened.to_table()))
    columns = ["timestamp", "body", "severity_number"]
    with open_dataset("web", "logs", columns=columns, meta_address=meta_server.address) as logs:
        rows["web_logs"] = comparable(shown(logs.to_table()))
    assert all(len(found) > 20 for found in rows.values())
    return rows


def test_spark_gives_the_rows_of_views(
    views: dict[str, list[Any]], gateway: GatewayServer, meta_server: MetaServer
) -> None:
    SPARK_4.skip_if_missing()

    answers = SPARK_4.run(catalog_of(gateway, meta_server.settings), statements(views, "`"))

    assert {name: comparable(one["rows"]) for name, one in answers.items()} == views


def test_trino_gives_the_rows_of_views(
    views: dict[str, list[Any]], gateway: GatewayServer, meta_server: MetaServer, tmp_path: Path
) -> None:
    trino = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_server.settings))
    try:
        answers = {name: trino.query(sql)[0] for name, sql in statements(views, '"').items()}
    finally:
        trino.close()

    assert {name: comparable(rows) for name, rows in answers.items()} == views


def statements(views: dict[str, list[Any]], quote: str) -> dict[str, str]:
    """Return a query of each view; of the view of a signal, some columns."""
    schema = f"segplane.{quote}default{quote}"
    columns = {"web_logs": "timestamp, body, severity_number"}
    return {name: f"SELECT {columns.get(name, '*')} FROM {schema}.{name}" for name in views}  # noqa: S608


def shown(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as engines show them, durations as their nanoseconds."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    return plain_rows(table.to_pylist())


def comparable(rows: list[dict[str, Any]]) -> list[Any]:
    """Return rows in one order, every value as text: NaN is then itself."""
    return sorted(Counter(str(list(row.items())) for row in rows).items())
