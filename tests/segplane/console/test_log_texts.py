"""Texts of an address within queries and HTML: none gets out of its quotes."""

import html
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kql.dataset_table import dataset_table
from kql.errors import KqlError
from kql.syntax.parser import parse_query
from kql.syntax.tokens import tokens
from kql.syntax.tree import Name
from segplane.gateway.console.kql_text import quoted_name, text_literal
from segplane.gateway.console.logs.fields import FieldValue, LogField, Scalar, parse_field_value
from segplane.gateway.console.logs.search import WORDS_MAX, LogSearch, parse_search
from segplane.gateway.console.visible_text import PAGE_MARKS_MAX, TEXT_MARKS_MAX, Marks
from segplane.gateway.http.refusals import QueryRefusal
from segplane.query.runs import plan_over

# KQL has no texts with a NUL or with half a character.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
SCALARS = TEXTS | st.integers(-(2**63) + 1, 2**63 - 1) | st.booleans() | st.none()
NOW = datetime(2026, 11, 29, tzinfo=UTC)
WEB = {"web": dataset_table("web", has_words=True)}


@given(TEXTS)
def test_a_text_is_one_literal_of_its_value(text: str) -> None:
    literal, end = tokens(text_literal(text))

    assert (literal.kind, literal.value, end.kind) == ("literal", text, "end")


@given(TEXTS.filter(bool))
def test_a_name_is_one_name(name: str) -> None:
    source = parse_query(f"{quoted_name(name)}\n| take 1").pipeline.source

    assert isinstance(source, Name)
    assert source.name == name


@given(TEXTS, SCALARS)
def test_a_filter_is_one_condition_with_its_value_in_a_literal(key: str, value: Scalar) -> None:
    chosen = parse_field_value(FieldValue(LogField("attributes", key), value).text())
    condition = chosen.kql()

    operators = parse_query(f"web\n| where {condition}\n| take 1").pipeline.operators
    literals = [t.value for t in tokens(condition) if t.kind == "literal"]
    assert [operator.name for operator in operators] == ["where", "take"]
    if isinstance(value, str):
        assert literals[-1] == value


@given(st.text())
def test_a_search_is_understood_or_refused_at_a_place_in_it(text: str) -> None:
    search, refusal = LogSearch(), None
    try:
        search = parse_search(text)
    except KqlError as error:
        refusal = error

    if search.condition and "\0" not in text:
        query = f"web\n| where\n{search.condition}\n| take 1"
        operators = parse_query(query).pipeline.operators
        assert [operator.name for operator in operators] == ["where", "take"]
    if refusal is not None:
        assert 0 <= refusal.offset <= len(text)
        assert refusal.excerpt(text).endswith("^")


@pytest.mark.parametrize(
    ("text", "condition", "terms"),
    [
        ("", "", ()),
        ("time out", "body has 'time' and body has 'out'", ("time", "out")),
        ('"time out" -debug', "body contains 'time out' and not(body has 'debug')", ("time out",)),
        ("time*", "body hasprefix 'time'", ("time",)),
        ("it's", r"body has 'it\'s'", ("it's",)),
        ("-> -x", "body contains '->' and not(body has 'x')", ("->",)),
        ("where is", "body has 'where' and body has 'is'", ("where", "is")),
        ("a=b", "body has 'a=b'", ("a=b",)),
        ("severity == 'ERROR'", "severity == 'ERROR'", ("ERROR",)),
        ("| where body has 'x'", "        body has 'x'", ("x",)),
        ("where severity_number > 5", "      severity_number > 5", ()),
        ("attributes.n in (1, 2)", "attributes.n in (1, 2)", ()),
        ("isnotempty(trace_id)", "isnotempty(trace_id)", ()),
        ('"a == b"', "body contains 'a == b'", ("a == b",)),
        ("A" * 32, f"(body has '{'A' * 32}' or trace_id == '{'a' * 32}')", ("A" * 32,)),
    ],
)  # fmt: skip
def test_a_search_is_words_or_a_condition(
    text: str, condition: str, terms: tuple[str, ...]
) -> None:
    search = parse_search(text)

    assert (search.condition, search.terms) == (condition, terms)
    if condition:
        plan_over(WEB, f"web | where {condition}", "kql", NOW)


