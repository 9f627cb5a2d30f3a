"""Time adjustments over HTTP: set, and asked for by queries."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.kusto.data import ClientRequestProperties, KustoClient, KustoConnectionStringBuilder

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.grouped_datasets import grouped
from tests.support.time_adjustment import NANOS

KQL = "web | summarize first = min(timestamp), rows = count()"
SETTINGS = "v1/datasets/web/settings"


def change(gateway: GatewayServer, nanos: int | None) -> Any:
    return gateway.send("PATCH", SETTINGS, {"time_adjustment_nanos": nanos})


def test_a_query_asks_for_adjusted_times(gateway: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=4)
    stored = gateway.query(KQL).json

    assert change(gateway, 60 * 10**9).status == 200
    first = gateway.query(KQL, adjust_time=True).json
    # Seen at once, although the dataset is kept open.
    assert change(gateway, 120 * 10**9).json["settings"]["time_adjustment_nanos"] == 120 * 10**9
    second = gateway.query(KQL, adjust_time=True).json
    sql = "SELECT min(timestamp) AS first, count(*) AS rows FROM web"
    by_sql = gateway.query(sql, adjust_time=True).json

    assert gateway.query(KQL).json == gateway.query(KQL, adjust_time=False).json == stored
    assert [row["first"][11:19] for row in (*stored, *first, *second)] == [
        "00:00:00",
        "00:01:00",
        "00:02:00",
    ]
    assert by_sql == second
    since = f"{first[0]['first']}"
    late = f"web | where timestamp < datetime({since}) | count"
    assert gateway.query(late, adjust_time=True).json == [{"Count": 0}]
    assert change(gateway, None).status == 200
    assert gateway.query(KQL, adjust_time=True).json == stored


def test_kusto_asks_for_adjusted_times_by_an_option(
    gateway: GatewayServer, segments: SegmentWriter
) -> None:
    segments.write(rows=4)
    change(gateway, NANOS)
    properties = ClientRequestProperties()  # type: ignore[no-untyped-call]
    properties.set_option("adjust_time", True)

    with KustoClient(KustoConnectionStringBuilder(gateway.server)) as kusto:
        stored = kusto.execute("segplane", KQL).primary_results[0][0]["first"]
        moved = kusto.execute("segplane", KQL, properties).primary_results[0][0]["first"]

    assert moved - stored == timedelta(microseconds=NANOS // 1_000)


def test_a_union_of_a_whole_group_is_refused(
    gateway: GatewayServer, segments: SegmentWriter, tmp_path: Path
) -> None:
    grouped(segments.client, tmp_path, "shop", api=2, web=3)
    union = "union database('shop').* | count"

    refused = gateway.query(union, adjust_time=True)

    assert refused.status == 400
    assert "a union of a whole group takes no time adjustment" in refused.message
    assert gateway.query(union).json == [{"Count": 5}]


@pytest.mark.parametrize("value", ["true", 1, None])
def test_another_value_is_refused(gateway: GatewayServer, value: object) -> None:
    refused = gateway.query("print x = 1", adjust_time=value)

    assert refused.status == 400
    assert "adjust_time is" in refused.json["error"]["message"]
