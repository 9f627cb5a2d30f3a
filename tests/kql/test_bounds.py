"""Limits of a text: at each of them, one beyond it, and hostile texts."""

import random
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kql import scope
from kql.errors import KqlError
from kql.operators import constants, make_series
from kql.queries import compile_query
from kql.sql.engines import ENGINES
from kql.sql.relations import to_sql
from kql.syntax import parser, tokens
from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.whole_queries import QUERIES
from tests.support.examples import examples
from tests.support.kql.rows import TABLE

LEVELS = tokens.NESTING_MAX
OPERATORS = parser.OPERATORS_MAX


def translated(text: str) -> str:
    """Check a query and write it for DuckDB."""
    return to_sql(compile_query(text, {"rows": TABLE}, 0), "duckdb")


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda n: f"print {'(' * n}1{')' * n}", LEVELS - 2),
        (lambda n: f"print {'-' * n}1", LEVELS - 2),
        (lambda n: f"print {'not(' * n}true{')' * n}", LEVELS - 2),
        (lambda n: "print 1" + " + 1" * n, LEVELS),
        (lambda n: "rows | project x = j" + ".a" * n, LEVELS),
        (lambda n: "rows" + " | where i > 1" * n, OPERATORS),
        (lambda n: f"let t = rows | project i; rows | where {' and '.join(['i in (t)'] * n)}",
         scope.SUBQUERIES_MAX),
        (lambda n: "let f = () { " * n + "1" + " }; 1" * (n - 1) + " }; print 1", LEVELS - 1),
        (lambda n: "rows" + " | extend i = i + 1" * n, OPERATORS),
        (lambda n: "rows" + " | summarize i = max(i) by id" * n, OPERATORS),
        (lambda n: "union " + ", ".join(["rows"] * n), parser.SOURCES_MAX),
        (lambda n: f"{'(' * n}rows{')' * n} | count", LEVELS - 1),
        (lambda n: "print '" + "x" * n + "'", tokens.TEXT_CHARACTERS_MAX - 8),
        (lambda n: f"range x from 1 to {n} step 1", constants.ROWS_MAX),
        (lambda n: f"rows | make-series count() on i from 0 to {n} step 1", make_series.POINTS_MAX),
        (lambda n: "datatable(x:long)[" + ",".join(["1"] * n) + "]", constants.ROWS_MAX),
        (lambda n: "rows | where i in (" + ",".join(["1"] * n) + ")", 4_997),
    ],
    ids=["brackets", "signs", "calls", "sums", "paths", "filters", "subqueries", "functions",
         "extends", "groups", "unions",
         "tables", "characters", "ranges", "series", "datatables", "tokens"],
)  # fmt: skip
def test_a_limit_holds_at_it_and_one_beyond(make, most: int) -> None:  # type: ignore[no-untyped-def]
    assert translated(make(most))
    with pytest.raises(KqlError, match=r"most|split"):
        translated(make(most + 1))


def test_a_thousand_conditions_are_one_flat_list() -> None:
    assert translated("rows | where " + " or ".join(["i == 1"] * 1_500)).count(" OR ") == 1_499


@pytest.mark.parametrize(
    "text",
    [
        "print " + "[" * 60_000,
        "print '" + "\\" * 60_000,
        "rows " * 9_000,
        "print " + "a." * 30_000,
        "print dynamic(" + "[" * 60_000 + ")",
        "\n" * 65_000 + "|",
        "print " + "1" * 60_000,
        "rows | project-away " + "*a" * 4_000,
        "print extract('" + "(a*)*" * 201 + "', 1, 'a')",
        "print datetime(" + "9" * 60_000 + ")",
        "/" * 65_000,
        "print " + "1e9" * 9_000,
    ],
    ids=range(12),
)
def test_texts_that_look_costly_are_not(text: str) -> None:
    started = time.process_time()

    with pytest.raises(KqlError):
        compile_query(text, {"rows": TABLE}, 0)

    assert time.process_time() - started < 5


