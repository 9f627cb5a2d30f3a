"""Pages of an index have every term of a file, and few others; damaged ones have all."""

import random

import numpy as np
import pyarrow as pa
import pytest

from segments.token_index import builder, pages
from segments.token_index.builder import TokenIndexBuilder
from segments.token_index.place import PAGE_BYTES, PAGES_MAX, TokenIndex, is_valid
from segments.token_index.terms import pair_hash, term_hash

OFFSET = 1_000


def built(table: pa.Table, file_bytes: int = 10**9) -> tuple[TokenIndex, bytes]:
    building = TokenIndexBuilder()
    building.add(table)
    content = building.pages(file_bytes)
    return TokenIndex(OFFSET, len(content)), content


def may_have(index: TokenIndex, content: bytes, term: int) -> bool:
    number = index.page_of(term)
    offset, length = index.span([number])
    page = content[offset - OFFSET : offset - OFFSET + length]
    return pages.may_have(index, index.page_in(page, offset, number), term)


def test_an_index_has_the_terms_of_all_columns_and_few_others() -> None:
    users = [f"user-{number:06d}" for number in range(20_000)]
    attributes = pa.array([f'{{"user.id":"{user}","n":7}}' for user in users])
    table = pa.table({"body": [f"request of {u}" for u in users], "attributes": attributes})

    index, content = built(table)

    assert index.num_pages > 1
    for user in users[::50]:
        number = user.removeprefix("user-")
        assert may_have(index, content, term_hash("body", number))
        assert may_have(index, content, pair_hash("attributes", "user.id", user))
    rng = random.Random(1)
    others = [rng.getrandbits(64) for _ in range(20_000)]
    assert sum(may_have(index, content, term) for term in others) < 200


def test_a_dictionary_has_its_texts_once() -> None:
    column = pa.array(["alpha beta", "gamma"] * 100_000).dictionary_encode()

    index, content = built(pa.table({"body": column}))

    assert index.num_pages == 1
    assert all(may_have(index, content, term_hash("body", t)) for t in ("alpha", "beta", "gamma"))


@pytest.mark.parametrize("place", [0, PAGE_BYTES // 2, PAGE_BYTES - 1])
def test_a_damaged_page_has_every_term(place: int) -> None:
    index, content = built(pa.table({"body": ["alpha"]}))
    term = term_hash("body", "beta")
    assert not may_have(index, content, term)
    damaged = bytearray(content)
    damaged[place] ^= 1

    assert may_have(index, bytes(damaged), term)
    assert may_have(index, content[:-1], term)
    assert may_have(TokenIndex(OFFSET, 2 * PAGE_BYTES), content * 2, term)


def test_an_index_takes_at_most_its_share_of_the_file() -> None:
    rng = random.Random(1)
    table = pa.table({"body": [f"{rng.getrandbits(64):x}" for _ in range(50_000)]})
    whole = built(table)[0].length
    half = int(whole / 2 / builder.SHARE_MAX)

    assert whole == -(-50_000 * builder.BITS_PER_TERM // (8 * (PAGE_BYTES - 4))) * PAGE_BYTES
    assert built(table, half)[0].length == whole // 2 // PAGE_BYTES * PAGE_BYTES
    assert built(table, int(PAGE_BYTES / builder.SHARE_MAX) - 1)[1] == b""


def test_too_many_terms_and_texts_that_are_no_json_have_no_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms = pa.table({"body": [f"t{number}" for number in range(11)]})
    monkeypatch.setattr(builder, "TERMS_MAX", 10)
    assert built(terms.slice(1))[1]
    assert built(terms)[1] == b""
    assert built(pa.table({"attributes": ['{"a":']}))[1] == b""


def test_terms_that_repeat_between_row_groups_are_kept_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(builder, "_PENDING_MAX", 50)
    building = TokenIndexBuilder()
    for start in range(0, 400, 100):
        numbers = np.arange(start, start + 200).tolist()
        building.add(pa.table({"body": [f"t{number}" for number in numbers]}))

    content = building.pages(10**9)

    index = TokenIndex(OFFSET, len(content))
    assert all(may_have(index, content, term_hash("body", f"t{n}")) for n in range(500))


@pytest.mark.parametrize(
    ("offset", "count", "size", "valid"),
    [
        (1, 1, PAGE_BYTES + 1, True),
        (1, 1, PAGE_BYTES, False),
        (0, 1, 10**6, False),
        (1, 0, 10**6, False),
        (1, PAGES_MAX, 10**8, True),
        (1, PAGES_MAX + 1, 10**8, False),
    ],
)
def test_the_place_of_an_index_is_within_its_object(
    offset: int, count: int, size: int, valid: bool
) -> None:
    assert is_valid(offset, count * PAGE_BYTES, size) is valid
    assert not is_valid(offset, count * PAGE_BYTES + 1, size)
