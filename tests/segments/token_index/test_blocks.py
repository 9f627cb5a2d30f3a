"""Filters of an index have every term of their rows, and few others; damaged ones have all."""

import random

import pyarrow as pa
import pytest

from segments.token_index import blocks, builder
from segments.token_index.blocks import CRC_BYTES, header, read_block
from segments.token_index.builder import TokenIndexBuilder
from segments.token_index.place import (
    BLOCK_BYTES_MAX,
    NUM_BLOCKS,
    IndexedSpan,
    TokenIndex,
    block_of,
    is_valid,
    row_ranges,
)
from segments.token_index.terms import pair_hash, term_hash

LARGE = 10**9


def built(*tables: pa.Table, file_bytes: int = LARGE) -> bytes:
    building = TokenIndexBuilder()
    for table in tables:
        building.add(table, file_bytes)
    return building.content()


def spans_with(content: bytes, term: int) -> list[IndexedSpan] | None:
    """The spans that may have a term; None = the block is damaged."""
    index, number = TokenIndex(0, len(content)), block_of(term)
    offset = index.block_offset(number)
    block = read_block(content[offset : offset + index.block_bytes], number)
    return None if block is None else list(block.spans_with(term))


def groups_with(content: bytes, term: int) -> list[int]:
    """The row groups that may have a term; -1 = the block is damaged."""
    spans = spans_with(content, term)
    return [-1] if spans is None else [span.group for span in spans]


def bodies(*texts: str) -> pa.Table:
    return pa.table({"body": list(texts)})


def test_an_index_has_the_terms_of_all_columns_and_few_others() -> None:
    users = [f"user-{number:06d}" for number in range(20_000)]
    attributes = pa.array([f'{{"user.id":"{user}","n":7}}' for user in users])
    table = pa.table({"body": [f"request of {u}" for u in users], "attributes": attributes})

    content = built(table)

    for user in users[::50]:
        number = user.removeprefix("user-")
        assert 0 in groups_with(content, term_hash("body", number))
        assert 0 in groups_with(content, pair_hash("attributes", "user.id", user))
    rng = random.Random(1)
    others = [rng.getrandbits(64) for _ in range(20_000)]
    assert sum(bool(groups_with(content, term)) for term in others) < 200


