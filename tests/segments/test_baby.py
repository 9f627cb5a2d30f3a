"""Baby segments: encoding, decoding, checksums."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from segments.baby import (
    Baby,
    BabyKind,
    Export,
    TokenPart,
    baby_pieces,
    crc32c,
    decode_baby,
    encode_baby,
    pieces_crc32c,
)
from segments.errors import CorruptObject
from segments.v1 import combined_signals_pb2 as pb
from tests.support.babies import BABY, LONG_PART, logs, of_unknown_kind


def test_a_baby_decodes_to_what_was_encoded() -> None:
    assert decode_baby(encode_baby(BABY)) == BABY


@pytest.mark.parametrize("is_stamped", [True, False])
def test_the_bytes_are_those_that_protobuf_itself_writes(is_stamped: bool) -> None:
    baby = replace(BABY, parts=(*BABY.parts, LONG_PART), is_stamped=is_stamped)

    body = encode_baby(baby)

    message = pb.CombinedSignals.FromString(body)
    message.ClearField("crc32c")
    plain = message.SerializeToString(deterministic=True)
    assert body[: len(plain)] == plain
    assert len(body) - len(plain) == (6 if is_stamped else 0)


@pytest.mark.parametrize("baby", [BABY, replace(BABY, is_stamped=False), Baby()])
def test_the_checksum_of_an_object_is_that_of_all_its_pieces(baby: Baby) -> None:
    assert pieces_crc32c(baby_pieces(baby)) == crc32c(encode_baby(baby))


def test_the_hull_and_count_of_a_baby_are_those_of_its_parts() -> None:
    assert BABY.num_records == 6
    assert BABY.time_range() == (10, 23)
    assert BABY.dataset_ids == ("dataset",)
    assert Baby().time_range() == (0, 0)


def test_a_reader_that_knows_only_the_contract_sees_one_merged_message_per_signal() -> None:
    entry = pb.CombinedSignals.FromString(encode_baby(BABY)).token_signals["a"]

    merged = LogsData.FromString(b"".join(entry.logs))

    assert len(merged.resource_logs) == 2


def test_only_the_parts_of_wanted_datasets_are_decoded() -> None:
    part = TokenPart("a", "logs", (logs("x"),), "mine", 1)
    parts = (part, part._replace(token_id="b", dataset_id="other"), part._replace(token_id="c"))
    unnamed = part._replace(token_id="d", dataset_id=None)
    body = encode_baby(Baby(parts=(*parts, unnamed)))

    mine = decode_baby(body, lambda dataset_id: dataset_id == "mine")
    strays = decode_baby(body, lambda dataset_id: dataset_id is None)
    unstamped = decode_baby(encode_baby(Baby(parts=parts, is_stamped=False)), lambda _: False)

    assert mine.parts == (parts[0], parts[2])
    assert strays.parts == (unnamed,)
    assert [part.token_id for part in unstamped.parts] == ["a", "b", "c"]


def test_an_unstamped_baby_decodes_without_datasets() -> None:
    part = TokenPart("a", "logs", (logs("x"),))

    baby = decode_baby(encode_baby(Baby(parts=(part,), is_stamped=False)))

    assert baby.parts == (part,)
    assert not baby.is_stamped
    assert not baby.is_stop
    assert baby.parts[0].export(0, 7) == Export(b"", 7)


def test_an_empty_unstamped_baby_is_a_stop_message() -> None:
    assert decode_baby(b"").is_stop


def test_a_stamped_baby_is_a_stop_message_only_if_it_says_so() -> None:
    assert decode_baby(encode_baby(Baby(kind=BabyKind.STOP))).is_stop
    assert not decode_baby(encode_baby(Baby(kind=BabyKind.FILLER))).is_stop


def test_a_slice_without_its_own_stamp_takes_the_time_of_the_flush() -> None:
    assert BABY.parts[0].export(1, 7).received_at == 101
    assert TokenPart("a", "logs", (b"", b""), exports=(Export(b"d", 5),)).export(0, 7) == Export(
        b"", 7
    )


def test_the_checksum_is_crc32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@given(st.data())
def test_a_damaged_stamped_baby_is_refused(data: st.DataObject) -> None:
    body = bytearray(encode_baby(BABY))
    if data.draw(st.booleans()):
        index = data.draw(st.integers(0, len(body) - 1))
        body[index] ^= 1 << data.draw(st.integers(0, 7))
    else:
        # Cut inside the stamp or the checksum: cut further left, a stamped baby turns into one
        # that may be unstamped, which the size and stamps that were committed tell apart.
        del body[-data.draw(st.integers(1, 7)) :]
    try:
        decoded = decode_baby(bytes(body))
    except CorruptObject:
        return
    assert not decoded.is_stamped


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_unstamped(body: bytes) -> None:
    with contextlib.suppress(CorruptObject):
        assert not decode_baby(body).is_stamped


def test_an_unknown_kind_is_read_as_unspecified() -> None:
    body = of_unknown_kind()

    with pytest.raises(CorruptObject):
        decode_baby(body[:-6])
    assert decode_baby(body).kind is BabyKind.UNSPECIFIED
