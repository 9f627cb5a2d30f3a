"""Recovering the sound payloads of a damaged baby segment."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.baby import Baby, TokenPart, encode_baby
from segments.damaged_baby import proven_payloads, recover_baby
from segments.errors import CorruptObject
from segments.v1 import combined_signals_pb2 as pb
from tests.support.babies import BABY, LONG_PART

LARGE = replace(BABY, parts=(*BABY.parts, LONG_PART))
_PARTS = tuple(part for part in LARGE.parts if len(part.exports) == len(part.slices))
SAMPLE = replace(LARGE, parts=_PARTS)


def _intact(part: TokenPart) -> dict[int, bytes]:
    return {i: body for i, body in enumerate(part.slices) if i not in part.damaged}


def test_of_an_intact_baby_no_slice_is_damaged() -> None:
    recovered = recover_baby(encode_baby(SAMPLE))

    assert set(recovered.parts) == set(SAMPLE.parts)


@pytest.mark.parametrize("number", range(sum(len(part.slices) for part in SAMPLE.parts)))
def test_a_flipped_bit_in_a_payload_damages_that_payload_alone(number: int) -> None:
    target = [body for part in SAMPLE.parts for body in part.slices][number]
    body = bytearray(encode_baby(SAMPLE))
    body[bytes(body).index(target) + len(target) // 2] ^= 4

    recovered = recover_baby(bytes(body))

    originals = {(part.token_id, part.signal): part for part in SAMPLE.parts}
    assert sum(len(part.damaged) for part in recovered.parts) == 1
    for part in recovered.parts:
        original = originals[part.token_id, part.signal]
        assert _intact(part).items() <= dict(enumerate(original.slices)).items()
        assert part._replace(slices=original.slices, damaged=frozenset()) == original


def test_payloads_are_proven_unless_all_of_them_are_damaged() -> None:
    body, slices = encode_baby(SAMPLE), [body for part in SAMPLE.parts for body in part.slices]

    for number, payload in enumerate(slices):
        assert sum(len(part.damaged) for part in proven_payloads(body).parts) == number
        place = body.index(payload) + len(payload) // 2
        body = body[:place] + bytes([body[place] ^ 4]) + body[place + 1 :]

    with pytest.raises(CorruptObject, match="no checksum of a payload agrees"):
        proven_payloads(body)


@given(st.data())
def test_no_damage_passes_for_something_that_was_written(data: st.DataObject) -> None:
    body = bytearray(encode_baby(SAMPLE))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        recovered = recover_baby(bytes(body))
    except CorruptObject:
        return
    originals = {(part.token_id, part.signal): part for part in SAMPLE.parts}
    for part in recovered.parts:
        original = originals[part.token_id, part.signal]
        assert part.dataset_id == original.dataset_id
        assert part.exports == original.exports
        assert _intact(part).items() <= dict(enumerate(original.slices)).items()


def _of_0_1_0(baby: Baby) -> bytes:
    """The baby without the checksums that 0.1.0 did not write."""
    message = pb.CombinedSignals.FromString(encode_baby(baby))
    message.stamp.ClearField("stamps_crc32c")
    for entry in message.token_signals.values():
        for export in entry.exports:
            export.ClearField("crc32c")
    return message.SerializeToString(deterministic=True)


def test_a_damaged_baby_of_0_1_0_cannot_be_recovered() -> None:
    with pytest.raises(CorruptObject, match="no checksums of its payloads"):
        recover_baby(_of_0_1_0(SAMPLE))


def test_a_payload_without_its_own_stamp_cannot_be_recovered() -> None:
    unstamped = SAMPLE.parts[0]._replace(exports=())

    with pytest.raises(CorruptObject, match="other checksums"):
        recover_baby(encode_baby(replace(SAMPLE, parts=(unstamped,))))


@pytest.mark.parametrize("body", [b"", b"\xff", b"no protobuf at all"])
def test_what_is_not_a_baby_cannot_be_recovered(body: bytes) -> None:
    with pytest.raises(CorruptObject):
        recover_baby(body)