def test_a_term_is_in_the_row_groups_that_have_it() -> None:
    tables = [bodies("alpha beta"), bodies("beta", "gamma"), bodies("alpha")]

    content = built(*tables, pa.table({"metric": [1.0]}))

    found = {term: groups_with(content, term_hash("body", term)) for term in ("alpha", "beta")}
    assert found == {"alpha": [0, 2], "beta": [0, 1]}
    assert groups_with(content, term_hash("body", "delta")) == []
    block = read_block(content[: len(content) // NUM_BLOCKS], 0)
    assert block is not None
    assert [(span.start, span.end) for span in block.spans] == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_a_term_is_in_the_spans_of_a_row_group_that_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (blocks, builder):
        monkeypatch.setattr(module, "SPAN_ROWS", 4)
    words = pa.array(["of all"] * 7).dictionary_encode()

    content = built(
        pa.table({"body": [f"alpha{n} beta{n // 5}" for n in range(10)]}),
        pa.table({"body": words}),
        bodies("alpha9"),
    )

    assert spans_with(content, term_hash("body", "alpha9")) == [
        IndexedSpan(0, 8, 10),
        IndexedSpan(2, 17, 18),
    ]
    assert spans_with(content, term_hash("body", "beta0")) == [
        IndexedSpan(0, 0, 4),
        IndexedSpan(0, 4, 8),
    ]
    # The texts of a dictionary are in every span.
    spans = spans_with(content, term_hash("body", "all"))
    assert spans == [IndexedSpan(1, 10, 14), IndexedSpan(1, 14, 17)]
    assert row_ranges(spans) == [(10, 17)]


def test_a_dictionary_has_its_texts_once() -> None:
    column = pa.array(["alpha beta", "gamma"] * 4_000).dictionary_encode()

    content = built(pa.table({"body": column}))

    assert len(content) == (len(header([(0, 0)])) + builder.SIZE_MIN + CRC_BYTES) * NUM_BLOCKS
    assert all(groups_with(content, term_hash("body", t)) for t in ("alpha", "beta", "gamma"))


def test_a_damaged_block_has_every_term() -> None:
    content = built(bodies("alpha"))
    term = term_hash("body", "beta")
    size = len(content) // NUM_BLOCKS
    start = block_of(term) * size
    assert groups_with(content, term) == []

    for place in range(start, start + size):
        for bit in (1, 128):
            damaged = bytearray(content)
            damaged[place] ^= bit
            assert groups_with(bytes(damaged), term) == [-1]
    assert read_block(content[start : start + size - 1], block_of(term)) is None
    assert read_block(b"", block_of(term)) is None
    # The block of another number.
    assert read_block(content[start : start + size], block_of(term) ^ 1) is None


def test_an_index_takes_at_most_its_share_of_the_file() -> None:
    rng = random.Random(1)
    words = (f"{rng.getrandbits(64):x}" for _ in range(32_000))
    table = bodies(*(" ".join(row) for row in zip(*[words] * 4, strict=True)))
    whole = len(built(table))
    half = int(whole / 2 / builder.SHARE_MAX)

    ideal = -(-32_000 * builder.BITS_PER_TERM // (8 * NUM_BLOCKS))
    assert whole == (len(header([(0, 0)])) + ideal + CRC_BYTES) * NUM_BLOCKS
    assert whole // 2 - NUM_BLOCKS <= len(built(table, file_bytes=half)) <= whole // 2
    assert built(table, file_bytes=int(16 * NUM_BLOCKS / builder.SHARE_MAX) - 1) == b""


def test_a_small_row_group_has_a_filter_although_the_others_took_the_share() -> None:
    rng = random.Random(1)
    words = (f"{rng.getrandbits(64):x}" for _ in range(32_000))
    large = bodies(*(" ".join(row) for row in zip(*[words] * 4, strict=True)))
    half = int(len(built(large)) / 2 / builder.SHARE_MAX)

    content = built(large, bodies("alpha"), file_bytes=half)

    others = [rng.getrandbits(64) for _ in range(2_000)]
    assert sum(1 in groups_with(content, term) for term in others) < 20
    assert 1 in groups_with(content, term_hash("body", "alpha"))


def test_a_row_group_that_cannot_be_indexed_has_every_term_and_others_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = bodies(*(f"term{number}" for number in range(11)))
    monkeypatch.setattr(builder, "TERMS_MAX", 10)
    damaged = pa.table({"body": ["alpha"], "attributes": ['{"a']})

    content = built(many.slice(1), many, damaged)

    assert groups_with(content, term_hash("body", "term5")) == [0, 1, 2]
    assert groups_with(content, term_hash("body", "beta")) == [1, 2]
    assert built(many) == built(damaged) == b""


def test_a_file_of_any_number_of_row_groups_has_an_index_of_bounded_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builder, "BLOCK_BYTES_MAX", 100)
    monkeypatch.setattr(builder, "SIZE_MIN", 1)
    tables = [bodies(f"alpha{n}") for n in range(12)]

    content = built(*tables[:11])

    # Filters take half of a block; row groups without one have every term.
    assert len(content) == 100 * NUM_BLOCKS
    assert groups_with(content, term_hash("body", "alpha1")) == [1, *range(4, 11)]
    assert built(*tables) == b""


def test_terms_that_repeat_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        f"term{number}" for start in range(0, 400, 100) for number in range(start, start + 200)
    ]
    whole = built(bodies(*texts))
    monkeypatch.setattr(builder, "_PENDING_MAX", 50)

    assert built(bodies(*texts)) == whole
    assert all(groups_with(whole, term_hash("body", f"term{n}")) for n in range(500))


@pytest.mark.parametrize(
    ("offset", "count", "size", "valid"),
    [
        (1, 1, NUM_BLOCKS + 1, True),
        (1, 1, NUM_BLOCKS, False),
        (0, 1, 10**6, False),
        (1, 0, 10**6, False),
        (1, BLOCK_BYTES_MAX, 10**9, True),
        (1, BLOCK_BYTES_MAX + 1, 10**9, False),
    ],
)
def test_the_place_of_an_index_is_within_its_object(
    offset: int, count: int, size: int, valid: bool
) -> None:
    assert is_valid(offset, count * NUM_BLOCKS, size) is valid
    assert not is_valid(offset, count * NUM_BLOCKS + 1, size)
