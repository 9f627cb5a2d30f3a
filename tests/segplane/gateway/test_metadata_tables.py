"""Iceberg's metadata tables and listed snapshots, as our pages spell them, in Spark and Trino."""

from pathlib import Path

import pytest

from meta.config import Settings
from tests.support.gateway.answers import catalog_of
from tests.support.gateway.engines import ENGINES, Engine
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.trino import TrinoServer

pytestmark = pytest.mark.readers
SPARKS = [engine for engine in ENGINES if engine.kind == "spark"]
DOCS = Path(__file__).parents[3] / "docs" / "reading"


@pytest.mark.parametrize("engine", SPARKS, ids=lambda engine: engine.name)
def test_spark_reads_metadata_tables(
    segments: SegmentWriter, gateway: GatewayServer, meta_settings: Settings, engine: Engine
) -> None:
    engine.skip_if_missing()
    for day in range(3):
        segments.write(day=day)
    documented = "SELECT file_path, record_count FROM segplane.default.web.files"
    assert documented in (DOCS / "spark.md").read_text()
    statements = {
        "files": documented,
        "snapshots": "SELECT snapshot_id FROM segplane.default.web.snapshots",
        "history": "SELECT * FROM segplane.default.web.history",
        "rows": "SELECT count(*) AS n FROM segplane.default.web",
    }

    answers = engine.run(catalog_of(gateway, meta_settings), statements)

    assert sum(row["record_count"] for row in answers["files"]["rows"]) == 60
    assert len(answers["files"]["rows"]) == 3
    assert answers["snapshots"]["rows"]
    assert answers["history"]["rows"]
    assert [row["n"] for row in answers["rows"]["rows"]] == [60]


def test_trino_reads_a_listed_snapshot_as_the_page_spells_it(
    segments: SegmentWriter, gateway: GatewayServer, meta_settings: Settings, tmp_path: Path
) -> None:
    segments.write(rows=7)
    version = gateway.table().json["metadata"]["current-snapshot-id"]
    documented = "SELECT count(*) FROM segplane.default.web FOR VERSION AS OF BIGINT '41'"
    assert documented in (DOCS / "trino.md").read_text()
    server = TrinoServer(tmp_path / "trino", catalog_of(gateway, meta_settings))

    try:
        rows, _ = server.query(documented.replace("'41'", f"'{version}'"))
    finally:
        server.close()

    assert [list(row.values()) for row in rows] == [[7]]
