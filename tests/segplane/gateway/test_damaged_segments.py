"""An object that a worker registered, or that is a segment, is never skipped."""

from pathlib import Path

import pytest

from janitor.footers import read_footers
from meta.errors import InvalidArgument
from meta.v1 import operations_pb2
from meta.v1.common_pb2 import FOREIGN_STATE_UNREADABLE, ForeignFile
from segplane.read import ReadError
from segplane.read.lookup import find_unreadable
from tests.segplane.gateway.test_foreign_files import COUNT, counts
from tests.support.foreign_files import ForeignWriter, tools_of
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer
from tests.support.meta.server import MetaServer


def flipped(body: bytes) -> bytes:
    """Return a segment of ours whose footer says nonsense of its rows."""
    return body.replace(b"segplane.rows", b"segplane.rowz")


def test_a_segment_with_a_damaged_footer_is_never_skipped(
    meta_server: MetaServer, segments: SegmentWriter
) -> None:
    segment_id = segments.write(rows=20, is_known=False)
    (path,) = Path("/", meta_server.settings.location.path).rglob("*.parquet")
    body = path.read_bytes()
    path.write_bytes(flipped(body))
    assert path.read_bytes() != body

    for is_read_by_janitor in (False, True):
        if is_read_by_janitor:
            read_footers(tools_of(meta_server))
        with pytest.raises(ReadError, match="footer is not that of a merged segment"):
            counts(meta_server)
    assert segment_id not in [s.id for s in find_unreadable(meta_server.client)]


def test_what_a_nursery_registered_is_never_skipped(
    meta_server: MetaServer, gateway: GatewayServer, segments: SegmentWriter
) -> None:
    client, catalog = meta_server.client, CatalogDriver(meta_server.client)
    ingestion, nursery = IngestionDriver(client, "c"), NurseryDriver(client)
    stream = ingestion.register(catalog.token(segments.dataset)).stream_id
    ingestion.commit(stream, 0)
    message = ForeignWriter(meta_server, segments.dataset).described(b"no Parquet", 10)
    nursery.register(segments.dataset, (stream, -1, 0), segment=message)
    (segment,) = Writer(client).find("web").segments
    foreign = ForeignFile(state=FOREIGN_STATE_UNREADABLE, reason="I do not like it")
    read = operations_pb2.ReadSegment(segment_id=segment.id, foreign=foreign)
    with pytest.raises(InvalidArgument, match="was registered by a worker"):
        client.operations.SetSegmentFacts(operations_pb2.SetSegmentFactsRequest(segments=[read]))

    for is_read_by_janitor in (False, True):
        if is_read_by_janitor:
            read_footers(tools_of(meta_server))
        with pytest.raises(ReadError, match="not a readable Parquet file"):
            counts(meta_server)
        assert gateway.query(COUNT).status == 400
        assert gateway.table().status == 400
