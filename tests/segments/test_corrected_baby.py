"""Correcting a baby segment in which one bit flipped."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.otlp.export import digest_of
from segments.baby import Baby, Export, TokenPart, encode_baby
from segments.corrected_baby import correct_baby
from segments.errors import CorruptObject
from tests.support.babies import BABY, LONG_PART


def _as_collected(part: TokenPart) -> TokenPart:
    """The part with the digests that a collector stamps."""
    exports = tuple(
        Export(digest_of(part.token_id, part.signal, body), export.received_at)
        for body, export in zip(part.slices, part.exports, strict=True)
    )
    return part._replace(exports=exports)


_PARTS = tuple(part for part in (*BABY.parts, LONG_PART) if len(part.exports) == len(part.slices))
SAMPLE = replace(BABY, parts=tuple(map(_as_collected, _PARTS)))
BODY = encode_baby(SAMPLE)


def _flipped(body: bytes, *bits: int) -> bytes:
    damaged = bytearray(body)
    for bit in bits:
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_every_single_flipped_bit_is_corrected() -> None:
    assert all(correct_baby(_flipped(BODY, bit)) == BODY for bit in range(len(BODY) * 8))


@given(st.sets(st.integers(0, len(BODY) * 8 - 1), min_size=2, max_size=4))
def test_more_flipped_bits_are_never_corrected_to_something_else(bits: set[int]) -> None:
    try:
        corrected = correct_baby(_flipped(BODY, *bits))
    except CorruptObject:
        return
    assert corrected == BODY


def test_a_flipped_bit_of_a_large_baby_is_corrected() -> None:
    payload = bytes(range(256)) * 4096
    large = LONG_PART._replace(slices=(payload,), exports=(Export(b"", 1),))
    body = encode_baby(Baby((_as_collected(large),), SAMPLE.kind, SAMPLE.flush_id, 1))

    assert correct_baby(_flipped(body, len(body) * 4)) == body


def test_a_payload_without_its_own_digest_is_not_guessed() -> None:
    """Checksums over the same bytes do not prove one another."""
    body = encode_baby(replace(SAMPLE, parts=_PARTS))
    payload = _PARTS[0].slices[0]

    with pytest.raises(CorruptObject):
        correct_baby(_flipped(body, (body.index(payload) + len(payload) // 2) * 8))


@pytest.mark.parametrize("body", [b"", b"no protobuf at all", BODY[:-1], BODY[1:], BODY])
def test_what_is_not_damaged_by_one_bit_is_not_corrected(body: bytes) -> None:
    with pytest.raises(CorruptObject):
        correct_baby(body)
