"""Conversions of dynamic values: JSON numbers by value, texts by the grammars of the types.

A conversion is one node, `dynamic_to_long` or its like, which `expanded` writes out for engines. A
whole JSON number is exact as a long; other numbers are reals. Compared with a whole number below
2^53, every JSON number may be taken as a real, since rounding moves none across it.
"""

from dataclasses import replace

from kql.errors import KqlError, quoted
from kql.typed import Apply, Choice, Constant, Expression, Logic
from kql.types import NUMBERS, KqlType

# Patterns of texts that are read as a type; the same as for promoted columns.
_WHOLE = r"\A[+-]?0*[0-9]{1,30}(?:[.]0{1,30})?\z"
_REAL = r"(?i)\A[+-]?(?:(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)\z"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_ZONE = r"(?:z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
PATTERNS: dict[KqlType, tuple[str, ...]] = {
    "int": (_WHOLE,),
    "long": (_WHOLE,),
    "real": (_REAL,),
    # Whole, with a clock, with a zone.
    "datetime": (
        rf"(?i)\A{_DAY}(?:[t ]{_CLOCK}{_ZONE}?)?\z",
        r"(?i)[t ]",
        rf"(?i){_CLOCK}{_ZONE}\z",
    ),
    "guid": (r"(?i)\A[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\z",),
    "bool": (),
}
WHOLES: tuple[KqlType, ...] = ("int", "long")
# The first whole number that a real shares with its neighbour.
_EXACT_MAX = 2**53
# The greatest real that is a long.
_LONG_REAL_MAX = float(2**63 - 1024)


def from_text(text: Expression, to: KqlType, offset: int, source: str) -> Expression:
    """Return a text as another type; null if it is not a value of it."""
    patterns = (Constant(p, "string", "regex") for p in PATTERNS[to])
    return Apply(f"string_to_{to}", (text, *patterns), to, offset, source)


def as_text(value: Expression, offset: int = 0, source: str = "") -> Expression:
    """Return a dynamic value as a text: a JSON string without quotes."""
    return Apply("dynamic_to_string", (value,), "string", offset, source)


def as_number(value: Expression, to: KqlType, offset: int, source: str) -> Expression:
    """Return a dynamic value as a number, as tolong() and its like do."""
    assert to in NUMBERS
    return Apply(f"dynamic_to_{to}", (value,), to, offset, source)


def compared_with_whole(
    template: str, value: Expression, other: Expression, offset: int, source: str
) -> Expression:
    """Return `value template other` by value, if the other side is a long."""
    if isinstance(other, Constant) and other.value is None:
        pair = template if template not in ("eq", "ne") else f"{template}_pair"
        return Apply(
            pair, (as_number(value, "long", offset, source), other), "bool", offset, source
        )
    if is_small(other):
        assert isinstance(other, Constant)
        number = Apply("dynamic_to_number", (value,), "real", offset, source)
        small = Constant(float(other.value or 0), "real")
        return Apply(template, (number, small), "bool", offset, source)
    return _compared_exactly(template, value, other, offset, source)


def is_small(other: Expression) -> bool:
    """Return whether a side is a constant whole number that no real is confused with."""
    return (
        isinstance(other, Constant)
        and isinstance(other.value, int)
        and -_EXACT_MAX < other.value < _EXACT_MAX
    )


def _compared_exactly(
    template: str, value: Expression, other: Expression, offset: int, source: str
) -> Expression:
    """Compare as longs if the value is one, else as reals: those lie between or beyond longs."""
    is_equality = template in ("eq", "ne")
    pair = f"{template}_pair" if is_equality else template
    whole = _whole(value)
    as_longs = Apply(pair, (whole, other), "bool", offset, source)
    between = (
        Constant(template == "ne", "bool")
        if is_equality
        else Apply(template, (_real(value), _clamped(other)), "bool", offset, source)
    )
    without = Apply(pair, (Constant(None, "long"), other), "bool", offset, source)
    is_long = Apply("isnotnull", (whole,), "bool")
    return Choice(((is_long, as_longs), (_is_number(value), between)), without, "bool")


def _clamped(other: Expression) -> Expression:
    """Return a long as a real that no number beyond longs is rounded to."""
    real = Apply("to_real", (other,), "real")
    low, high = Constant(-_LONG_REAL_MAX, "real"), Constant(_LONG_REAL_MAX, "real")
    is_below = Apply("lt", (real, low), "bool")
    is_above = Apply("gt", (real, high), "bool")
    return Choice(((is_below, low), (is_above, high)), real, "real")


def _whole(value: Expression) -> Expression:
    """Return a number or text that is a whole number within a long's range, else null."""
    real = _real(value)
    bound = Constant(_LONG_REAL_MAX, "real")
    is_whole = Logic(
        "and",
        (
            _is_number(value),
            Apply("le", (Apply("abs", (real,), "real"), bound), "bool"),
            Apply("eq", (Apply("to_real", (_truncated(real, "long"),), "real"), real), "bool"),
        ),
    )
    branches = ((_is_whole_text(value), _whole_text(value, "long")),
                (is_whole, _truncated(real, "long")))  # fmt: skip
    return Choice(branches, Constant(None, "long"), "long")


def expanded(call: Apply) -> Expression | None:
    """Return the value that a conversion of a dynamic value stands for; None of another call."""
    match call:
        case Apply(template="dynamic_to_long" | "dynamic_to_int", arguments=(value,)):
            branches = (
                (_is_whole_text(value), _whole_text(value, call.type)),
                (_is_number(value), _truncated(_number(value), call.type)),
            )
            return Choice(branches, Constant(None, call.type), call.type)
        case Apply(template="dynamic_to_real", arguments=(value,)):
            return replace(_real(value), offset=call.offset, source=call.source)
        case Apply(template="dynamic_to_number", arguments=(value,)):
            whole = Apply("to_real", (_from_whole_text(value, "long"),), "real")
            return Choice(((_is_number(value), _number(value)),), whole, "real")
        case _:
            return None


def _is_number(value: Expression) -> Expression:
    return Apply("dynamic_is_number", (value,), "bool")


def _is_whole_text(value: Expression) -> Expression:
    return Apply("match", (as_text(value), Constant(_WHOLE, "string", "regex")), "bool")


def _from_whole_text(value: Expression, to: KqlType) -> Expression:
    return from_text(as_text(value), to, 0, "")


def _whole_text(value: Expression, to: KqlType) -> Expression:
    """Return a value of which it is known that its text is a whole number."""
    return Apply(f"whole_to_{to}", (as_text(value),), to)


def _number(value: Expression) -> Expression:
    """Return a value of which it is known that it is a JSON number."""
    return Apply("number_to_real", (as_text(value),), "real")


def _real(value: Expression) -> Apply:
    patterns = (Constant(p, "string", "regex") for p in PATTERNS["real"])
    return Apply("string_to_real", (as_text(value), *patterns), "real")


def _truncated(real: Expression, to: KqlType) -> Expression:
    return Apply(f"real_to_{to}", (real,), to)


_FORBIDDEN_IN_KEYS = frozenset("'\"\\*?[]")


def is_key(text: str) -> bool:
    """Return whether all engines find a key of an object, so that a query may name it."""
    return bool(text) and _FORBIDDEN_IN_KEYS.isdisjoint(text)


def member_key(key: str | int, offset: int) -> str | int:
    """Return a key of an object or an index; refuse one that not all engines find."""
    if isinstance(key, str) and not is_key(key):
        hint = "not all engines find such keys: leave out quotes, brackets, *, ? and backslashes"
        raise KqlError(offset, f"key {quoted(key)} is not supported", hint)
    return key
