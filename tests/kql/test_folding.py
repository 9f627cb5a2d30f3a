"""One definition of case for constants and columns, on every engine, over Unicode and over words."""

import os
import random
import unicodedata
from collections.abc import Callable, Iterator

import duckdb
import pyarrow as pa
import pytest

from kql.functions.folding import folded, folded_pattern, variants
from kql.sql.engines import ENGINES
from segments.location import StoreLocation
from segments.token_index.terms import FOLDED
from segplane.cli.iceberg_settings import CatalogAddress
from tests.support.examples import examples
from tests.support.gateway.trino import TrinoServer
from tests.support.kql.engines import DuckDb, Engine, Spark
from tests.support.kql.trino import Trino
from tests.support.spark import shared_session

CHARACTERS = [chr(n) for n in range(1, 0x110000) if not 0xD800 <= n < 0xE000]
CASED = [c for c in CHARACTERS if len(variants(c)) > 1]
# Letters whose case engines, Python and Java disagree about, and some plain ones.
LETTERS = "iIİıkK\u212asSſΣσςßẞΩω\u2126Åå\u212bθϴǄǅǆéÉაᲐꭰᎠx1"
OPERATORS = ("=~", "in~", "contains", "startswith", "endswith", "has", "!contains", "!~")
SEED = random.randrange(2**32) if not os.environ.get("CI") else 11


@pytest.fixture(
    scope="module",
    params=[
        "duckdb",
        pytest.param("spark", marks=pytest.mark.spark),
        pytest.param("trino", marks=pytest.mark.readers),
    ],
)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """Give an engine."""
    if request.param == "duckdb":
        yield DuckDb()
    elif request.param == "spark":
        yield Spark(shared_session())
    else:
        folder = tmp_path_factory.mktemp("trino")
        store = StoreLocation.from_url(folder.as_uri())
        catalog = CatalogAddress("http://127.0.0.1:1/iceberg", store, has_token=False)
        server = TrinoServer(folder / "server", catalog)
        yield Trino(server)
        server.close()


def literal(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def table(texts: list[str]) -> str:
    return f"datatable(s: string)[{', '.join(map(literal, texts))}]"


def holds(operator: str, text: str, searched: str) -> bool:
    """The definition of an operator."""
    whole, part = folded(text), folded(searched)
    match operator:
        case "=~" | "in~":
            return whole == part
        case "startswith":
            return whole.startswith(part)
        case "endswith":
            return whole.endswith(part)
        case "has":
            return any(
                whole.startswith(part, n)
                and not (part[0].isalnum() and whole[:n][-1:].isalnum())
                and not (part[-1].isalnum() and whole[n + len(part) :][:1].isalnum())
                for n in range(len(whole))
            )
        case "contains":
            return part in whole
        case _:
            return not holds({"!contains": "contains", "!~": "=~"}[operator], text, searched)


def word(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randint(1, 4)))


def other_case(rng: random.Random, text: str) -> str:
    return "".join(rng.choice(variants(c)) for c in text)


def test_generated_words_are_found_as_the_definition_says(engine: Engine) -> None:
    rng = random.Random(SEED)
    texts = sorted({"-".join(word(rng) for _ in range(rng.randint(1, 3))) for _ in range(40)})
    texts += ["ΟΔΟΣ ΣΑΣ", "οδος σας", "İstanbul", "dİsk-Full", "disk-full", "DIS\u212a-full"]
    asked = []
    for number in range(examples(120)):
        text = other_case(rng, rng.choice(texts))
        start = rng.randrange(len(text))
        part = rng.choice([text, rng.choice(text.split("-")), text[start:], text[: start + 1]])
        asked.append((OPERATORS[number % len(OPERATORS)], part))
    asked += [(operator, text) for operator in OPERATORS for text in texts[-6:]]

    for start in range(0, len(asked), 20):
        some = asked[start : start + 20]
        columns = ", ".join(
            f"c{n} = s {operator} " + (f"({literal(part)})" if operator == "in~" else literal(part))
            for n, (operator, part) in enumerate(some)
        )
        rows = engine.run(f"{table(texts)} | extend {columns}")

        assert len(rows) == len(texts)
        for text, *found in rows:
            for (operator, part), value in zip(some, found, strict=True):
                expected = holds(operator, text, part)
                assert value == expected, f"{text!r} {operator} {part!r}, seed {SEED}"