@pytest.mark.parametrize(
    ("text", "what", "place"),
    [
        ("body == 'x", "a text in quotes does not end", 8),
        ("a == 1 and", "an expression is missing", 10),
        ("a == 1 | take 5", "a search is one condition", 9),
        ("a == 1; b", "expected '|' or the end", 8),
        ("| take 5", "expected", 7),
        ("w " * (WORDS_MAX + 1), "the search has 21 words", 2 * WORDS_MAX),
        ("x" * 2_049, "the search has 2,049 characters", 2_048),
    ],
)
def test_a_search_that_is_no_condition_is_refused_under_its_words(
    text: str, what: str, place: int
) -> None:
    with pytest.raises(KqlError, match=re.escape(what)) as refusal:
        parse_search(text)

    assert refusal.value.offset == place


def test_a_search_has_twenty_words_and_2048_characters() -> None:
    assert len(parse_search("w " * WORDS_MAX).terms) == WORDS_MAX
    assert parse_search("x" * 2_048).terms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "[]",
        '["a"]',
        '["a",[]]',
        '["a",NaN]',
        "[" * 10_000,
        r'["a","\ud800"]',
        r'["\ud800",1]',
    ],
)
def test_a_filter_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(QueryRefusal, match="a filter is"):
        parse_field_value(text)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_a_shown_text_has_no_element_of_its_own_and_loses_nothing(
    text: str, terms: list[str]
) -> None:
    shown = Marks().visible(text, terms)

    marks = r'<span class="invisible" title="([^"<>]+)">\1</span>'
    plain = re.sub(rf"{marks}|</?mark>", "", shown)
    assert not set('<>"').intersection(plain)
    assert html.unescape(plain) == "".join(c for c in text if "invisible" not in Marks().visible(c))


def test_control_and_direction_marks_are_shown_and_joiners_stay() -> None:
    shown = Marks().visible(
        "a\x1b[0m\u202eb\u200b\U000e0041\n\t\U0001f469\u200d\U0001f680<i>", ["B"]
    )

    marks = re.findall(r">U\+([0-9A-F]+)<", shown)
    assert marks == ["001B", "202E", "200B", "E0041"]
    assert "<mark>b</mark>" in shown
    assert shown.endswith("\n\t\U0001f469\u200d\U0001f680&lt;i&gt;")


def test_a_run_of_an_invisible_character_is_one_mark_with_its_number() -> None:
    shown = Marks().visible("a" + "\x1b" * 4_096 + "\ud83d\u200b")

    assert re.findall(r">(U[^<]+)<", shown) == ["U+001B \u00d74096", "U+D83D", "U+200B"]
    shown.encode()


def test_a_text_and_a_page_have_so_many_marks_and_lose_no_letter_beyond_them() -> None:
    marks, text = Marks(), "a\u202e" * (TEXT_MARKS_MAX + 1)

    shown = [marks.visible(text, ["A"]) for _ in range(PAGE_MARKS_MAX)]

    assert shown[0].count("<mark>") == shown[0].count("<span") == TEXT_MARKS_MAX
    assert shown[0].endswith("a\ufffd")
    assert sum(each.count("<mark>") + each.count("<span") for each in shown) == PAGE_MARKS_MAX
    assert shown[-1] == "a\ufffd" * (TEXT_MARKS_MAX + 1)


def test_a_long_term_is_marked_by_its_first_hundred_characters() -> None:
    assert Marks().visible("x" * 101, ["X" * 2_048]) == f"<mark>{'x' * 100}</mark>x"


def test_invisible_characters_are_escapes_in_queries() -> None:
    assert text_literal("a\u202e\x1b\xad") == r"'a\u202e\u001b\u00ad'"
