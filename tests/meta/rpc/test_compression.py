"""Compressed requests: gRPC's own encodings are taken, others are refused by its library."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from meta.v1.catalog_pb2 import GetDatasetRequest
from tests.support import raw_grpc
from tests.support.meta.server import MetaServer

METHOD = "/meta.v1.CatalogService/GetDataset"
REQUEST = GetDatasetRequest(name="default").SerializeToString()
OK, INTERNAL = "0", "13"
PAGE = Path(__file__).parents[3] / "docs" / "contract.md"


def call(meta_server: MetaServer, encoding: str, body: bytes) -> dict[str, str]:
    return raw_grpc.call(meta_server.running.port, METHOD, encoding, body)


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [("identity", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)],
)
def test_grpcs_own_encodings_are_taken(
    meta_server: MetaServer, encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    assert call(meta_server, encoding, compress(REQUEST))["grpc-status"] == OK


@pytest.mark.parametrize("encoding", ["zstd", "snappy", "br"])
def test_other_encodings_are_refused_as_the_contract_says(
    meta_server: MetaServer, encoding: str
) -> None:
    """The header is refused while it is parsed, so no option or handler can answer instead."""
    reply = call(meta_server, encoding, REQUEST)

    assert reply["grpc-status"] == INTERNAL
    assert reply["grpc-message"] == "Error parsing 'grpc-encoding' metadata"
    page = " ".join(PAGE.read_text().split())
    assert "`INTERNAL` without details (`Error parsing 'grpc-encoding' metadata`)" in page
    assert call(meta_server, "identity", REQUEST)["grpc-status"] == OK


def test_a_damaged_gzip_message_is_refused_and_hurts_nothing(meta_server: MetaServer) -> None:
    assert call(meta_server, "gzip", b"damaged")["grpc-status"] == INTERNAL
    assert call(meta_server, "gzip", gzip.compress(REQUEST))["grpc-status"] == OK
