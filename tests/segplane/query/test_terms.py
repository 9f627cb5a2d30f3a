"""Token indexes skip files, and never change an answer."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from segments.parquet.spec import SegmentSpec
from segments.token_index import builder
from segplane.query.engine import RunningQuery
from segplane.query.plan import QueryPlan
from tests.segplane.query.conftest import QueryDriver
from tests.segplane.query.test_row_groups import replaced
from tests.support.examples import examples
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of

FILES, ROWS = 24, 3
FIXED_SEED = 7
SEED = random.randrange(2**32) if not os.environ.get("CI") else 8
NAMES = ("attributes", "resource_attributes")
# The Kelvin sign and the dotted I are folded to ASCII letters; RE2 takes the long s for an s.
WORDS = (
    *("disk", "dis\u212a", "Disk", "fehler", "\u017fu\u017fpekt", "suspekt", "İx", "ix", "i̇x"),
    *("groß", "größe", "ab", "x1", "1x", "7", "1.50", "1.5", "1e3", "true", 'q"uote', "back\\nx"),
    *("line\nx", "nx", "tab\tx", "\x01y", "é", "user-17", "550e8400-e29b", "{x}", "[ab]", "ab,7"),
)
JOINS = (" ", "-", "_", "", ".", "\n", '"', "ß")
OPERATORS = (
    *("has", "has_cs", "hasprefix", "hassuffix", "contains", "contains_cs", "startswith"),
    *("endswith", "==", "=~", "!has", "!="),
)
PLACES = (
    "body",
    "attributes.user",
    "attributes['a.b']",
    "attributes.nested.deep",
    "resource_attributes.user",
)

NARROWED = (
    "web | where body has 'rareword'",
    "web | where body == 'the rareword'",
    "web | where body has_any ('rareword', 'otherrare')",
    "web | where attributes.user == 'rare-user'",
    "web | where attributes.user in ('rare-user', 'rare-other')",
    "web | extend u = tostring(attributes.user) | where u == 'rare-user'",
    "web | where attributes.http.route == '/rare'",
    "web | where body has 'rareword' | summarize count() by service_name",
    "web | where body contains 'a rareword b'",
)
OTHERS = (
    "web | where body contains 'rareword'",
    "web | where not(body has 'rareword')",
    "web | where body has 'rareword' or service_name == 'x'",
    "web | where attributes.user == '17'",
    "web | where attributes has 'rareword'",
    "web | where attributes.user has 'rareword'",
    "web | where attributes.list[0] == 'rareword'",
    "web | where body matches regex 'rareword'",
    "web | where body == ''",
    "web | where body in ('rareword', '')",
    "web | take 5 | where body has 'rareword'",
    "web | union (web | where body has 'rareword')",
)


def text(rng: random.Random) -> str:
    parts = [rng.choice(WORDS)]
    for _ in range(rng.randrange(3)):
        parts += [rng.choice(JOINS), rng.choice(WORDS)]
    return "".join(parts)


def value(rng: random.Random) -> Any:
    made: list[Any] = [
        text(rng),
        text(rng),
        text(rng),
        text(rng),
        text(rng),
        7,
        1.5,
        1000.0,
        True,
        None,
    ]
    made += [[text(rng), 7], {"deep": text(rng), "ab": [text(rng)]}]
    return rng.choice(made)


def attributes(rng: random.Random) -> str | None:
    keys = ["user", "a.b", "nested", "nested.deep", "other"]
    found = {key: value(rng) for key in keys if rng.random() < 0.5}
    made = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    # Engines show this number as others are shown.
    return made.replace("1000.0", "1.0E3") if found else None


def searched(rng: random.Random, whole: str) -> str:
    """A part of a text that some file has, perhaps in other letters."""
    start, end = sorted(rng.choices(range(len(whole) + 1), k=2))
    part = rng.choice([whole, whole, whole, whole[start:end], whole[start:], whole[:end]])
    changed = rng.choice([part, part, part, part.upper(), part.lower(), part.swapcase()])
    for letter, sign in (("k", "\u212a"), ("s", "\u017f"), ("i", "\u0130")):
        if rng.random() < 0.2:
            old, new = rng.sample([letter, sign], 2)
            changed = changed.replace(old, new)
    return changed


def condition(rng: random.Random, stored: list[tuple[str, str]]) -> str:
    """A random condition of KQL."""
    if rng.random() < 0.2:
        joined = rng.choice([" and ", " or "]).join(condition(rng, stored) for _ in range(2))
        return f"({joined})"
    place, whole = rng.choice(stored)
    place = place if rng.random() < 0.9 else rng.choice(PLACES)
    other = rng.choice(stored)[1]
    equal = json.dumps(whole if rng.random() < 0.8 else searched(rng, whole))
    match rng.randrange(6 if place == "body" else 3):
        case 0:
            return f"{place} in ({equal}, {json.dumps(other)})"
        case 1:
            return f"{place} == {equal}"
        case 2 | 3:
            quoted = ", ".join(json.dumps(searched(rng, text)) for text in (whole, other))
            return f"{place} {rng.choice(['has_any', 'has_all'])} ({quoted})"
        case _:
            return f"{place} {rng.choice(OPERATORS)} {json.dumps(searched(rng, whole))}"


def texts_in(value: Any) -> Iterator[str]:
    """A value as an engine may show it, and the texts in it."""
    yield value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from texts_in(item)


def places_of(table: pa.Table) -> Iterator[tuple[str, str]]:
    """The texts of a file with their places."""
    for row in table.select(["body", *NAMES]).to_pylist():
        yield "body", row["body"]
        for name in NAMES:
            for key, value in json.loads(row[name] or "{}").items():
                place = f"{name}['{key}']" if key in ("a.b", "other") else f"{name}.{key}"
                place = f"{name}.nested.deep" if key == "nested" else place
                yield from ((place, text) for text in texts_in(value) if text)


@pytest.fixture
def written(segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch, seed: int) -> SegmentWriter:
    """Files of few rows, most of them with an index."""
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    rng = random.Random(seed)
    for number in range(FILES):
        table = replaced(
            rows_of("logs", ROWS, SegmentSpec(), number), "body", [text(rng) for _ in range(ROWS)]
        )
        for name in NAMES:
            table = replaced(table, name, [attributes(rng) for _ in range(ROWS)])
        table = replaced(table, "timestamp", [EPOCH + n for n in range(ROWS)])
        segments.has_token_index = number % 6 != 0
        segments.register({"logs": table}, SegmentSpec())
    return segments


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the files and of the conditions."""
    return int(getattr(request, "param", FIXED_SEED))


