"""Rules over series: JSON arrays of numbers, element by element and as a whole."""

from collections.abc import Callable

from kql.functions.arguments import Arguments, need
from kql.functions.arithmetic import convert
from kql.functions.rules.arrays import as_json
from kql.scope import Argument
from kql.typed import Apply, Expression
from kql.types import NUMBERS, KqlType


def _call(name: str, template: str, type_: KqlType, *arguments: Expression) -> Apply:
    return Apply(template, arguments, type_, 0, name)


def _series(argument: Argument) -> Expression:
    if argument.value.type != "dynamic":
        argument.fail(f"a series is dynamic, this is {argument.value.type}",
                      "write dynamic([1, 2]) or make_list(...)")  # fmt: skip
    return argument.value


def _both(name: str, arguments: Arguments) -> tuple[Expression, Expression]:
    """Return two series; if one side is a number, it is repeated for each element."""
    a, b = arguments
    if a.value.type in NUMBERS and b.value.type == "dynamic":
        return _call(name, "series_like", "dynamic", b.value, as_json(name, a)), b.value
    if b.value.type in NUMBERS and a.value.type == "dynamic":
        return a.value, _call(name, "series_like", "dynamic", a.value, as_json(name, b))
    return _series(a), _series(b)


def _pairs(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    return _call(name, name, "dynamic", *_both(name, arguments))


def _each(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    return _call(name, name, "dynamic", _series(arguments[0]))


def _whole(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    series = _series(arguments[0])
    if name == "series_magnitude":
        squares = _call(name, "series_multiply", "dynamic", series, series)
        return _call(name, "sqrt", "real", _call(name, "array_sum", "real", squares))
    template = {"series_sum": "array_sum"}.get(name, name)
    return _call(name, template, "real", series)


def _dot_product(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    products = _call(name, "series_multiply", "dynamic", *_both(name, arguments))
    return _call(name, "array_sum", "real", products)


def _fill_const(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2)
    value = arguments[1]
    if value.value.type not in NUMBERS:
        value.fail(f"a number is needed, this is {value.value.type}", "write 0.0")
    number = convert(value.value, value.value.type, value.offset, name)
    filled = as_json(name, Argument(number, value.offset))
    return _call(name, name, "dynamic", _series(arguments[0]), filled)


def _with_nulls(name: str, arguments: Arguments, offset: int) -> Expression:
    """Return a list of JSON texts, of which none is null, in place of one of values."""
    need(name, arguments, offset, 1)
    return Apply("make_list_dynamic", (as_json("", arguments[0]),), "dynamic", offset, name)


def _make_bag(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2 if name == "make_bag_if" else 1)
    bags: Expression = _series(arguments[0])
    if name == "make_bag_if":
        condition = arguments[1].value
        if condition.type != "bool":
            arguments[1].fail(f"a condition is needed, this is {condition.type}", "compare it")
        bags = Apply("only_where", (bags, condition), "dynamic")
    listed = Apply("make_list_dynamic", (bags,), "dynamic", offset, name)
    return _call("", "merged_bags", "dynamic", listed)


RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "series_pairs": _pairs,
    "series_each": _each,
    "series_whole": _whole,
    "series_dot_product": _dot_product,
    "series_fill_const": _fill_const,
    "make_list_with_nulls": _with_nulls,
    "make_bag": _make_bag,
}
