"""Names that complete a query."""

from urllib.parse import urlencode

from segplane.gateway.console.query.names import NAMES_MAX
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

Names = dict[str, tuple[str, str]]


def asked(console: GatewayServer, *pairs: tuple[str, str]) -> Names:
    answer = console.get(f"ui/query/names?{urlencode(pairs)}")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "application/json"
    return {row["name"]: (row["kind"], row["detail"]) for row in answer.json["names"]}


def test_names_are_datasets_columns_of_tables_and_functions(
    console: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    segments.write(rows=1)
    CatalogDriver(meta_server.client).dataset("session events")
    s = asked(console, ("lang", "kql"), ("prefix", "s"), ("table", "web"), ("table", "none"))

    assert s["service_name"] == ("property", "string")
    assert s["session events"] == ("class", "dataset")
    assert s["strlen"] == ("function", "")
    assert s["summarize"] == ("keyword", "")
    assert not [name for name in s if not name.startswith("s")]
    sql = asked(console, ("lang", "sql"), ("prefix", "S"))
    assert ("sum" in sql, "summarize" in sql, "service_name" in sql) == (True, False, False)
    assert asked(console, ("prefix", "w")).get("web") == ("class", "dataset")


def test_names_are_at_most_two_hundred(console: GatewayServer, segments: SegmentWriter) -> None:
    segments.write(rows=1)

    tables = [("table", "web")] * 9

    assert len(asked(console, ("lang", "kql"), ("prefix", ""), *tables)) <= NAMES_MAX
    assert asked(console, ("lang", "kql"), ("prefix", "é" * 300)) == {}
