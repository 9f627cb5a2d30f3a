"""Files of others by Kusto's endpoint and through views."""

import json

from tests.support.foreign_files import ForeignWriter, logs, parquet
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.schemas import link_view
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer


def test_kustos_endpoint_and_views_read_and_name_the_same(
    meta_server: MetaServer, gateway: GatewayServer, segments: SegmentWriter
) -> None:
    others = ForeignWriter(meta_server, segments.dataset)
    segments.write(rows=20)
    others.save(parquet(logs(3)), 3)
    broken = others.save(b"rows of somebody", 3)
    link_view(meta_server.client, segments.dataset, "lines", "project line = body")

    kusto = gateway.post("v2/rest/query", {"db": "segplane", "csl": "web | count"})
    by_kql = gateway.query("lines | summarize n = count(), last = max(line)")
    by_sql = gateway.query("SELECT count(*) AS n, max(line) AS last FROM lines")

    (table,) = [frame for frame in kusto.json if frame.get("TableKind") == "PrimaryResult"]
    assert table["Rows"] == [[23]]
    assert by_kql.json == by_sql.json
    assert by_kql.json[0]["n"] == 23
    (segment,) = (s for s in Writer(meta_server.client).find("web").segments if s.id == broken)
    at = segment.cloud_object_key
    for answer in (kusto, by_kql, by_sql):
        (warning,) = json.loads(answer.headers["segplane-warnings"])
        # Its id, its key and its registration.
        assert f"segment {broken} is skipped" in warning
        assert f"{at.prefix.prefix}/{at.key}" in warning
        assert f"a client registered at version {segment.created_version}" in warning
