"""Arguments of a call: their number, and those that are known before the query runs."""

from kql import regex
from kql.errors import KqlError, quoted
from kql.functions.arithmetic import Operands, convert, unified
from kql.scope import Argument
from kql.typed import Columns, ColumnValue, Constant, Expression

Arguments = list[Argument]


def need(name: str, arguments: Arguments, offset: int, low: int, high: int | None = None) -> None:
    """Check the number of arguments."""
    high = low if high is None else high
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


def pattern(text: str, argument: Argument) -> Constant:
    """Return a regular expression that every engine evaluates alike."""
    try:
        regex.group_count(text)
    except ValueError as error:
        argument.fail(f"{quoted(text)} is no regular expression of the subset", str(error))
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
