"""A record at the greatest time is found by every bound that does not exclude it."""

from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

from segments.parquet.schema import section_schema
from segplane.gateway.iceberg.scans.scan_filters import ScanBounds, scan_bounds
from segplane.read import open_dataset
from segplane.read.bounds import NANOS_MAX, TimeBounds
from tests.segplane.query.conftest import QueryDriver
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.meta.server import MetaServer

QUERIES = (
    "SELECT count(*) FROM web WHERE timestamp >= TIMESTAMPTZ '2100-01-01'",
    "SELECT count(*) FROM web WHERE timestamp > TIMESTAMPTZ '2100-01-01' AND signal = 'logs'",
    "SELECT count(*) FROM web WHERE timestamp BETWEEN TIMESTAMPTZ '2100-01-01'"
    " AND TIMESTAMPTZ '9999-01-01'",
    "web | where timestamp > datetime(2100-01-01) | count",
    "web | where timestamp between (datetime(2100-01-01) .. datetime(9999-01-01)) | count",
)


@pytest.fixture
def written(segments: SegmentWriter) -> SegmentWriter:
    """A record at the greatest time in its own segment, and one of today."""
    schema = section_schema("logs")
    for time in (NANOS_MAX, EPOCH):
        row = dict.fromkeys(schema.names) | {"signal": "logs", "timestamp": time}
        segments.register({"logs": pa.Table.from_pylist([row], schema)}, segments.spec())
    return segments


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_with_a_lower_bound_finds_the_greatest_time(
    written: SegmentWriter, queries: QueryDriver, text: str
) -> None:
    assert queries.rows(text) == [(1,)]


@pytest.mark.parametrize("start", [EPOCH + 1, NANOS_MAX - 1, NANOS_MAX])
def test_a_start_finds_the_greatest_time(
    written: SegmentWriter, queries: QueryDriver, meta_server: MetaServer, start: int
) -> None:
    bounds = TimeBounds(start=start)

    assert queries.rows("SELECT count(*) FROM web", bounds=bounds) == [(1,)]
    assert queries.rows("web | count", bounds=bounds) == [(1,)]
    with open_dataset("web", start=start, meta_address=meta_server.address) as web:
        assert web.to_table().num_rows == 1
        assert web.polars().filter(pl.col("timestamp_nanos") == 807).collect().height == 1


def test_filters_of_iceberg_keep_the_greatest_time() -> None:
    before = datetime(9999, 1, 1, tzinfo=UTC)

    ranges = scan_bounds({"type": "lt", "term": "timestamp", "value": before.isoformat()})
    assert ranges == ScanBounds()
    later = scan_bounds({"type": "gt", "term": "timestamp", "value": before.isoformat()})
    assert later.is_empty
    equal = scan_bounds({"type": "eq", "term": "timestamp", "value": before.isoformat()})
    assert equal.is_empty
