"""Compression over gRPC, as clients of other gRPC libraries use it."""

import gzip
import socket
import struct
import zlib
from collections.abc import Callable

import pytest
import zstandard
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ResponseReceived, StreamEnded, StreamReset, TrailersReceived

from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.process import (
    DEADLINE_SECS,
    LOGS_METHOD,
    CollectorProcess,
    StartCollector,
)

OK, INTERNAL = "0", "13"


@pytest.fixture
def collector(start_collector: StartCollector) -> CollectorProcess:
    """Give a collector."""
    return start_collector()


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_grpcs_own_compressions_are_taken(
    ground: Ground,
    collector: CollectorProcess,
    encoding: str,
    compress: Callable[[bytes], bytes],
) -> None:
    reply = export(collector, ground.new_token(), encoding, compress(log_export("a")))

    assert reply["grpc-status"] == OK
    assert ground.committed_ids() == ["a"]


def test_zstd_over_grpc_is_refused_by_name_and_hurts_nothing(
    ground: Ground, collector: CollectorProcess
) -> None:
    token = ground.new_token()
    zstd = zstandard.ZstdCompressor().compress

    reply = export(collector, token, "zstd", zstd(log_export("lost")))

    # The library's answer, before any code of ours: it knows no other compressions.
    assert reply["grpc-status"] == INTERNAL
    assert "grpc-encoding" in reply["grpc-message"]
    assert export(collector, token, "identity", log_export("kept"))["grpc-status"] == OK
    assert ground.committed_ids() == ["kept"]


def export(
    collector: CollectorProcess, token: GroundToken, encoding: str, body: bytes
) -> dict[str, str]:
    """Export over bare HTTP/2, since gRPC's Python client sends no encoding but its own."""
    http2 = H2Connection(H2Configuration(header_encoding="utf-8"))
    http2.initiate_connection()
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": LOGS_METHOD,
        ":authority": "collector",
        "content-type": "application/grpc",
        "te": "trailers",
        "grpc-encoding": encoding,
        "authorization": f"Bearer {token.token_secret}",
    }
    http2.send_headers(1, list(headers.items()))
    is_compressed = encoding != "identity"
    http2.send_data(1, struct.pack(">BI", is_compressed, len(body)) + body, end_stream=True)
    reply: dict[str, str] = {}
    with socket.create_connection(("127.0.0.1", collector.grpc_port), DEADLINE_SECS) as connection:
        while True:
            connection.sendall(http2.data_to_send())
            for event in http2.receive_data(connection.recv(65536)):
                if isinstance(event, ResponseReceived | TrailersReceived):
                    reply |= {str(name): str(value) for name, value in event.headers}
                if isinstance(event, StreamEnded | StreamReset):
                    return reply
