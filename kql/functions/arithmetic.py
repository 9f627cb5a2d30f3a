"""Types of arithmetic and comparisons, and the conversions between types that they bring."""

from dataclasses import dataclass
from typing import NoReturn

from kql.errors import KqlError
from kql.functions import dynamics, spans
from kql.scope import Argument
from kql.typed import Apply, Constant, Expression, Logic, Not
from kql.types import (
    DATETIME_MAX,
    DATETIME_MIN,
    INT_MAX,
    LONG_MAX,
    NUMBERS,
    ORDERED,
    KqlType,
    fits,
    is_narrower,
    literal,
)

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
    ("timespan", "string"): "timespan_to_string",
}
_CONVERSION_HINTS: dict[tuple[KqlType, KqlType], str] = {
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
    """Return a value as another type, as tolong() and its like do: null if that fails."""
    if value.type == to:
        return value
    if isinstance(value, Constant) and (folded := _folded_conversion(value, to)) is not None:
        return folded
    if value.type == "dynamic":
        return _from_dynamic(value, to, offset, source)
    if value.type == "string" and to == "timespan":
        return spans.from_text(value)
    if value.type == "string" and to in dynamics.PATTERNS:
        return dynamics.from_text(value, to, offset, source)
    template = _SIMPLE.get((value.type, to))
    if template is None:
        hint = _CONVERSION_HINTS.get(
            (value.type, to), "there is no such conversion: docs/kql.md lists them"
        )
        raise KqlError(offset, f"{value.type} does not become {to}", hint)
    return Apply(template, (value,), to, offset, source)


def widen(value: Expression, to: KqlType) -> Expression | None:
    """Return a value as the type that an argument needs, or None if a query has to convert it."""
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
    if to in NUMBERS:
        return dynamics.as_number(value, to, offset, source)
    text = dynamics.as_text(value, offset, source)
    return text if to == "string" else convert(text, to, offset, source)


def _folded_conversion(value: Constant, to: KqlType) -> Constant | None:
    """Return a constant of another type; None if an engine has to convert it."""
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


_TEMPLATES = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_COMPARED = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_HINTS: dict[frozenset[str], str] = {
    frozenset(["datetime", "string"]): "write datetime(2026-01-31) or todatetime()",
    frozenset(
        ["timespan", "long"]
    ): "of duration_ns there is `duration`, a timespan; or write n * 1ms",
    frozenset(["timespan", "int"]): "multiply by a unit: n * 1ms",
    frozenset(["string", "long"]): "convert one: tolong() or tostring()",
    frozenset(
        ["string", "int"]
    ): "a number has no quotes; the words of severity_number are severity",
    frozenset(["string", "guid"]): "write guid(...) or toguid()",
    frozenset(["string"]): "use strcat() to join texts",
}


@dataclass(frozen=True, slots=True)
class Operands:
    """Both sides of an operator, which is named as the query writes it."""

    left: Argument
    right: Argument
    operator: str
    offset: int

    def refuse(self, hint: str = "") -> NoReturn:
        """Refuse the types of both sides."""
        types = (self.left.value.type, self.right.value.type)
        if "dynamic" in types:
            hint = hint or "convert it first: tolong(), todouble(), tostring()"
        hint = hint or _HINTS.get(frozenset(types), "convert one of them")
        shown = f"{types[0]} {self.operator} {types[1]}"
        raise KqlError(self.offset, f"{shown} is not defined", hint)


def arithmetic(operands: Operands) -> Expression:
    """Return `left operator right` for + - * / %."""
    left, right, operator = operands.left.value, operands.right.value, operands.operator
    pair = (left.type, right.type)
    if left.type in NUMBERS and right.type in NUMBERS:
        type_: KqlType = "real" if "real" in pair else "long"
        left, right = (convert(v, type_, operands.offset, operator) for v in (left, right))
        return _applied(operands, left, right, type_, "_real" if type_ == "real" else "")
    if pair == ("datetime", "datetime") and operator == "-":
        return _applied(operands, left, right, "timespan", "_datetimes")
    if pair == ("datetime", "timespan") and operator in "+-":
        return _applied(operands, left, right, "datetime", "_datetime")
    if pair == ("timespan", "datetime") and operator == "+":
        return _applied(operands, right, left, "datetime", "_datetime")
    if pair == ("timespan", "timespan") and operator in "+-%":
        return _applied(operands, left, right, "timespan", "")
    if pair == ("timespan", "timespan") and operator == "/":
        return _applied(operands, left, right, "real", "_timespans")
    return _scaled(operands)


def _scaled(operands: Operands) -> Expression:
    """Return a timespan times or divided by a number."""
    left, right, operator = operands.left.value, operands.right.value, operands.operator
    if operator == "*" and right.type == "timespan":
        left, right = right, left
    is_scaled = left.type == "timespan" and right.type in NUMBERS and operator in "*/"
    if not is_scaled or (operator == "/" and operands.right.value.type not in NUMBERS):
        operands.refuse()
    suffix = "_timespan" if right.type == "real" else ""
    return _applied(operands, left, right, "timespan", suffix)


def _applied(
    operands: Operands, left: Expression, right: Expression, type_: KqlType, suffix: str
) -> Expression:
    if isinstance(left, Constant) and isinstance(right, Constant):
        folded = _folded(operands.operator, left, right, type_)
        if folded is not None:
            return folded
    template = _TEMPLATES[operands.operator] + suffix
    return Apply(template, (left, right), type_, operands.offset, operands.operator)


def _folded(operator: str, left: Constant, right: Constant, type_: KqlType) -> Constant | None:
    """Return the result over constants if the query's bounds may need it: whole and exact."""
    a, b = left.value, right.value
    if not isinstance(a, int) or not isinstance(b, int) or operator in "/%":
        return None
    if left.type == "datetime" and right.type == "timespan":
        # Whole microseconds: down, as engines do it.
        value = a + (b if operator == "+" else -b) // 1_000
    elif left.type == right.type == "datetime":
        value = (a - b) * 1_000
    else:
        value = {"+": a + b, "-": a - b, "*": a * b}[operator]
    low, high = _RANGES[type_]
    return Constant(value if low <= value <= high else None, type_)


_RANGES: dict[KqlType, tuple[int, int]] = {
    "int": (-INT_MAX - 1, INT_MAX),
    "long": (-LONG_MAX - 1, LONG_MAX),
    "timespan": (-LONG_MAX - 1, LONG_MAX),
    "datetime": (DATETIME_MIN, DATETIME_MAX),
}


def negated(operand: Argument) -> Expression:
    """Return a number or timespan with its sign turned."""
    value = operand.value
    if value.type == "int":
        value = convert(value, "long", operand.offset, "-")
    if value.type not in (*NUMBERS, "timespan"):
        operand.fail(f"-{value.type} is not defined", "convert it to a number first")
    if isinstance(value, Constant) and isinstance(value.value, int | float):
        if isinstance(value.value, float) or -value.value <= _RANGES[value.type][1]:
            return Constant(-value.value, value.type)
        return Constant(None, value.type)
    return Apply("negate", (value,), value.type, operand.offset, "-")


def unified(operands: Operands) -> tuple[Expression, Expression, KqlType]:
    """Return both sides as one type: of numbers the wider, of a dynamic the other side's."""
    left, right, offset = operands.left.value, operands.right.value, operands.offset
    types = (left.type, right.type)
    if types == ("dynamic", "dynamic"):
        operands.refuse("convert one side: tostring(), tolong()")
    if fits(left.type, right.type) or right.type == "dynamic" or fits(right.type, left.type):
        type_ = left.type if fits(right.type, left.type) or right.type == "dynamic" else right.type
    elif left.type == "dynamic":
        type_ = right.type
    else:
        operands.refuse()
    source = operands.operator
    return convert(left, type_, offset, source), convert(right, type_, offset, source), type_


def compared(operands: Operands) -> Expression:
    """Return `left operator right` for < <= > >=, which null makes null and NaN false."""
    template = _COMPARED[operands.operator]
    if (whole := _with_whole(operands, template)) is not None:
        return whole
    left, right, type_ = unified(operands)
    if type_ not in ORDERED:
        operands.refuse(f"{type_} has no order")
    suffix = "_real" if type_ == "real" else ""
    if type_ == "string":
        left, right = or_empty(left), or_empty(right)
    return Apply(template + suffix, (left, right), "bool", operands.offset, operands.operator)


_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _with_whole(operands: Operands, template: str) -> Expression | None:
    """Return the comparison of a dynamic value with a whole number; None of other sides."""
    left, right = operands.left.value, operands.right.value
    if right.type == "dynamic":
        left, right, template = right, left, _TURNED.get(template, template)
    if left.type != "dynamic" or right.type not in dynamics.WHOLES:
        return None
    other = convert(right, "long", operands.offset, operands.operator)
    return dynamics.compared_with_whole(template, left, other, operands.offset, operands.operator)


def equal(operands: Operands) -> Expression:
    """Return `left == right`."""
    return _equality(operands, "eq")


def unequal(operands: Operands) -> Expression:
    """Return `left != right`."""
    return _equality(operands, "ne")


def _equality(operands: Operands, template: str) -> Expression:
    if (whole := _with_whole(operands, template)) is not None:
        return whole
    left, right, type_ = unified(operands)
    if isinstance(left, Constant) and not isinstance(right, Constant):
        left, right = right, left
    if type_ == "string":
        if isinstance(right, Constant) and right.value == "":
            template = {"eq": "isempty", "ne": "isnotempty"}[template]
            return Apply(template, (left,), "bool", operands.offset, operands.operator)
        if not isinstance(right, Constant):
            left, right = or_empty(left), or_empty(right)
    elif type_ == "real" and not _is_finite(right):
        template += "_real"
    elif not isinstance(right, Constant) or right.value is None:
        template += "_pair"
    return Apply(template, (left, right), "bool", operands.offset, operands.operator)


def _is_finite(value: Expression) -> bool:
    # NaN is equal to nothing in KQL, and to itself in SQL.
    return isinstance(value, Constant) and value.value is not None and value.value == value.value


def between(
    left: Argument, low: Argument, high: Argument, operator: str, offset: int
) -> Expression:
    """Return `left between (low .. high)`, both ends included."""
    if low.value.type == "datetime" and high.value.type == "timespan":
        # KQL lets the end be a length.
        end = arithmetic(Operands(low, high, "+", offset))
        high = Argument(end, high.offset)
    inside = Logic(
        "and",
        (
            compared(Operands(left, low, ">=", offset)),
            compared(Operands(left, high, "<=", offset)),
        ),
    )
    return Not(inside) if operator.startswith("!") else inside
