"""The wire format: fields as the official classes write them, and every kind of damage refused."""

import random

import pytest
from google.protobuf.internal.decoder import _DecodeVarint  # type: ignore[attr-defined]
from hypothesis import given
from hypothesis import strategies as st

from segments import protowire
from segments.otlp.official import OFFICIAL_CLASSES
from segments.protowire import MalformedWire, fields, length_prefix, nanos_varint, read_varint
from segments.signals import SIGNALS, Signal
from tests.support.otlp.messages import dirty, fill, length_delimited, varint

GROUP = b"\x0b\x08\x01\x13\x14\x0c"


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_a_varint_is_read_as_the_official_classes_do(
    value: int, before: bytes, after: bytes
) -> None:
    message = before + varint(value) + after

    assert read_varint(message, len(before)) == _DecodeVarint(message, len(before))
    assert read_varint(message, len(before)) == (value, len(message) - len(after))


# Of every length, and where one ends.
VALUES = st.integers(0, 63).flatmap(lambda bits: st.integers((1 << bits) - 1, 2 << bits))


@given(VALUES.filter(lambda value: value < 2**64))
def test_a_varint_is_written_as_the_official_classes_do(value: int) -> None:
    assert protowire.varint(value) == varint(value)
    assert nanos_varint(value) == varint(value)


@given(st.integers(-(2**63), -1))
def test_a_negative_varint_is_its_twos_complement(value: int) -> None:
    assert protowire.varint(value) == nanos_varint(value) == varint(value + 2**64)


@pytest.mark.parametrize("body", [b"", b"\x80", b"\xff" * 9, b"\x80" * 10 + b"\x01"])
def test_a_varint_that_does_not_end_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedWire):
        read_varint(body, 0)


@given(st.integers(1, 15), st.integers(0, 2**35))
def test_a_length_prefix_is_a_tag_and_a_varint(number: int, size_bytes: int) -> None:
    assert length_prefix(number, size_bytes) == varint(number << 3 | 2) + varint(size_bytes)


@given(st.sampled_from(SIGNALS), st.integers(0, 2**32))
def test_fields_are_whole_and_cover_the_message(signal: Signal, seed: int) -> None:
    rnd = random.Random(seed)
    message = dirty(fill(OFFICIAL_CLASSES[signal](), rnd), rnd)
    place = 0

    for number, start, content, end in fields(message):
        assert start == place
        assert read_varint(message, start)[0] >> 3 == number
        if content:
            length, content_start = read_varint(message, read_varint(message, start)[1])
            assert (content_start, content_start + length) == (content, end)
        place = end
    assert place == len(message)


def test_a_group_is_one_field_or_malformed() -> None:
    message = GROUP + length_delimited(2, b"x")

    assert [field[:2] for field in fields(message)] == [(1, 0), (2, len(GROUP))]
    with pytest.raises(MalformedWire):
        list(fields(message, has_groups=False))


def test_groups_nest_without_a_limit() -> None:
    message = b"\x0b" * 100_000 + b"\x0c" * 100_000

    assert list(fields(message)) == [(1, 0, 0, len(message))]


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"\x0a\x05abcd", id="text cut off"),
        pytest.param(b"\x0a", id="tag without a length"),
        pytest.param(b"\x0d\x01\x02", id="fixed32 cut off"),
        pytest.param(b"\x09\x01", id="fixed64 cut off"),
        pytest.param(b"\x08\x80", id="varint cut off"),
        pytest.param(b"\x0b\x08\x01", id="group without an end"),
        pytest.param(b"\x0b\x14", id="group ended by another"),
        pytest.param(b"\x0c", id="end of no group"),
        pytest.param(b"\x0e\x01", id="unknown wire type"),
        pytest.param(b"\x0a\x80\x80\x80\x80\x10abc", id="length beyond the message"),
    ],
)
def test_a_damaged_message_is_refused(message: bytes) -> None:
    with pytest.raises(MalformedWire):
        list(fields(message))
