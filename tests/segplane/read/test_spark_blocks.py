"""The blocks of docs/reading/spark.md run in Spark as they stand."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from segments.signals import SIGNALS
from tests.support.documentation import blocks_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.server import MetaServer

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_blocks_run(
    spark: SparkSession,
    meta_server: MetaServer,
    segments: SegmentWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEGPLANE_META_ADDRESS", meta_server.address)
    segments.write(signals=SIGNALS)
    before = {stream.id for stream in spark.streams.active}
    texts = [b.text for b in blocks_of("docs/reading/spark.md") if b.language == "python"]

    for text in texts:
        # The driver's variables are those with which its JVM began, before this meta.
        source = '.format("segplane")'
        text = text.replace(source, f'{source}.option("metaAddress", "{meta_server.address}")')
        # Paths are in the test's folder.
        for name in ("checkpoint", "out"):
            text = text.replace(f'"{name}"', f'"{tmp_path / name}"')
        values: dict[str, Any] = {"spark": spark}
        exec(text, values)  # noqa: S102 - the page's own text

    (stream,) = (one for one in spark.streams.active if one.id not in before)
    stream.processAllAvailable()
    stream.stop()
    assert spark.read.parquet(str(tmp_path / "out")).count() == 20
    assert len(texts) == 3
