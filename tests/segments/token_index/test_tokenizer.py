"""The hashes of whole columns are those of the terms and pairs of each text."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segments.token_index import tokenizer
from segments.token_index.terms import has_pair, pair_hash, searched_terms, term_hash
from segments.token_index.tokenizer import NoPlainJson

# Separators, letters that fold to ASCII, other letters, digits, and all that JSON escapes.
TEXTS = st.text(st.sampled_from('abkKS19 _-./:é\u212a\u017f\u0130ß"\\\n\x01\x7f{}[],'), max_size=40)
LONG = st.text(st.sampled_from("ab19"), min_size=1, max_size=40)
SCALARS = TEXTS | LONG | st.integers(-99, 10**18) | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=6,
)


def terms_of(text: str) -> set[str]:
    """The indexed terms of a text, one by one."""
    folded = text.replace("\u212a", "k").replace("\u0130", "i")
    terms = {term.lower() for term in re.findall("[0-9A-Za-z]+", folded)}
    return {term for term in terms if len(term) > 4 or term.isalpha()}


def written(value: Any) -> str:
    """JSON as segments have it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def pairs_of(value: Any) -> Iterator[tuple[str, str]]:
    """The keys and strings of the objects in a value, as JSON has them."""
    if isinstance(value, list):
        for item in value:
            yield from pairs_of(item)
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                yield written(key)[1:-1], written(item)[1:-1]
            yield from pairs_of(item)


def hashes(column: str, texts: list[str | None]) -> set[int]:
    array = pa.chunked_array([pa.array(texts, pa.string())])
    if column == "body":
        return set(tokenizer.term_hashes(column, array).tolist())
    return set(tokenizer.pair_hashes(column, array).tolist())


@given(st.lists(TEXTS | LONG | st.none(), max_size=8))
@example(["\u212a", "dis\u212a", None, "", "x" * 17])
def test_a_text_column_has_the_hashes_of_its_terms(texts: list[str | None]) -> None:
    expected = {term_hash("body", term) for text in texts for term in terms_of(text or "")}

    assert hashes("body", texts) == expected


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=5), max_size=6))
@example([{"a": "\\n1", "b": ["x\ny", {"c": '"\\"'}]}, {"": "z"}])
def test_an_attribute_column_has_the_hashes_of_its_pairs(objects: list[dict[str, Any]]) -> None:
    pairs = {pair for item in objects for pair in pairs_of(item)}

    assert hashes("attributes", [written(item) for item in objects]) == {
        pair_hash("attributes", key, value) for key, value in pairs
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"b}',
        '{"a": "b"}',
        '{ "a":"b"}',
        '{"a" :"b"}',
        '{"a":["b", "c"]}',
        r'{"a":"\u0041b"}',
        r'{"a":"b\/c"}',
    ],
)
def test_other_forms_of_json_have_no_index(text: str) -> None:
    with pytest.raises(NoPlainJson):
        hashes("attributes", ['{"x":"y"}', text, '{"x":"y"}'])


@pytest.mark.parametrize(
    "text", [r'{"a":"C:\\users\\/"}', r'{"a":"\u0001\n\""}', "{}", "null", "[]", '["a","b"]']
)
def test_these_forms_of_json_have_one(text: str) -> None:
    assert pair_hash("attributes", "x", "y") in hashes("attributes", [text, '{"x":"y"}'])


def test_columns_and_keys_have_their_own_hashes() -> None:
    keys = [(column, key) for column in ("attributes", "resource_attributes") for key in "ab"]
    pairs = {pair_hash(column, key, "x") for column, key in keys}

    assert len(pairs | {term_hash("body", "x")}) == 5


@pytest.mark.parametrize(
    ("text", "begins", "ends", "terms"),
    [
        ("timeout", True, True, ("timeout",)),
        ("Timeout", False, False, ()),
        ("a timeout b", False, False, ("timeout",)),
        ("a timeout", False, True, ("timeout",)),
        ("timeout b", True, False, ("timeout",)),
        # The Kelvin sign may be found as a k, which then belongs to the term beside it.
        ("dis\u212a x", True, True, ("x",)),
        ("größe x", True, True, ("x",)),
        ("!-", True, True, ()),
        ("X x", True, True, ("x",)),
        # Numbers of four digits, and parts of UUIDs, are in no index.
        ("a1b2-e29b oom 4711 47110", True, True, ("oom", "47110")),
    ],
)
def test_terms_of_a_searched_text_are_bounded(
    text: str, begins: bool, ends: bool, terms: tuple[str, ...]
) -> None:
    assert searched_terms(text, begins, ends) == terms


@pytest.mark.parametrize(
    ("text", "is_string"),
    [
        ("user-1", True),
        ("550e8400-e29b-41d4-a716-446655440000", True),
        ("größe, \u212a", True),
        ("truely", True),
        ("true", False),
        ("1.5", False),
        ("1e300", False),
        ("-1", False),
        ("", False),
        ('{"a":1}', False),
        ("[1]", False),
        ("a\\b", False),
        ('a"b', False),
        ("a\nb", False),
    ],
)
def test_pairs_are_strings_that_have_one_form(text: str, is_string: bool) -> None:
    assert has_pair("key", text) is is_string
    assert not has_pair('a"b', text)
