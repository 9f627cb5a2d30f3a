"""Decoding of requests: what is refused before it is decoded, and what after."""

from collections.abc import Callable

import pytest

from meta.errors import InvalidArgument
from meta.rpc import decoding
from meta.rpc.decoding import FIELDS_MAX, has_more_fields
from meta.v1.ingestion_pb2 import SaveSegmentsRequest

DESERIALIZE: Callable[[bytes], SaveSegmentsRequest] = SaveSegmentsRequest.FromString


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        pytest.param(b"", 0, id="nothing"),
        pytest.param(b"\x0a\x00" * 5, 5, id="empty submessages"),
        pytest.param(b"\x0a\x02\x0a\x00" * 3, 3, id="nested submessages"),
        pytest.param(b"\x08\xff\x01\x11" + bytes(8) + b"\x1d" + bytes(4), 3, id="numbers"),
        pytest.param(b"\x0a\xff\xff\xff\xff\x07", 0, id="a length that is not there"),
        pytest.param(b"\x08" + b"\xff" * 100, 0, id="no end of a number"),
        pytest.param(b"\x0a\x00\x0b\x0a\x00", 1, id="a group"),
    ],
)
def test_fields_of_the_top_level_are_counted(raw: bytes, fields: int) -> None:
    assert has_more_fields(raw, fields - 1) or fields == 0
    assert not has_more_fields(raw, fields)


def test_a_large_request_of_too_many_fields_is_refused_undecoded() -> None:
    with pytest.raises(InvalidArgument, match="fields"):
        decoding.parse(b"\x0a\x01x" * (FIELDS_MAX + 1), DESERIALIZE)


@pytest.mark.parametrize("size", [1, decoding.LARGE_BYTES + 1], ids=["small", "large"])
def test_a_request_that_is_no_message_is_refused(size: int) -> None:
    with pytest.raises(InvalidArgument, match="not a valid message"):
        decoding.parse(b"\x0b" * size, DESERIALIZE)


def test_a_large_request_is_decoded() -> None:
    message = SaveSegmentsRequest()
    message.segments.add().dataset_id = "x" * decoding.LARGE_BYTES

    assert decoding.parse(message.SerializeToString(), DESERIALIZE) == message
