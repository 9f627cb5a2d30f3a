"""Compression over gRPC, as clients of other gRPC libraries use it."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from tests.support import raw_grpc
from tests.support.collector.exports import log_export
from tests.support.collector.ground import Ground, GroundToken
from tests.support.collector.process import LOGS_METHOD, CollectorProcess, StartCollector

OK, INTERNAL = "0", "13"
pytestmark = pytest.mark.one_meta
PAGE = Path(__file__).parents[2] / "docs" / "collector.md"


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


def test_other_compressions_are_refused_by_name_and_hurt_nothing(
    ground: Ground, collector: CollectorProcess
) -> None:
    token = ground.new_token()
    zstd = zstandard.ZstdCompressor().compress

    replies = [export(collector, token, name, zstd(log_export(name))) for name in ("zstd", "br")]
    damaged = export(collector, token, "gzip", b"damaged")

    # The library's answers, before any code of ours: it knows no other compressions.
    for reply in replies:
        assert reply["grpc-status"] == INTERNAL
        assert "grpc-encoding" in reply["grpc-message"]
    assert damaged["grpc-status"] == INTERNAL
    assert export(collector, token, "identity", log_export("kept"))["grpc-status"] == OK
    assert ground.committed_ids() == ["kept"]


def test_the_page_on_the_collector_says_what_to_set() -> None:
    """It quotes the answer that senders of other compressions see, and the remedy."""
    page = " ".join(PAGE.read_text().split())

    assert "Error parsing 'grpc-encoding' metadata" in page
    assert "set `compression: gzip`" in page
    assert "otlphttp" in page


def export(
    collector: CollectorProcess, token: GroundToken, encoding: str, body: bytes
) -> dict[str, str]:
    """Export over bare HTTP/2."""
    authorization = {"authorization": f"Bearer {token.token_secret}"}
    return raw_grpc.call(collector.grpc_port, LOGS_METHOD, encoding, body, authorization)
