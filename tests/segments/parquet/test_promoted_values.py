"""Text in promoted columns: read as docs/segment-format.md states, wherever it is read."""

import json
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from segments.parquet.columns.promoted import promote
from segments.parquet.columns.promoted_values import JsonValue, Unconvertible, convert
from segments.parquet.spec import PromotedColumn
from tests.support.examples import examples

DOCUMENT = Path(__file__).parents[3] / "docs" / "segment-format.md"
FLAGS = re.ASCII | re.IGNORECASE
CHARACTERS_MAX = 1_000
LONG_MAX = 2**63 - 1
NANOS = 10**9


def documented_grammars() -> dict[str, re.Pattern[str]]:
    """Read each type's regular expression out of the document."""
    blocks = re.findall(r"```\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    (block,) = (block for block in blocks if block.startswith("int, long"))
    rules = dict(line.strip().split(":", 1) for line in block.strip().splitlines())
    parts = {name: rule.strip() for name, rule in rules.items() if name.isupper()}
    grammars: dict[str, re.Pattern[str]] = {}
    for names, rule in rules.items():
        for part, text in parts.items():
            rule = rule.replace(part, text)
        grammars |= {name: re.compile(rule.strip(), FLAGS) for name in names.split(", ")}
    return grammars


GRAMMARS = documented_grammars()
TYPES = ("int", "long", "timespan", "real", "datetime", "guid")
# What Python's conversions take beyond the grammar: other scripts' digits, underscores, blanks.
ALPHABET = "0123456789+-._eE:TZ {}\n\tinfatyNabcdef٣३𝟙１−²½ſ\u2028"
UUID_TEXT = "0198a7c0-0000-7000-8000-000000000001"


def value_of(kql_type: str, value: JsonValue) -> JsonValue:
    """Convert a value; None where it is refused."""
    try:
        return convert(value, kql_type)
    except Unconvertible:
        return None


@pytest.mark.parametrize("kql_type", TYPES)
@given(text=st.text(ALPHABET, max_size=40))
def test_text_outside_the_documented_grammar_is_refused(kql_type: str, text: str) -> None:
    if not GRAMMARS[kql_type].fullmatch(text):
        assert value_of(kql_type, text) is None


@pytest.mark.parametrize(
    ("kql_type", "text"),
    [
        ("long", "1_000"),
        ("long", "٣"),
        ("long", " 7"),
        ("long", "7\n"),
        ("long", "7.0"),
        ("long", ""),
        ("long", "0" * (CHARACTERS_MAX + 1)),
        ("timespan", "1_0"),
        ("real", "1_0.5"),
        ("real", "१.५"),
        ("real", "1e999"),
        ("real", "."),
        ("real", "infinit"),
        ("datetime", "2026-W01-1"),
        ("datetime", "20260101"),
        ("datetime", "2026-01-01T24:00:00Z"),
        ("datetime", "2026-02-30"),
        ("datetime", "1677-09-21T00:12:43.145224191Z"),
        ("guid", "0198a7c0_0000_7000_8000_00000000"),
        ("guid", "0-198a7c0000070008000000000000001"),
        ("guid", "{" + UUID_TEXT),
    ],
)
def test_what_python_alone_would_read_is_refused(kql_type: str, text: str) -> None:
    assert value_of(kql_type, text) is None


@given(text=st.from_regex(GRAMMARS["long"], fullmatch=True))
@example(text=str(LONG_MAX))
@example(text=str(LONG_MAX + 1))
@example(text=str(-LONG_MAX - 1))
@example(text=str(-LONG_MAX - 2))
@example(text="0" * CHARACTERS_MAX)
def test_a_whole_number_is_its_digits_within_its_type(text: str) -> None:
    number = 0
    for digit in text.lstrip("+-"):
        number = number * 10 + "0123456789".index(digit)
    number = -number if text.startswith("-") else number
    is_long = -LONG_MAX - 1 <= number <= LONG_MAX
    is_int = -(2**31) <= number < 2**31

    assert value_of("long", text) == (number if is_long else None)
    assert value_of("timespan", text) == (number if is_long else None)
    assert value_of("int", text) == (number if is_int else None)


@given(text=st.from_regex(GRAMMARS["real"], fullmatch=True))
@example(text="1.7976931348623157e308")
@example(text="1.7976931348623159e308")
@example(text="-1e-400")
def test_a_real_number_is_the_nearest_double(text: str) -> None:
    exponent = re.search("(?<=[eE]).*", text)
    assume(exponent is None or abs(int(exponent[0])) <= 5_000)

    found = value_of("real", text)

    if "n" in text.lower():
        # Infinity and NaN.
        assert repr(found) == repr(float(text))
        return
    try:
        assert found == float(Fraction(text))
    except OverflowError:
        assert found is None


@given(
    day=st.dates(date(1678, 1, 1), date(2261, 12, 31)),
    second=st.integers(0, 86_399),
    nanos=st.integers(0, NANOS - 1),
    zone_minutes=st.integers(-1_439, 1_439),
    colon=st.sampled_from(["", ":"]),
)
def test_a_time_keeps_its_nanoseconds(
    day: date, second: int, nanos: int, zone_minutes: int, colon: str
) -> None:
    hour, minute = divmod(abs(zone_minutes), 60)
    zone = f"{'-' if zone_minutes < 0 else '+'}{hour:02}{colon}{minute:02}"
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    local = ((day - date(1970, 1, 1)).days * 86_400 + second) * NANOS + nanos

    found = value_of("datetime", f"{day.isoformat()}T{clock}.{nanos:09}99{zone}")

    assert found == local - zone_minutes * 60 * NANOS


@given(text=st.from_regex(GRAMMARS["guid"], fullmatch=True))
@example(text="URN:UUID:" + UUID_TEXT.upper())
def test_a_uuid_is_its_digits_in_lower_case(text: str) -> None:
    digits = re.sub("urn:uuid:|[^0-9a-f]", "", text.lower())

    found = value_of("guid", text)

    assert isinstance(found, str)
    assert found.replace("-", "") == digits
    assert [len(group) for group in found.split("-")] == [8, 4, 4, 4, 12]


@settings(max_examples=examples(50))
@given(
    kql_type=st.sampled_from(TYPES),
    values=st.lists(
        st.text(ALPHABET, max_size=6)
        | st.integers(-LONG_MAX, LONG_MAX).map(str)
        | st.integers(-LONG_MAX, LONG_MAX)
    ),
)
def test_plain_and_dictionary_columns_read_text_alike(
    kql_type: str, values: list[str | int]
) -> None:
    texts = pa.array([json.dumps({"k": v}, separators=(",", ":")) for v in values], pa.string())
    column = PromotedColumn("c", kql_type, "record", "k")

    ((plain,), plain_refused) = promote(pa.record_batch({"attributes": texts}), [column])
    packed_texts = pa.record_batch({"attributes": texts.dictionary_encode()})
    ((packed,), _) = promote(packed_texts, [column])

    expected = [value_of(kql_type, value) for value in values]
    assert values_in(plain) == values_in(packed) == list(map(repr, expected))
    assert plain_refused.total() == expected.count(None)


def values_in(column: "pa.Array[Any]") -> list[str]:
    """List a column's values as text, so that NaN equals NaN; times in nanoseconds."""
    is_time = pa.types.is_timestamp(column.type)
    return list(map(repr, (column.cast(pa.int64()) if is_time else column).to_pylist()))
