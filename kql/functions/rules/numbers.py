"""Rules over numbers, and over series, which are JSON arrays of numbers."""

from collections.abc import Callable

from kql.functions.arguments import CheckedCall, as_json, one_type, series
from kql.functions.arithmetic import Operands, arithmetic, convert
from kql.scope import Argument
from kql.typed import Apply, Constant, Expression
from kql.types import NUMBERS, ORDERED


def _extreme_of(call: CheckedCall) -> Expression:
    values = one_type(call.name, call.arguments)
    type_ = values[0].type
    if type_ not in ORDERED or type_ == "string":
        call.arguments[0].fail(
            f"{type_} has no greatest value", "it takes numbers, times or timespans"
        )
    template = {"max_of": "greatest", "min_of": "least"}[call.name]
    if type_ != "real":
        return call.apply(template, type_, *values)
    # NaN is passed over as null is; it is the result only where nothing else is there.
    numbers = tuple(Apply("without_nan", (value,), type_) for value in values)
    extreme = Apply(template, numbers, type_, call.offset, call.name)
    return call.apply("coalesce", type_, extreme, *values)


def _bin_at(call: CheckedCall) -> Expression:
    value, width, start = call.arguments
    if value.value.type in NUMBERS:
        values = one_type(call.name, call.arguments)
        value, width, start = (
            Argument(convert(v, "long", a.offset, call.name) if v.type == "int" else v, a.offset)
            for v, a in zip(values, call.arguments, strict=True)
        )
    elif width.value.type != "timespan" or start.value.type != value.value.type:
        value.fail(
            f"{call.name} does not take {', '.join(a.value.type for a in call.arguments)}",
            "write bin_at(timestamp, 1d, datetime(2026-01-01)), or three numbers",
        )
    distance = Argument(arithmetic(Operands(value, start, "-", call.offset)), call.offset)
    template = "bin_real" if distance.value.type == "real" else "bin_whole"
    binned = call.apply(template, distance.value.type, distance.value, width.value)
    return arithmetic(Operands(start, Argument(binned, call.offset), "+", call.offset))


def _gettype(call: CheckedCall) -> Expression:
    value = call.arguments[0].value
    if value.type == "dynamic":
        return call.apply("dynamic_type", "string", value)
    return Constant(value.type, "string")


def _both(call: CheckedCall) -> tuple[Expression, Expression]:
    """Return two series; if one side is a number, it is repeated for each element."""
    a, b = call.arguments
    if a.value.type in NUMBERS and b.value.type == "dynamic":
        return call.apply("series_like", "dynamic", b.value, as_json(call.name, a)), b.value
    if b.value.type in NUMBERS and a.value.type == "dynamic":
        return a.value, call.apply("series_like", "dynamic", a.value, as_json(call.name, b))
    return series(call.name, a), series(call.name, b)


def _pairs(call: CheckedCall) -> Expression:
    return call.apply(call.name, "dynamic", *_both(call))


def _magnitude(call: CheckedCall) -> Expression:
    value = call.arguments[0].value
    squares = call.apply("series_multiply", "dynamic", value, value)
    return call.apply("sqrt", "real", call.apply("array_sum", "real", squares))


def _dot_product(call: CheckedCall) -> Expression:
    products = call.apply("series_multiply", "dynamic", *_both(call))
    return call.apply("array_sum", "real", products)


def _fill_const(call: CheckedCall) -> Expression:
    value = call.arguments[1]
    if value.value.type not in NUMBERS:
        value.fail(f"a number is needed, this is {value.value.type}", "write 0.0")
    number = convert(value.value, value.value.type, value.offset, call.name)
    filled = as_json(call.name, Argument(number, value.offset))
    return call.apply(call.name, "dynamic", call.arguments[0].value, filled)


def _make_bag(call: CheckedCall) -> Expression:
    bags: Expression = call.arguments[0].value
    if call.name == "make_bag_if":
        condition = call.arguments[1].value
        if condition.type != "bool":
            call.arguments[1].fail(f"a condition is needed, this is {condition.type}", "compare it")
        bags = Apply("only_where", (bags, condition), "dynamic")
    listed = call.apply("make_list_dynamic", "dynamic", bags)
    return Apply("merged_bags", (listed,), "dynamic")


RULES: dict[str, Callable[[CheckedCall], Expression]] = {
    "extreme_of": _extreme_of,
    "bin_at": _bin_at,
    "gettype": _gettype,
    "series_pairs": _pairs,
    "series_magnitude": _magnitude,
    "series_dot_product": _dot_product,
    "series_fill_const": _fill_const,
    "make_bag": _make_bag,
}
