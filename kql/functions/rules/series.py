"""Rules over series: JSON arrays of numbers, element by element and as a whole."""

from collections.abc import Callable

from kql.functions.arguments import Call, as_json, series
from kql.functions.arithmetic import convert
from kql.scope import Argument
from kql.typed import Apply, Expression
from kql.types import NUMBERS


def _both(call: Call) -> tuple[Expression, Expression]:
    """Return two series; if one side is a number, it is repeated for each element."""
    a, b = call.arguments
    if a.value.type in NUMBERS and b.value.type == "dynamic":
        return call.apply("series_like", "dynamic", b.value, as_json(call.name, a)), b.value
    if b.value.type in NUMBERS and a.value.type == "dynamic":
        return a.value, call.apply("series_like", "dynamic", a.value, as_json(call.name, b))
    return series(call.name, a), series(call.name, b)


def _pairs(call: Call) -> Expression:
    return call.apply(call.name, "dynamic", *_both(call))


def _magnitude(call: Call) -> Expression:
    value = call.arguments[0].value
    squares = call.apply("series_multiply", "dynamic", value, value)
    return call.apply("sqrt", "real", call.apply("array_sum", "real", squares))


def _dot_product(call: Call) -> Expression:
    products = call.apply("series_multiply", "dynamic", *_both(call))
    return call.apply("array_sum", "real", products)


def _fill_const(call: Call) -> Expression:
    value = call.arguments[1]
    if value.value.type not in NUMBERS:
        value.fail(f"a number is needed, this is {value.value.type}", "write 0.0")
    number = convert(value.value, value.value.type, value.offset, call.name)
    filled = as_json(call.name, Argument(number, value.offset))
    return call.apply(call.name, "dynamic", call.arguments[0].value, filled)


def _make_bag(call: Call) -> Expression:
    bags: Expression = call.arguments[0].value
    if call.name == "make_bag_if":
        condition = call.arguments[1].value
        if condition.type != "bool":
            call.arguments[1].fail(f"a condition is needed, this is {condition.type}", "compare it")
        bags = Apply("only_where", (bags, condition), "dynamic")
    listed = call.apply("make_list_dynamic", "dynamic", bags)
    return Apply("merged_bags", (listed,), "dynamic")


RULES: dict[str, Callable[[Call], Expression]] = {
    "series_pairs": _pairs,
    "series_magnitude": _magnitude,
    "series_dot_product": _dot_product,
    "series_fill_const": _fill_const,
    "make_bag": _make_bag,
}
