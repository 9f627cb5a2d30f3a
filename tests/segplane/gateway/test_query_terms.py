"""Searches for a text through the gateway open no file whose token index lacks it."""

from dataclasses import replace
from pathlib import Path

import pytest

from meta.config import Settings
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.token_index import builder
from segments.token_index.place import NUM_BLOCKS
from segplane.read.lookup import segment_url
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import FaultyProxy, Forward, ProxyAnswer, Request
from tests.support.object_store.moto import fresh_location

FILES = 20
SEARCH = "web | where body has 'rareword' | count"


@pytest.fixture
def indexed(segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch) -> SegmentWriter:
    """Files with an index, which none of a real size would have."""
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    segments.has_token_index = True
    for _ in range(FILES):
        segments.write(rows=200)
    return segments


def test_files_on_disk_are_skipped(
    indexed: SegmentWriter, gateway: GatewayServer, meta_server: MetaServer
) -> None:
    # Their rows are gone, and their indexes are whole.
    find = FindSegmentsRequest(dataset_names=["web"])
    for segment in meta_server.client.segment_lookup.FindSegments(find).segments:
        rows, path = segment.written_facts.token_index.offset, Path(segment_url(segment))
        path.write_bytes(bytes(rows) + path.read_bytes()[rows:])

    assert [list(row.values()) for row in gateway.query(SEARCH).json] == [[0]]
    assert gateway.query("web | where body startswith 'x' | count").status != 200


class TestBucket:
    """The same in a bucket, by the bytes that are read."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings, store: FaultyProxy) -> Settings:
        return replace(meta_settings, location=fresh_location(store.url))

    @pytest.mark.long
    def test_one_block_of_each_file_is_read(
        self,
        indexed: SegmentWriter,
        gateway: GatewayServer,
        meta_server: MetaServer,
        store: FaultyProxy,
    ) -> None:
        read: list[int] = []

        def count(request: Request, forward: Forward) -> ProxyAnswer:
            reply = forward(request)
            if ".parquet" in request.target:
                read.append(len(reply.body))
            return reply

        store.fault = count
        answer = gateway.query(SEARCH)

        assert answer.status == 200, answer.message
        find = FindSegmentsRequest(dataset_names=["web"])
        found = meta_server.client.segment_lookup.FindSegments(find).segments
        blocks = [segment.written_facts.token_index.length // NUM_BLOCKS for segment in found]
        assert sorted(read) == sorted(blocks)
        assert len(blocks) == FILES
