"""Cheap conditions before a filter's own skip no row that the filter keeps."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kql.dataset_table import dataset_table
from kql.functions.folding import folded_pattern
from kql.queries import compile_query
from kql.sql.relations import to_sql

TABLE = dataset_table("web", [])
# Signs that fold to ASCII letters, and signs whose lower case has other letters.
SIGNS = ["k", "K", "\u212a", "s", "S", "\u017f", "i", "I", "\u0130", "\u0131", "\u00df", " ", "7"]
FOLDED = str.maketrans({"k": "\u212a", "s": "\u017f", "i": "\u0130"})
TERMS = ["task", "kiss", "mask7", "s", "ISK", "ask sk", "i", "wi-fi", "stra\u00dfe"]
BEFORE, AFTER = r"(?:^|[^\p{L}\p{N}])", r"(?:[^\p{L}\p{N}]|$)"
CONNECTION = duckdb.connect(config={"threads": 1})


def kept(condition: str) -> list[object]:
    """Return the bodies that a filter keeps."""
    query = f"web | where {condition} | project body"
    rows = CONNECTION.execute(to_sql(compile_query(query, {"web": TABLE}, 0), "duckdb")).fetchall()
    return sorted(body for (body,) in rows)


def store(*columns: tuple[str, list[str | None]]) -> None:
    """Make the table of the given columns."""
    values = dict(columns)
    texts = {name: values.get(name) for name in ("body", "attributes")}
    selected = ", ".join(f"UNNEST(${name}) AS {name}" for name in texts)
    CONNECTION.execute(f"CREATE OR REPLACE TABLE web AS SELECT {selected}", texts)


@settings(max_examples=25)
@given(st.lists(st.text(st.sampled_from(SIGNS), max_size=6), max_size=8), st.sampled_from(TERMS))
def test_terms_are_found_as_their_patterns_are(parts: list[str], term: str) -> None:
    bodies: list[str | None] = [None]
    forms = (term, term.upper(), term.translate(FOLDED))
    bodies += [f"{a}{form}{b}" for a in parts for b in parts[:2] for form in forms]
    store(("body", bodies), ("attributes", ["{}"] * len(bodies)))

    for operator, pattern in (("has", folded_pattern(term)), ("has_cs", term)):
        expected = kept(f"body matches regex @'{BEFORE}{pattern}{AFTER}'")
        assert kept(f"body {operator} '{term}'") == expected


@pytest.mark.parametrize("text", TERMS)
def test_texts_are_contained_as_in_lower_case(text: str) -> None:
    forms = (text, text.upper(), text.translate(FOLDED), text.replace("i", "\u0130"), text[1:])
    bodies: list[str | None] = [None, *(f"{a}{form}{a}" for a in ("", "a ", "K") for form in forms)]
    store(("body", bodies), ("attributes", ["{}"] * len(bodies)))

    lowered = "SELECT body FROM web WHERE CONTAINS(LOWER(body), LOWER(?)) ORDER BY body"
    expected = [body for (body,) in CONNECTION.execute(lowered, [text]).fetchall()]
    assert kept(f"body contains '{text}'") == expected


@pytest.mark.parametrize(
    "member",
    ['"cart"', r'"\u0063art"', r'"c\u0061rt"', '"ca\\u0072t"'],
)
@pytest.mark.parametrize("condition", ["== 'cart'", "in ('x', 'cart')"])
def test_a_text_is_found_however_its_json_is_escaped(member: str, condition: str) -> None:
    store(("body", ["a", "b"]), ("attributes", [f'{{"k":{member}}}', '{"k":"c"}']))

    assert kept(f"attributes['k'] {condition}") == ["a"]


@pytest.mark.parametrize("number", ["500", "500.0", "5e2", '"500"', '"+0500.00"'])
@pytest.mark.parametrize("condition", ["== 500", ">= 500", "in (7, 500)", "between (500 .. 501)"])
def test_a_number_is_found_however_it_is_written(number: str, condition: str) -> None:
    store(("body", ["a", "b"]), ("attributes", [f'{{"k":{number}}}', '{"k":4}']))

    assert kept(f"attributes['k'] {condition}") == ["a"]


def test_a_filter_parses_the_attributes_of_rows_that_name_the_text_alone() -> None:
    # A text that is not JSON is refused wherever it is parsed.
    store(("body", ["a", "b"]), ("attributes", ['{"k":"cart"}', "{no"]))

    assert kept("attributes['k'] == 'cart'") == ["a"]
    with pytest.raises(duckdb.Error):
        kept("strcat(attributes['k'], '') == 'cart'")
