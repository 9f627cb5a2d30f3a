"""Arguments of a call: their number, conversions, and those known before the query runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, repeat
from math import isfinite

from kql import regex
from kql.catalog.signatures import Function, signature
from kql.errors import KqlError, quoted
from kql.functions.arithmetic import Operands, convert, or_empty, text, unified, widen
from kql.scope import Argument
from kql.typed import Apply, Columns, ColumnValue, Constant, Expression
from kql.types import KqlType

Arguments = list[Argument]


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call of a function that a rule writes out."""

    name: str
    arguments: Arguments
    offset: int = 0

    def apply(self, template: str, type_: KqlType, *arguments: Expression) -> Apply:
        """Return a part of what the call is made of, or all of it."""
        return Apply(template, arguments, type_, self.offset, self.name)


def taken(function: Function, arguments: Arguments, offset: int) -> Arguments:
    """Return the arguments as the words of a function's parameters convert them."""
    parameters = signature(function.taken, function.name).parameters
    low = sum(not parameter.is_optional for parameter in parameters)
    _need(function.name, arguments, offset, low, parameters[-1].most or len(parameters))
    every = chain(parameters, repeat(parameters[-1]))
    return [
        replace(argument, value=_WORDS[parameter.type](function.name, argument))
        for parameter, argument in zip(every, arguments, strict=False)
    ]


def whole(number: int | None) -> Constant:
    """Return a whole number that is known beforehand."""
    return Constant(number, "long")


def as_json(name: str, argument: Argument) -> Expression:
    """Return a value as JSON text: times and timespans as texts, null as null."""
    value = argument.value
    if value.type in _JSON:
        return Apply(_JSON[value.type], (value,), "dynamic", argument.offset, name)
    shown = convert(value, "string", argument.offset, name)
    return Apply("quoted_json", (shown,), "dynamic", argument.offset, name)


_JSON = {
    "bool": "bool_to_json", "int": "long_to_json", "long": "long_to_json", "real": "real_to_json",
    "string": "string_to_json", "dynamic": "dynamic_to_json",
}  # fmt: skip


def _as(type_: KqlType) -> Callable[[str, Argument], Expression]:
    return lambda name, argument: convert(argument.value, type_, argument.offset, name)


def _of_type(type_: KqlType, what: str, hint: str) -> Callable[[str, Argument], Expression]:
    """Return what takes values that widen to a type, and refuses others in these words."""

    def value(name: str, argument: Argument) -> Expression:
        widened = widen(argument.value, type_)
        if widened is None:
            argument.fail(what.format(name=name, type=argument.value.type), hint)
        return widened

    return value


series = _of_type(
    "dynamic", "a series is dynamic, this is {type}", "write dynamic([1, 2]) or make_list(...)"
)
whole_number = _of_type("long", "a whole number is needed, this is {type}", "use tolong()")
time = _of_type("datetime", "a time is needed, this is {type}", "use todatetime()")
_string = _of_type("string", "it takes a text, not {type}", "use tostring()")
_WORDS: dict[str, Callable[[str, Argument], Expression]] = {
    "any": lambda _name, argument: argument.value,
    "text": lambda name, argument: text(argument.value, argument.offset, name),
    "string": lambda name, argument: or_empty(_string(name, argument)),
    "json": as_json,
    "array": _of_type(
        "dynamic", "{name} takes dynamic values, this is {type}",
        "write parse_json(...) or dynamic([...])",
    ),
    "series": series,
    "whole": whole_number,
    "time": time,
    "as_string": _as("string"),
    "as_datetime": _as("datetime"),
    "as_timespan": _as("timespan"),
}  # fmt: skip


def _need(name: str, arguments: Arguments, offset: int, low: int, high: int) -> None:
    if not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        raise KqlError(
            offset, f"{name} has {len(arguments)} arguments", f"it takes {expected} of them"
        )


def constant_text(argument: Argument) -> str:
    """Return a text that is known beforehand."""
    value = argument.value
    if not isinstance(value, Constant) or value.type != "string":
        argument.fail("this has to be known before the query runs", "write a text in quotes")
    return str(value.value)


def constant_whole(argument: Argument, low: int, high: int) -> int:
    """Return a whole number that is known beforehand and within bounds."""
    value = argument.value
    if not isinstance(value, Constant) or value.type not in ("int", "long"):
        argument.fail("this has to be known before the query runs", "write a whole number")
    number = int(value.value) if value.value is not None else low - 1
    if not low <= number <= high:
        argument.fail(f"{value.value} is out of range", f"write {low:,} to {high:,}")
    return number


def constant_number(argument: Argument, hint: str) -> int | float:
    """Return a number, a time or a timespan that is known beforehand and finite."""
    value = argument.value.value if isinstance(argument.value, Constant) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        argument.fail("a constant is needed", hint)
    return value


def pattern(text: str, argument: Argument) -> Constant:
    """Return a regular expression that every engine evaluates alike."""
    try:
        regex.group_count(text)
    except ValueError as error:
        argument.fail(f"{quoted(text)} is not a regular expression of the subset", str(error))
    return Constant(text, "string", "regex")


def one_type(name: str, arguments: Arguments) -> list[Expression]:
    """Return the arguments as the one type that all of them fit."""
    widest = arguments[0]
    for argument in arguments[1:]:
        left, _, type_ = unified(Operands(widest, argument, name, argument.offset))
        widest = Argument(left if left.type == type_ else argument.value, argument.offset)
    to = widest.value.type
    return [convert(a.value, to, a.offset, name) for a in arguments]


def with_flags(arguments: list[Argument], columns: Columns) -> list[Argument]:
    """Add the flags of a point to the arguments of rate() over the columns of a dataset."""
    is_point = columns.get("flags") == "long" and "metric_type" in columns
    if len(arguments) != 3 or not is_point:
        return arguments
    return [*arguments, Argument(ColumnValue("flags", "long"), arguments[0].offset)]
