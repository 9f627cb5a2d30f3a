"""Rules over numbers: the greatest and the least of several, bins from a point, types by name."""

from collections.abc import Callable

from kql.functions.arguments import Arguments, need, one_type
from kql.functions.arithmetic import Operands, arithmetic, convert
from kql.scope import Argument
from kql.typed import Apply, Constant, Expression
from kql.types import NUMBERS, ORDERED


def _extreme_of(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 2, 64)
    values = one_type(name, arguments)
    type_ = values[0].type
    if type_ not in ORDERED or type_ == "string":
        arguments[0].fail(f"{type_} has no greatest value", "it takes numbers, times or timespans")
    template = {"max_of": "greatest", "min_of": "least"}[name]
    if type_ != "real":
        return Apply(template, tuple(values), type_, offset, name)
    # NaN is passed over as null is; it is the result only where nothing else is there.
    numbers = tuple(Apply("without_nan", (value,), type_) for value in values)
    extreme = Apply(template, numbers, type_, offset, name)
    return Apply("coalesce", (extreme, *values), type_, offset, name)


def _bin_at(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 3)
    value, width, start = arguments
    if value.value.type in NUMBERS:
        values = one_type(name, arguments)
        value, width, start = (
            Argument(convert(v, "long", a.offset, name) if v.type == "int" else v, a.offset)
            for v, a in zip(values, arguments, strict=True)
        )
    elif width.value.type != "timespan" or start.value.type != value.value.type:
        value.fail(
            f"{name} does not take {', '.join(a.value.type for a in arguments)}",
            "write bin_at(timestamp, 1d, datetime(2026-01-01)), or three numbers",
        )
    distance = Argument(arithmetic(Operands(value, start, "-", offset)), offset)
    template = "bin_real" if distance.value.type == "real" else "bin_whole"
    binned = Apply(template, (distance.value, width.value), distance.value.type, offset, name)
    return arithmetic(Operands(start, Argument(binned, offset), "+", offset))


def _gettype(name: str, arguments: Arguments, offset: int) -> Expression:
    need(name, arguments, offset, 1)
    value = arguments[0].value
    if value.type == "dynamic":
        return Apply("dynamic_type", (value,), "string", offset, name)
    return Constant(value.type, "string")


RULES: dict[str, Callable[[str, Arguments, int], Expression]] = {
    "extreme_of": _extreme_of,
    "bin_at": _bin_at,
    "gettype": _gettype,
}
