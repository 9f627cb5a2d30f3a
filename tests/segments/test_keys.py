"""Object keys: what is built is parsed back, and nothing else parses."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments import keys
from segments.ids import new_uuid7
from segments.keys import AttemptKey, BabyKey, MergedKey, QuarantineKey, join_key, parse_key

STREAM = "01890a5d-ac96-774b-bcce-b302099a8057"
DATASET = "01890a5d-ac96-774b-bcce-b302099a8058"
TASK = "01890a5d-ac96-774b-bcce-b302099a8059"

ids = st.uuids().map(str)
offsets = st.integers(0, 2**63 - 1)


@given(ids, offsets)
def test_a_baby_key_parses_back(stream_id: str, offset: int) -> None:
    assert parse_key(keys.baby_key(stream_id, offset)) == BabyKey(stream_id, offset)


@given(offsets, offsets)
def test_baby_keys_order_as_offsets_do(one: int, other: int) -> None:
    assert (one < other) == (keys.baby_key(STREAM, one) < keys.baby_key(STREAM, other))


@given(ids)
def test_a_merged_key_parses_back(dataset_id: str) -> None:
    parsed = parse_key(keys.new_merged_key(dataset_id))

    assert isinstance(parsed, MergedKey)
    assert parsed.dataset_id == dataset_id
    assert uuid.UUID(parsed.object_id).version == 7


@given(ids, ids, st.integers(1, 10**9 - 1))
def test_an_attempts_key_parses_back(dataset_id: str, task_id: str, attempt: int) -> None:
    key = f"{keys.attempt_prefix(dataset_id, task_id, attempt)}{new_uuid7()}.parquet"
    parsed = parse_key(key)

    assert isinstance(parsed, AttemptKey)
    assert (parsed.dataset_id, parsed.task_id, parsed.attempt) == (dataset_id, task_id, attempt)
    assert key.startswith(keys.attempt_prefix(dataset_id, task_id, attempt))
    assert key.startswith(keys.merged_prefix(dataset_id))


@given(ids, offsets, st.text(), st.integers(0, 10**9 - 1))
def test_a_quarantine_key_parses_back_whatever_the_token_id_is(
    stream_id: str, offset: int, token_id: str, slice_index: int
) -> None:
    key = keys.quarantine_key(stream_id, offset, token_id, "metrics", slice_index)
    parsed = parse_key(keys.check_key(key))

    assert isinstance(parsed, QuarantineKey)
    assert (parsed.stream_id, parsed.offset) == (stream_id, offset)
    assert (parsed.signal, parsed.slice_index) == ("metrics", slice_index)
    assert not parsed.is_note


def test_a_quarantined_slice_has_a_note_beside_it() -> None:
    slice_key = keys.quarantine_key(STREAM, 7, TASK, "logs", 0)
    whole_key = keys.quarantine_whole_key(STREAM, 7)

    slice_note = parse_key(keys.quarantine_note_key(slice_key))
    whole_note = parse_key(keys.quarantine_note_key(whole_key))

    assert slice_note == QuarantineKey(STREAM, 7, TASK, "logs", 0, is_note=True)
    assert whole_note == QuarantineKey(STREAM, 7, None, None, None, is_note=True)


def test_records_of_a_slice_that_are_skipped_have_a_key_for_each_cause() -> None:
    slice_key, verdict = keys.quarantine_key(STREAM, 7, TASK, "logs", 0), "0123456789abcdef"
    schema_violations = keys.quarantine_part_key(slice_key, 2, verdict)
    outside = keys.quarantine_part_key(slice_key, 2, verdict, is_outside=True)

    names = [
        parse_key(key) for key in (schema_violations, outside, keys.quarantine_note_key(outside))
    ]

    expected = [(2, verdict, False, False), (2, verdict, True, False), (2, verdict, True, True)]
    for name, parts in zip(names, expected, strict=True):
        assert isinstance(name, QuarantineKey)
        assert (name.piece, name.verdict, name.is_outside, name.is_note) == parts


def test_two_hostile_token_ids_have_two_quarantine_keys() -> None:
    one, other = (keys.quarantine_key(STREAM, 1, t, "logs", 0) for t in ("../..", "../."))

    assert one != other


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ingest-stream",
        f"ingest-stream/{STREAM}",
        f"ingest-stream/{STREAM}/",
        f"ingest-stream/{STREAM}/1",
        f"ingest-stream/{STREAM}/{'1' * 21}",
        f"ingest-stream/{STREAM}/{'9' * 20}",
        f"ingest-stream/{STREAM}/{'1' * 20}/x",
        f"ingest-stream/{STREAM}/{'١' * 20}",
        f"ingest-stream/{STREAM.upper()}/{'1' * 20}",
        f"/ingest-stream/{STREAM}/{'1' * 20}",
        f"x/ingest-stream/{STREAM}/{'1' * 20}",
        f"ingest-stream/{STREAM}/{'1' * 20}\n",
        f"dataset/{DATASET}/merged/",
        f"dataset/{DATASET}/merged/{TASK}",
        f"dataset/{DATASET}/merged/{TASK}.parquet.bak",
        f"dataset/{DATASET}/merged/notes.parquet",
        f"dataset/{DATASET}/merged/{TASK}-0/{TASK}.parquet",
        f"dataset/{DATASET}/merged/{TASK}-01/{TASK}.parquet",
        f"dataset/{DATASET}/other/{TASK}.parquet",
        f"dataset/../merged/{TASK}.parquet",
        f"quarantine/{STREAM}/7/whole",
        f"quarantine/{STREAM}/{'0' * 20}/../whole",
        "probe/put-if-absent",
    ],
)
def test_what_we_do_not_write_does_not_parse(key: str) -> None:
    assert parse_key(key) is None


@pytest.mark.parametrize("stream_id", ["", "..", STREAM.upper(), STREAM + "/", f"{{{STREAM}}}"])
def test_no_key_is_built_from_what_is_not_an_id(stream_id: str) -> None:
    with pytest.raises(ValueError):
        keys.baby_key(stream_id, 0)
    with pytest.raises(ValueError):
        keys.merged_prefix(stream_id)


@pytest.mark.parametrize("offset", [-1, 2**63])
def test_no_key_is_built_from_an_impossible_offset(offset: int) -> None:
    with pytest.raises(ValueError):
        keys.baby_key(STREAM, offset)


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("a", "b"), "a/b"),
        (("a/", "b"), "a/b"),
        (("a/", "/b/c"), "a/b/c"),
        (("", "a", "", "b"), "a/b"),
    ],
)
def test_parts_are_joined_by_one_slash(parts: tuple[str, ...], joined: str) -> None:
    assert join_key(*parts) == joined


@pytest.mark.parametrize(
    "parts",
    [("a//", "b"), ("a", "..", "b"), ("a/./b",), ("",), ("/",), ("a", "b\x00"), ("a", "//b"), ()],
)
def test_what_is_not_a_key_is_not_joined(parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError):
        join_key(*parts)


@given(ids)
def test_a_split_key_joins_again(dataset_id: str) -> None:
    key = keys.new_merged_key(dataset_id)
    prefix, name = keys.split_key(key)

    assert prefix == keys.merged_prefix(dataset_id).rstrip("/")
    assert join_key(prefix, name) == key
