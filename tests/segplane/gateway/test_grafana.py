"""Grafana's Infinity data source: its requests, made of what docs/reading/http.md sets up."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH
from tests.support.meta.server import MetaServer

PAGE = Path(__file__).parents[3] / "docs/reading/http.md"
# What its server sends with each request.
HEADERS = {
    "User-Agent": "Grafana/12.1.0",
    "Accept": "application/json;q=0.9,text/plain",
    "Accept-Encoding": "gzip",
}


@pytest.fixture(scope="module")
def section() -> str:
    return PAGE.read_text().partition("## Grafana\n")[2].partition("\n## ")[0]


def block(section: str, language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return str(text)


def replayed(gateway: GatewayServer, source: Any, query: Any, start: int, end: int) -> Answer:
    """Send the request of a panel, as the plug-in's server makes it."""
    address, options = urlsplit(query["url"]), query["url_options"]
    assert f"{address.scheme}://{address.netloc}" in source["jsonData"]["allowedHosts"]
    assert (options["method"], options["body_type"]) == ("POST", "raw")
    body = options["data"]
    for macro, nanos in (("${__timeFrom:date:iso}", start), ("${__timeTo:date:iso}", end)):
        assert macro in body
        moment = datetime.fromtimestamp(nanos // 10**9, UTC)
        body = body.replace(macro, moment.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
    headers = HEADERS | {
        "Content-Type": options["body_content_type"],
        "Authorization": f"Bearer {source['secureJsonData']['bearerToken']}",
    }
    return gateway.post(address.path[1:], body.encode(), **headers)


def test_a_panel_shows_the_dashboards_time(
    meta_server: MetaServer, segments: SegmentWriter, query_pool: Any, section: str
) -> None:
    segments.write(rows=24)
    (source,) = yaml.safe_load(block(section, "yaml"))["datasources"]
    query = json.loads(block(section, "json"))
    token = source["secureJsonData"]["bearerToken"]
    gateway = GatewayServer(meta_server.address, pool=query_pool, auth_token=token)
    hour = 3_600 * 10**9
    try:
        day = replayed(gateway, source, query, EPOCH, EPOCH + 24 * hour)
        morning = replayed(gateway, source, query, EPOCH, EPOCH + 12 * hour - 10**9)
        stranger = gateway.post("v1/query", {"query": "web"}, Authorization="Bearer other")
    finally:
        gateway.close()

    assert (day.status, day.headers["content-type"]) == (200, "application/json"), day.body
    # The root selector is empty: a list of objects, which have the columns.
    assert {tuple(row) for row in day.json} == {tuple(c["selector"] for c in query["columns"])}
    assert [c["type"] for c in query["columns"]] == ["timestamp", "string", "number"]
    times = [datetime.fromisoformat(row["time"]) for row in day.json]
    assert times == sorted(times)
    assert times[-1] - times[0] > timedelta(hours=12)
    assert sum(row["n"] for row in day.json) == 24
    assert sum(row["n"] for row in morning.json) == 12
    assert stranger.status == 401


def test_a_variable_lists_the_datasets(
    gateway: GatewayServer, meta_server: MetaServer, section: str
) -> None:
    CatalogDriver(meta_server.client).dataset("web")

    answer = gateway.get("v1/datasets", **HEADERS)

    assert "`/v1/datasets` with GET, the root selector `items` and a column `name`" in section
    assert {item["name"] for item in answer.json["items"]} == {"default", "web"}
