"""Decoding of requests: what is refused before it is parsed, and what after."""

from collections.abc import Callable

import pytest

from meta import decoding
from meta.decoding import PARTS_MAX, has_more_parts
from meta.errors import InvalidArgument
from meta.v1.ingestion_pb2 import SaveSegmentsRequest

DESERIALIZE: Callable[[bytes], SaveSegmentsRequest] = SaveSegmentsRequest.FromString


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        pytest.param(b"", 0, id="nothing"),
        pytest.param(b"\x0a\x00" * 5, 5, id="empty parts"),
        pytest.param(b"\x0a\x02\x0a\x00" * 3, 3, id="parts in parts"),
        pytest.param(b"\x08\xff\x01\x11" + bytes(8) + b"\x1d" + bytes(4), 3, id="numbers"),
        pytest.param(b"\x0a\xff\xff\xff\xff\x07", 1, id="a length that is not there"),
        pytest.param(b"\x08" + b"\xff" * 100, 1, id="no end of a number"),
        pytest.param(b"\x0a\x00\x0b\x0a\x00", 1, id="a group"),
    ],
)
def test_parts_of_the_first_level_are_counted(raw: bytes, parts: int) -> None:
    assert has_more_parts(raw, parts - 1) or parts == 0
    assert not has_more_parts(raw, parts)


def test_a_large_request_of_too_many_parts_is_refused_unparsed() -> None:
    with pytest.raises(InvalidArgument, match="parts"):
        decoding.parse(b"\x0a\x01x" * (PARTS_MAX + 1), DESERIALIZE)


@pytest.mark.parametrize("size", [1, decoding.LARGE_BYTES + 1], ids=["small", "large"])
def test_a_request_that_is_no_message_is_refused(size: int) -> None:
    with pytest.raises(InvalidArgument, match="not a valid message"):
        decoding.parse(b"\x0b" * size, DESERIALIZE)


def test_a_large_request_is_parsed() -> None:
    message = SaveSegmentsRequest()
    message.segments.add().dataset_id = "x" * decoding.LARGE_BYTES

    assert decoding.parse(message.SerializeToString(), DESERIALIZE) == message
