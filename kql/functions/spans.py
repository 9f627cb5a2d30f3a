"""Conversions between timespans and texts: parts of their layout, and texts read as timespans."""

from kql.typed import Apply, Choice, Constant, Expression
from kql.types import DAY_NANOS

TEXT = (
    r"\A(-?)(?:([0-9]{1,6})[.])?([01]?[0-9]|2[0-3]):([0-5]?[0-9])"
    r"(?::([0-5]?[0-9])(?:[.]([0-9]{1,7}))?)?\z"
)
_TICK_NANOS = 100
# Ticks of a part's unit, and how many such units are a unit of the next part.
PARTS = {
    "d": (DAY_NANOS // _TICK_NANOS, 1_000_000),
    "h": (36_000_000_000, 24),
    "m": (600_000_000, 60),
    "s": (10_000_000, 60),
    "f": (1, 10_000_000),
}


def part(value: Expression, letter: str) -> Expression:
    """Return a part of a timespan, whatever its sign, as a whole number."""
    unit, count = (Constant(number, "long") for number in PARTS[letter])
    return Apply("timespan_part", (value, unit, count), "long")


def padded(value: Expression, width: int) -> Expression:
    """Return a whole number as a text of at least so many digits."""
    text = Apply("to_string", (value,), "string")
    return Apply("pad_zeros", (text, Constant(width, "long")), "string")


def from_text(text: Expression) -> Expression:
    """Return a text such as -1.02:03:04.5 as a timespan; null if it is invalid."""
    pattern = Constant(TEXT, "string", "regex")
    seconds = _sum(
        (_group(text, 2), 86_400), (_group(text, 3), 3_600), (_group(text, 4), 60),
        (_group(text, 5), 1),
    )  # fmt: skip
    # The fraction has as many digits as it is written with: zeros stand behind it.
    digits = Apply("strcat", (_text_group(text, 6), Constant("0000000", "string")), "string")
    seven = Apply("slice", (digits, Constant(1, "long"), Constant(7, "long")), "string")
    nanos = _sum((seconds, 10**9), (_number(seven), _TICK_NANOS))
    is_negative = Apply("eq", (_text_group(text, 1), Constant("-", "string")), "bool")
    signed = Choice(((is_negative, Apply("negate", (nanos,), "long")),), nanos, "timespan")
    matches = Apply("match", (text, pattern), "bool")
    return Choice(((matches, signed),), Constant(None, "timespan"), "timespan")


def _sum(*terms: tuple[Expression, int]) -> Expression:
    total: Expression | None = None
    for value, factor in terms:
        term = Apply("multiply", (value, Constant(factor, "long")), "long")
        total = term if total is None else Apply("add", (total, term), "long")
    assert total is not None
    return total


def _text_group(text: Expression, number: int) -> Expression:
    pattern = Constant(TEXT, "string", "regex")
    return Apply("extract", (pattern, Constant(number, "long"), text), "string")


def _group(text: Expression, number: int) -> Expression:
    return _number(_text_group(text, number))


def _number(digits: Expression) -> Expression:
    """Return digits, or an empty text, as a whole number."""
    zero = Apply("strcat", (Constant("0", "string"), digits), "string")
    pattern = Constant(r"\A[0-9]{1,8}\z", "string", "regex")
    return Apply("string_to_long", (zero, pattern), "long")