@pytest.mark.long
def test_ten_thousand_damaged_texts_are_translated_or_refused() -> None:
    """No text makes anything but a tree or a KqlError; most are queries with a damage or two."""
    chance = random.Random(11)
    texts = [f"rows | extend x = {case[0]}" for case in SCALARS]
    texts += [f"rows | summarize {case[0]}" for case in AGGREGATES] + [c[0] for c in QUERIES]
    pieces = sorted({piece for text in texts for piece in text.split()})
    refused = 0

    for _ in range(10_000):
        text = chance.choice(texts)
        for _ in range(chance.randint(1, 3)):
            start = chance.randint(0, len(text))
            end = min(len(text), start + chance.choice((0, 1, 5)))
            text = text[:start] + chance.choice(pieces) * chance.randint(0, 2) + text[end:]
        refused += is_refused(text)

    assert 5_000 < refused < 9_900


@settings(max_examples=examples(300))
@given(st.text(max_size=200))
def test_any_text_is_translated_or_refused(text: str) -> None:
    is_refused(text)


def is_refused(text: str) -> bool:
    """Tell whether a text is refused, which it must be with place and hint."""
    try:
        compile_query(text, {"rows": TABLE}, 0)
    except KqlError as error:
        return error.line >= 1 and error.column >= 1 and bool(error.hint)
    return False


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"let a{n + 1} = strcat(a{n}, a{n});" for n in range(30)) + "print a30",
        "".join(f"let t{n + 1} = t{n} | union t{n};" for n in range(15)) + "t15",
        "".join(f"let a{n + 1} = -(-(-(a{n} + 1)));" for n in range(30)) + "print a30",
        "rows | project i | extend " + ", ".join(f"a{n + 1} = a{n} + 1" for n in range(60)),
        "let f0 = (x:long) { x };"
        + "".join(f"let f{n + 1} = (x:long) {{ f{n}(x) + f{n}(x) }};" for n in range(30))
        + "print f30(1)",
        "let f0 = () { rows };"
        + "".join(f"let f{n + 1} = () {{ union f{n}(), f{n}() }};" for n in range(9))
        + "union "
        + ", ".join(["f9()"] * 9),
        "let x0 = toscalar(rows | count);"
        + "".join(f"let x{n + 1} = x{n} + x{n};" for n in range(30))
        + "print x30",
    ],
    ids=[
        *("doubled texts", "doubled tables", "deeper and deeper", "each from the one before"),
        *("doubled functions", "doubled functions of tables", "doubled queries"),
    ],
)
def test_names_that_stand_for_much_are_refused(text: str) -> None:
    first = "i" if "rows" in text else "1"
    text = text.replace("a0", first).replace("t0", "rows")

    with pytest.raises(KqlError, match=r"at most|too many"):
        compile_query(text, {"rows": TABLE}, 0)


@pytest.mark.parametrize(
    "text",
    [
        "format_datetime(todatetime({}), 'yyyy-MM-dd HH:mm:ss')",
        "abs({})",
        "({} == (b == b))",
        "tostring(todatetime({}))",
    ],
)
def test_nested_calls_that_repeat_their_arguments_stay_small(text: str) -> None:
    for levels in (3, 12, 20, 40):
        expression = {"abs({})": "i", "({} == (b == b))": "b"}.get(text, "tostring(d)")
        for _ in range(levels):
            expression = text.replace("{}", expression)
        with suppress(KqlError):
            state = compile_query(f"rows | project x = {expression}", {"rows": TABLE}, 0)
            for engine in ENGINES:
                with suppress(KqlError):
                    assert len(to_sql(state, engine)) < 500_000


@pytest.mark.parametrize(
    "text", ["9" * 400 + "d", "9" * 400 + ".5d", "1e999", "-long(-9223372036854775808)"]
)
def test_numbers_beyond_all_ranges_are_refused_or_null(text: str) -> None:
    with suppress(KqlError):
        assert "9223372036854775808" not in translated(f"print x = {text}").replace("-9223", "")