def without_terms(plan: QueryPlan) -> QueryPlan:
    return replace(plan, reads=tuple(replace(read, terms=()) for read in plan.reads))


def answer(queries: QueryDriver, plan: QueryPlan) -> tuple[Counter[str], int]:
    def call(query: RunningQuery) -> tuple[Counter[str], int]:
        rows = query.reader().read_all().to_pylist()
        return Counter(map(repr, rows)), sum(source.num_left_out for source in query.sources)

    found: tuple[Counter[str], int] = queries.run(plan, call)
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", [FIXED_SEED, SEED], ids=["fixed", "drawn"], indirect=True)
def test_an_index_never_changes_an_answer(
    queries: QueryDriver, written: SegmentWriter, seed: int
) -> None:
    rng, left_out, answered = random.Random(seed), 0, 0
    stored = [pair for sections in written.sections for pair in places_of(sections["logs"])]
    for _ in range(examples(400)):
        query = f"web | where {condition(rng, stored)} | project timestamp, body, attributes"
        plan = queries.plan(query)
        if not any(read.terms for read in plan.reads):
            continue
        expected, _ = answer(queries, without_terms(plan))
        found, number = answer(queries, plan)
        assert found == expected, f"{query}, seed {seed}"
        left_out += number
        answered += bool(expected)
    # Whether conditions and indexes have something to say depends on the draw.
    if seed == FIXED_SEED:
        assert left_out > examples(400) / 4
        assert answered > examples(400) / 50


@pytest.mark.long
def test_questions_that_skip_files(queries: QueryDriver, written: SegmentWriter) -> None:
    left_out = {query: answer(queries, queries.plan(query))[1] for query in NARROWED + OTHERS}

    # Four of the files have no index.
    assert left_out == dict.fromkeys(NARROWED, FILES - 4) | dict.fromkeys(OTHERS, 0)


def test_no_other_characters_fold_to_letters_of_terms() -> None:
    """Engines fold by tables of Unicode, which grow: this finds a new sign."""
    connection = duckdb.connect()
    signs = "".join(chr(n) for n in range(128, 0x110000) if not 0xD800 <= n < 0xE000)
    connection.execute("CREATE TABLE signs AS SELECT unnest(string_split(?, '')) AS s", [signs])
    ask = "SELECT s FROM signs WHERE regexp_matches({}, '[0-9A-Za-z]') ORDER BY s"
    lower = connection.execute(ask.format("lower(s)")).fetchall()
    folded = connection.execute("SELECT s FROM signs WHERE regexp_matches(s, '(?i)[0-9a-z]')")

    assert {s for (s,) in lower} == {"\u0130", "\u212a"}
    # Patterns of `has` name each form of a letter, so RE2 folds no letter of theirs.
    assert {s for (s,) in folded.fetchall()} == {"\u017f", "\u212a"}


@pytest.mark.long
def test_signs_that_fold_to_letters_are_found(
    queries: QueryDriver, segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    segments.has_token_index = True
    for body in ("dis\u212a full", "d\u0130sc lost", "other text"):
        table = replaced(rows_of("logs", 1, SegmentSpec()), "body", [body])
        segments.register({"logs": replaced(table, "timestamp", [EPOCH])}, SegmentSpec())

    for condition in (
        *("has 'disk'", "has 'd\u0130sk'", "startswith 'disk '", "contains_cs 's\u212a '"),
        *("has 'disc'", "startswith 'disc '", "endswith '\u0130sc lost'", "=~ 'DISC LOST'"),
    ):
        plan = queries.plan(f"web | where body {condition}")
        rows, left_out = answer(queries, plan)
        assert rows.total() == 1, condition
        assert answer(queries, without_terms(plan))[0] == rows
        if condition.endswith(("k'", "k '", "c'", "c '")) and "\u0130" not in condition:
            assert left_out == 2, condition