@pytest.mark.long
def test_every_cased_character_is_found_by_itself_and_in_the_other_case(engine: Engine) -> None:
    """With a letter that an engine's Unicode lacks, by itself."""
    later = {c for c in CASED if unicodedata.name(c, "").startswith(("VITHKUQI", "GARAY"))}
    known = [c for c in CASED if c not in later and c not in LATER]
    texts = ["".join(known[n : n + 90]) for n in range(0, len(known), 90)]
    texts.append("".join(sorted(later | set(LATER))))
    for start in range(0, len(texts), 8):
        some = texts[start : start + 8]
        tests = " or ".join(
            f"(s {operator} {literal(text)} and s == {literal(text)})"
            for text in some
            for operator in ("=~", "contains", "startswith", "endswith", "has")
        )
        found = engine.run(f"{table(some)} | where {tests} | summarize count()")
        each = engine.run(
            f"{table(some)} | summarize "
            + ", ".join(
                f"countif(s {operator} {literal(''.join(variants(c)[-1] for c in text))})"
                for text in some
                if text != texts[-1]
                for operator in ("=~", "contains", "has")
            )
        )

        assert found == [(len(some),)]
        assert set(each[0]) == {1}


# Letters of Unicode 14, which Java 17 does not know.
LATER = "ⰯⱟꟀꟁꟐꟑꟖꟗꟘꟙ"


def lowered_by_duckdb(text: str) -> str:
    pattern = ENGINES["duckdb"].patterns["tolower"].replace("<0>", "s")
    table = pa.table({"s": [text]})
    return str(duckdb.connect().from_arrow(table).project(pattern).fetchall()[0][0])


def lowered_by_spark(text: str) -> str:
    pattern = ENGINES["spark"].patterns["tolower"].replace("<0>", "s")
    frame = shared_session().createDataFrame([(text,)], "s string")
    return str(frame.selectExpr(pattern).collect()[0][0])


@pytest.mark.long
@pytest.mark.parametrize(
    "lowered",
    [lowered_by_duckdb, pytest.param(lowered_by_spark, marks=pytest.mark.spark)],
)
def test_engines_fold_all_of_unicode_as_constants_are_folded(
    lowered: Callable[[str], str],
) -> None:
    found = dict(zip(CHARACTERS, lowered("".join(CHARACTERS)), strict=True))
    unlike = {c for c, lower in found.items() if lower != folded(c)}

    # The final sigma is replaced where it matters; others are of a Unicode that one side lacks.
    assert all(found[c] == c for c in unlike if unicodedata.category(c) != "Cn")
    assert "ς" in unlike
    assert len(unlike) < 200
    # Token indexes fold every character that is ASCII then.
    ascii_signs = {c for c in CHARACTERS if not c.isascii() and found[c].isascii()}
    assert ascii_signs == {sign.decode() for sign, _ in FOLDED}
    assert all(found[sign.decode()] == letter.decode() for sign, letter in FOLDED)


@pytest.mark.long
def test_no_character_is_folded_to_several_and_all_variants_are_known() -> None:
    folds: dict[str, set[str]] = {}
    for character in CHARACTERS:
        folds.setdefault(folded(character), set()).add(character)

    assert all(len(fold) == 1 for fold in folds)
    assert all(set(variants(c)) == alike for alike in folds.values() for c in alike)


def test_a_pattern_of_any_case_names_each_form() -> None:
    assert folded_pattern("kΣ.") == "[Kk\u212a][Σςσ]\\."
