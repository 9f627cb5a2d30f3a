"""Conversions between types: those that a query writes, and those that happen by themselves."""

from segplane.kql.errors import KqlError
from segplane.kql.typed import Apply, Constant, Expression
from segplane.kql.types import NUMBERS, KqlType, is_narrower, literal

# What a text must look like to be read as a type; the same as for promoted columns.
_WHOLE = r"\A[+-]?[0-9]{1,30}(?:[.]0{1,30})?\z"
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
_SIMPLE: dict[tuple[KqlType, KqlType], str] = {
    ("int", "long"): "to_long",
    ("int", "real"): "to_real",
    ("long", "real"): "to_real",
    ("long", "int"): "long_to_int",
    ("real", "int"): "real_to_int",
    ("real", "long"): "real_to_long",
    ("bool", "int"): "bool_to_int",
    ("bool", "long"): "bool_to_long",
    ("bool", "real"): "bool_to_real",
    ("int", "bool"): "to_bool",
    ("long", "bool"): "to_bool",
    ("real", "bool"): "to_bool",
    ("bool", "string"): "to_string",
    ("int", "string"): "to_string",
    ("long", "string"): "to_string",
    ("real", "string"): "real_to_string",
    ("guid", "string"): "same",
    ("datetime", "string"): "datetime_to_string",
}
_HINTS: dict[tuple[KqlType, KqlType], str] = {
    ("timespan", "string"): "divide it by a unit first: strcat(duration / 1ms, ' ms')",
    ("timespan", "long"): "divide it by a unit: duration / 1ms is a real",
    ("timespan", "real"): "divide it by a unit: duration / 1ms is a real",
    ("datetime", "long"): "subtract a time and divide: (timestamp - datetime(1970-01-01)) / 1s",
    ("long", "datetime"): "add to a time: datetime(1970-01-01) + seconds * 1s",
    (
        "long",
        "timespan",
    ): "multiply by a unit: milliseconds * 1ms; of duration_ns there is `duration`",
    ("int", "timespan"): "multiply by a unit: milliseconds * 1ms",
}


def convert(value: Expression, to: KqlType, offset: int, source: str) -> Expression:
    """Return a value as another type, as tolong() and its like do: null where that fails."""
    if value.type == to:
        return value
    if isinstance(value, Constant) and (folded := _folded(value, to)) is not None:
        return folded
    if value.type == "dynamic":
        return _from_dynamic(value, to, offset, source)
    if value.type == "string" and to in PATTERNS:
        patterns = (Constant(p, "string", "regex") for p in PATTERNS[to])
        return Apply(f"string_to_{to}", (value, *patterns), to, offset, source)
    template = _SIMPLE.get((value.type, to))
    if template is None:
        hint = _HINTS.get((value.type, to), "there is no such conversion: docs/kql.md lists them")
        raise KqlError(offset, f"{value.type} does not become {to}", hint)
    return Apply(template, (value,), to, offset, source)


def widen(value: Expression, to: KqlType) -> Expression | None:
    """Return a value as what an argument needs, or None where a query has to say how."""
    if value.type == to or (
        value.type == "dynamic" and to in ("string", "bool", "datetime", "guid")
    ):
        return convert(value, to, 0, "")
    return convert(value, to, 0, "") if is_narrower(value.type, to) else None


def text(value: Expression, offset: int, source: str) -> Expression:
    """Return a value as a text that is empty rather than null."""
    return or_empty(convert(value, "string", offset, source))


def or_empty(value: Expression) -> Expression:
    """Return a text with '' in place of null."""
    return value if isinstance(value, Constant) else Apply("or_empty", (value,), "string")


def _from_dynamic(value: Expression, to: KqlType, offset: int, source: str) -> Expression:
    as_text = Apply("dynamic_to_string", (value,), "string", offset, source)
    if to == "timespan":
        hint = "take it as a number and multiply by a unit: tolong(attributes.wait) * 1ms"
        raise KqlError(offset, "dynamic does not become timespan", hint)
    return as_text if to == "string" else convert(as_text, to, offset, source)


def _folded(value: Constant, to: KqlType) -> Constant | None:
    """Return a constant of another type; None where an engine has to convert it."""
    if value.value is None:
        return Constant(None if to != "string" else "", to)
    if value.type in NUMBERS and to in NUMBERS and is_narrower(value.type, to):
        return Constant(float(value.value) if to == "real" else value.value, to)
    if value.type == "string" and to in ("datetime", "guid"):
        try:
            return Constant(literal(to, str(value.value)), to)
        except ValueError:
            return None
    return None
